"""Does a function mean what it says at every level, and does a library still do what it did when it was built?"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

from aotensor.driver.build import Build
from aotensor.driver.checks.build import check_bytes, check_header, check_stages, check_symbols, check_texts
from aotensor.driver.checks.report import Check, CheckFailed, CheckSkipped, Report
from aotensor.driver.checks.values import check_compiled, check_interpreted
from aotensor.driver.derivatives.check import check_gradients
from aotensor.driver.function import Function
from aotensor.driver.recipe import Options
from aotensor_runtime.container import Container
from aotensor_runtime.errors import LibraryError
from aotensor_runtime.library import read
from aotensor_runtime.machine import check_architecture, check_features
from aotensor_runtime.manifest import Manifest
from aotensor_runtime.vectors import SECTION as VECTORS

__all__ = ["Check", "Report", "verify_function", "verify_library"]

_TIMEOUT = 60.0
"""Seconds that a library may take for its test vectors."""


def verify_function(f: Function, samples: int, seed: int, rtol: float | None = None, gradients: bool = True) -> Report:
    """Check one function: IR, values, gradients, header, symbols, bytes.

    samples: random arguments per comparison, the first ones small, of extents 1 and 0, and larger.
    rtol: relative to the largest magnitude of an output; by default as `agreement.RTOL` says, and wider where
    the function is ill-conditioned.
    """
    report = Report(f.name)
    build = Build([f], None, Options(verify=True))
    if not report.run("IR at every stage", lambda: check_stages(build)):
        return report
    report.run("IR as text", lambda: check_texts(build))
    for stage in ("tensor", "tensor-opt"):
        report.run(f"{stage} against reference", partial(check_interpreted, f, build, stage, samples, seed, rtol))
    report.run("compiled against reference", lambda: check_compiled(f, build, samples, seed, rtol))
    if gradients:
        check_gradients(f, build, report, samples, seed, rtol)
    report.run("header compiles", lambda: check_header(build))
    report.run("symbols", lambda: check_symbols(build.shared, build.library.manifest))
    report.run("same bytes again", lambda: check_bytes(build))
    return report


def verify_library(path: Path, data: bytes) -> Report:
    """Check a library on this machine: checksum, manifest, symbols, CPU, and its test vectors in a child process.

    data: what the file holds.

    Raises: LibraryError for a file that aotensor did not build, or a later one.
    """
    container = Container(data)
    report = Report(path.name)
    is_sound = report.run("checksum of code and data", lambda: _check_sum(container))
    if not is_sound:
        return report
    manifest = container.manifest()
    if not report.run("manifest", lambda: _check_manifest(container, manifest)):
        return report
    report.run("symbols", lambda: check_symbols(data, manifest))
    if report.run("machine", lambda: _check_machine(container, manifest)):
        report.run("test vectors", lambda: _check_vectors(container, manifest))
    return report


def _check_sum(container: Container) -> str:
    container.check()
    return f"SHA-256 {container.recorded_checksum().hex()[:16]}... fits"


def _check_manifest(container: Container, manifest: Manifest) -> str:
    missing = [name for name in manifest.sections if name not in container.extra_names()]
    if missing:
        raise CheckFailed(f"section {missing[0]} is missing")
    for name in manifest.sections:
        content = container.extra(name)
        if name.startswith("ir."):
            content.decode()
    count = len(manifest.functions)
    return f"{count} function{'s' * (count != 1)}, {len(manifest.sections)} sections"


def _check_machine(container: Container, manifest: Manifest) -> str:
    try:
        check_architecture(container.elf)
        check_features(manifest, container.elf.machine)
    except LibraryError as error:
        raise CheckSkipped(error.diagnostic.title) from error
    return f"{manifest.target}, {manifest.cpu}"


def _check_vectors(container: Container, manifest: Manifest) -> str:
    """Run the vectors in a child process, on the bytes that were checked: a crash is a finding, not the end of this."""
    if VECTORS not in manifest.sections:
        raise CheckSkipped("the library has none")
    read(container.elf.data)
    command = [sys.executable, "-m", "aotensor_runtime.vectors", "-"]
    try:
        done = subprocess.run(command, input=container.elf.data, capture_output=True, timeout=_TIMEOUT, check=False)
    except subprocess.TimeoutExpired as error:
        raise CheckFailed(f"the library took more than {_TIMEOUT:g} seconds") from error
    if done.returncode != 0:
        last = (done.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        raise CheckFailed(f"the library ended its process with {how} ({last})")
    outcomes = json.loads(done.stdout)
    for function, problem in outcomes:
        if problem is not None:
            raise CheckFailed(f"{function}: {problem}")
    return f"{len(outcomes)} calls give the recorded values"
