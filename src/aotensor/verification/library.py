"""Verify a library on this machine: container, symbols, CPU, and recorded test vectors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from aotensor.verification.child import ending
from aotensor.verification.compilation import check_symbols
from aotensor.verification.report import CheckFailed, CheckSkipped, Report
from aotensor_runtime.arrays.poison import VARIABLE as POISON
from aotensor_runtime.container import Container
from aotensor_runtime.errors import LibraryError, ToolError
from aotensor_runtime.library import read
from aotensor_runtime.machine import check_architecture, check_features, check_libc
from aotensor_runtime.manifest import Manifest
from aotensor_runtime.vectors import NOT_RUN
from aotensor_runtime.vectors import SECTION as VECTORS
from aotensor_runtime.weights.file import check_weights, find_weights
from aotensor_runtime.weights.spec import WeightsSpec

_TIMEOUT: Final = 60.0
"""Most seconds for the test vectors of a library."""


def verify_library(path: Path, data: bytes) -> Report:
    """Check a library on this machine: checksum, manifest, symbols, CPU, and its test vectors in a child process.

    data: the content of the file.

    Raises: LibraryError for a file that aotensor did not build, or a later one; ToolError if a check cannot be made.
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
    spec = manifest.weights
    has_weights = spec is None or report.run("weights", lambda: _check_weights(spec, path))
    report.run("machine", lambda: _check_machine(container, manifest))
    if has_weights and report.checks[-1].verdict == "ok":
        report.run("test vectors", lambda: _check_vectors(container, manifest, path))
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


def _check_weights(spec: WeightsSpec, path: Path) -> str:
    try:
        file = find_weights(spec, path)
        check_weights(spec, file)
    except LibraryError as error:
        raise CheckFailed(error.diagnostic.title) from error
    return f"{file.name}: {spec.bytes} bytes, SHA-256 {spec.sha256[:16]}... fits"


def _check_machine(container: Container, manifest: Manifest) -> str:
    try:
        check_architecture(container.image)
        check_libc(manifest)
        check_features(manifest, container.image.machine)
    except LibraryError as error:
        raise CheckSkipped(f"{error.diagnostic.title}; its test vectors are not run") from error
    return f"{manifest.target}, {manifest.processors}"


def _check_vectors(container: Container, manifest: Manifest, path: Path) -> str:
    """Run the vectors in a child process, on the checked bytes: a crash is a finding and does not end this process."""
    if VECTORS not in manifest.sections:
        raise CheckSkipped("the library has no test vectors")
    read(container.image.data)
    weights = [] if manifest.weights is None else [str(find_weights(manifest.weights, path))]
    command = [sys.executable, "-m", "aotensor_runtime.vectors", "-", *weights]
    environment = {**os.environ, POISON: "1"}
    try:
        done = subprocess.run(
            command, input=container.image.data, capture_output=True, timeout=_TIMEOUT, check=False, env=environment
        )
    except subprocess.TimeoutExpired as error:
        raise CheckFailed(f"the library took more than {_TIMEOUT:g} seconds") from error
    if done.returncode != 0:
        last = (done.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        if done.returncode == NOT_RUN:
            raise ToolError(last, hint="free some space there, or set TMPDIR to another folder")
        raise CheckFailed(f"the library ended its process with {ending(done.returncode)} ({last})")
    outcomes = json.loads(done.stdout)
    for function, problem in outcomes:
        if problem is not None:
            raise CheckFailed(f"{function}: {problem}")
    return f"{len(outcomes)} calls give the recorded values"
