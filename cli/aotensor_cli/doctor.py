"""`aotensor doctor`: list the tools found on this machine, and what to install."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Final

import click

from aotensor.driver.folder import store
from aotensor_cli.options import Exit
from aotensor_cli.reading.version import abi_version, installed
from aotensor_cli.terminal.render import show_json, show_table, size_text
from aotensor_runtime import extension
from aotensor_runtime.abi import Blas
from aotensor_runtime.arrays.layout import probe
from aotensor_runtime.blas import blas_table

_PACKAGES: Final = ("numpy", "scipy", "llvmlite", "xdsl", "click", "rich", "packaging")

_CLIENTS: Final = {
    "bridgestan": "bridgestan", "casadi": "casadi", "ceres": None, "fmi": "fmpy", "ipopt": "cyipopt",
    "sundials": "scikit-sundae",
}  # fmt: skip
"""Interface → the package that loads libraries by it, if there is one."""
_HEADERS: Final = {
    "ceres": tuple(f"{folder}/include/ceres/sized_cost_function.h" for folder in ("/usr", "/usr/local")),
    "ipopt": tuple(f"/usr/include/{folder}/IpStdCInterface.h" for folder in ("coin", "coin-or")),
    "sundials": ("/usr/include/cvodes/cvodes.h",),
}
"""Interface → where a system has the header of programs that load libraries by it."""


@dataclass(frozen=True)
class Finding:
    """The result of one check.   verdict: "ok", "missing" (needed) or "optional" (not there, and not needed)"""

    name: str
    verdict: str
    detail: str
    hint: str = ""


def run(as_json: bool) -> int:
    """Run `aotensor doctor` with the parameters that `commands/doctor.py` declares; returns the exit code."""
    findings = [*_findings()]
    missing = [x for x in findings if x.verdict == "missing"]
    if as_json:
        show_json({"ok": not missing, "findings": [asdict(x) for x in findings]})
    else:
        show_table(("what", "verdict", "found"), [(x.name, x.verdict, x.detail) for x in findings])
        for x in findings:
            if x.hint:
                click.echo(f"hint: {x.name}: {x.hint}")
    return Exit.TOOL if missing else Exit.DONE


def _findings() -> Iterator[Finding]:
    yield Finding(
        "aotensor", "ok", f"{installed('aotensor') or 'not installed, run from its sources'}, ABI {abi_version()}"
    )
    yield Finding("python", "ok", f"{platform.python_version()} at {sys.executable}")
    yield from map(_package, _PACKAGES)
    yield from _runtime(installed("aotensor"), installed("aotensor-runtime"))
    yield _guarded("LLVM", _llvm)
    yield _guarded("linker", _linker)
    yield from _targets()
    yield _tool("C compiler", ("cc", "clang"), "checks headers in verify", "install gcc or clang")
    yield _guarded("BLAS", _blas)
    yield _fast_calls()
    yield _guarded("cache", _cache)
    for interface, package in _CLIENTS.items():
        yield _client(interface, package)
    yield _tool("mlir-opt", ("mlir-opt", "mlir-opt-22"), "cross-checks loop IR", "Debian: mlir-22-tools")


def _runtime(own: str | None, other: str | None) -> Iterator[Finding]:
    """The distribution aotensor-runtime, of the same version; editable installations of aotensor have none."""
    if other is None or own is None:
        return
    if own == other:
        yield Finding("aotensor-runtime", "ok", other)
    else:
        detail = f"{other}, but aotensor {own} needs its own version"
        yield Finding("aotensor-runtime", "optional", detail, f"pip install aotensor-runtime=={own}")


def _package(name: str) -> Finding:
    version = installed(name)
    if version is None:
        return Finding(name, "missing", "not installed", f"pip install {name}")
    return Finding(name, "ok", version)


def _client(interface: str, package: str | None) -> Finding:
    """Check for a program that loads libraries through an interface; compiling does not need it."""
    version = None if package is None else installed(package)
    name = f"abi {interface}"
    header = next((path for path in _HEADERS.get(interface, ()) if Path(path).is_file()), None)
    if header is not None:
        return Finding(name, "ok", f"{header}{f', {package} {version}' if version else ''}")
    if package is None:
        return Finding(name, "optional", "its headers are not installed", f"Debian: lib{interface}-dev")
    if version is None:
        return Finding(name, "optional", f"{package} is not installed", f"pip install {package} loads such libraries")
    return Finding(name, "ok", f"{package} {version}")


def _guarded(name: str, look: Callable[[], Finding]) -> Finding:
    """Run a check; an installed package that fails to import is reported, too."""
    try:
        return look()
    except (ImportError, OSError, RuntimeError) as error:
        return Finding(
            name, "missing", str(error).splitlines()[0], "reinstall it: pip install --force-reinstall aotensor"
        )


def _llvm() -> Finding:
    binding = import_module("aotensor.codegen.llvm").binding
    machine = import_module("aotensor.codegen.machine").Machine.host()
    version = ".".join(map(str, binding.llvm_version_info))
    return Finding("LLVM", "ok", f"{version} for {machine.triple}, {machine.cpu}, {machine.vector_bits}-bit vectors")


def _targets() -> Iterator[Finding]:
    """Check for the linker and the emulator of each target."""
    try:
        targets = import_module("aotensor.codegen.targets.support")
    except (ImportError, OSError, RuntimeError):
        return  # LLVM does not load, as another finding says
    for triple in (*targets.TARGETS, *targets.BARE):
        found = targets.support(triple)
        is_whole = found.is_compiled and found.linkers and found.runner
        yield Finding(f"target {triple}", "ok" if is_whole else "optional", found.text, found.hint)


def _linker() -> Finding:
    triple = import_module("aotensor.codegen.machine").Machine.host().triple
    linkers = import_module("aotensor.codegen.targets.linker").find_linkers(triple)
    if not linkers:
        hint = "install a C compiler (Debian: gcc, Fedora: gcc, conda: gcc) or `pip install ziglang`"
        return Finding("linker", "missing", "none of cc, clang, ld.lld, ld, ziglang", hint)
    return Finding("linker", "ok", ", ".join(x.name for x in linkers))


def _tool(name: str, programs: tuple[str, ...], use: str, hint: str) -> Finding:
    path = next((found for program in programs if (found := shutil.which(program))), None)
    if path is None:
        return Finding(name, "optional", f"not found; {use}", hint)
    return Finding(name, "ok", f"{path}; {use}")


def _blas() -> Finding:
    table = blas_table()
    names = [name for name, *_ in Blas._fields_[1:]]
    found = [name for name in names if getattr(table, name)]
    if not found:
        return Finding("BLAS", "optional", "none; generated kernels multiply matrices", "pip install scipy")
    return Finding("BLAS", "ok", f"{', '.join(found)} from scipy.linalg.cython_blas")


def _fast_calls() -> Finding:
    if probe() is None:
        return Finding(
            "fast calls", "optional", "this Python keeps arrays elsewhere: calls take a few microseconds more"
        )
    match extension.state():
        case "used":
            return Finding("fast calls", "ok", "by the C extension of the runtime")
        case "off":
            return Finding("fast calls", "ok", f"by ctypes, since {extension.VARIABLE} is set")
        case _:
            hint = "reinstall it with a C compiler and Python's headers (Debian: gcc, python3-dev)"
            return Finding("fast calls", "optional", "by ctypes: a call takes 1 us more", hint)


def _cache() -> Finding:
    cache = store()
    existing = next(path for path in (cache.folder, *cache.folder.parents) if path.exists())
    if not os.access(existing, os.W_OK):
        advice = "set AOTENSOR_CACHE_DIR to a folder of yours"
        return Finding("cache", "optional", f"{cache.folder} cannot be written; functions are compiled again", advice)
    entries = cache.entries()
    size, limit = size_text(sum(x.size for x in entries)), size_text(cache.limit)
    return Finding("cache", "ok", f"{cache.folder}, {size} of {limit} in {len(entries)} files")
