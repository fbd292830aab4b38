"""Link object files to a shared library, by the first installed linker (`linker.py`), reproducibly.

A linked library exports only the given symbols, needs at most the C library and libm, and contains no build id and no
timestamp.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aotensor.codegen.targets.archive import import_archive
from aotensor.codegen.targets.linker import (
    EXPORTS,
    IMPORTS,
    KERNEL,
    OUTPUT,
    RUNTIME,
    STACK,
    Linker,
    Order,
    find_linkers,
    is_native_triple,
)
from aotensor.codegen.targets.room import check_room
from aotensor.codegen.targets.stack import stack_probe
from aotensor.codegen.targets.systems import LINUX, OTHER, OTHER_32, WINDOWS, System, system_of
from aotensor.config import config
from aotensor.errors import ToolError, UnsupportedError
from aotensor_runtime.systems.scratch import scratch_folder

_HERE: Final = "install a C compiler (Debian: gcc, Fedora: gcc, conda: gcc) or `pip install ziglang`"
_ELSEWHERE: Final = "pip install 'aotensor[cross]', whose ziglang links for every target"
_C_LIBRARY: Final = ("ucrtbase.dll", (
    "malloc", "calloc", "realloc", "free", "memcpy", "memmove", "memset",
    "fmod", "fmodf", "fma", "fmaf", "pow", "powf", "ldexp", "getenv", "_strtoi64",
    "strlen", "strtod", "strtoll", "fopen", "fread", "fclose",
))  # fmt: skip
"""The C library of Windows 10 and later, with the functions that code may call."""
_THREADS: Final = ("KERNEL32.dll", (
    "AcquireSRWLockExclusive", "ReleaseSRWLockExclusive", "SleepConditionVariableSRW", "WakeConditionVariable",
    "WakeAllConditionVariable", "SwitchToThread", "CreateThread", "GetCurrentProcessId", "GetModuleHandleExW",
    "GetProcessAffinityMask",
))  # fmt: skip
"""The functions of Windows that the pool calls."""


@dataclass(frozen=True, slots=True)
class Linked:
    """A linked library. library: its bytes. imports: bytes of the import library for Windows, else empty."""

    library: bytes
    imports: bytes = b""


def link(
    objects: Sequence[bytes], *, triple: str, name: str, exported: Sequence[str],
    linkers: Sequence[Linker] | None = None, keeps_symbols: bool = False,
) -> Linked:  # fmt: skip
    """Link object files to a shared library.

    name: name of its file, for the dynamic loader. exported: the symbols that it exports. linkers: candidates, by
    default the installed ones; the first one is used. keeps_symbols: keep internal function names and debug
    information?

    Raises: ToolError if there is no linker or it fails; UnsupportedError for a target without shared libraries.
    """
    system = system_of(triple)
    _check_target(triple, system)
    available = find_linkers(triple) if linkers is None else linkers
    if not available:
        raise ToolError(
            f"no linker for {triple} was found",
            lines=[f"looked for: {_wanted(triple, system)}"],
            hint=_HERE if is_native_triple(triple) else _ELSEWHERE,
        )
    with scratch_folder() as folder:
        sources = [f"{number}.o" for number in range(len(objects))]
        for source, code in zip(sources, objects, strict=True):
            (folder / source).write_bytes(code)
        is_windows = system is WINDOWS
        (folder / EXPORTS).write_text(definition(name, exported) if is_windows else version_script(exported))
        if is_windows:
            (folder / RUNTIME).write_bytes(import_archive(*_C_LIBRARY))
            (folder / KERNEL).write_bytes(import_archive(*_THREADS))
            (folder / STACK).write_bytes(stack_probe())
        _run(available[0], available[0].line(Order(sources, name, exported, keeps_symbols)), folder, triple)
        return Linked((folder / OUTPUT).read_bytes(), (folder / IMPORTS).read_bytes() if is_windows else b"")


def _check_target(triple: str, system: System) -> None:
    if system in (OTHER, OTHER_32):
        raise UnsupportedError(
            f"shared libraries for {triple} are not supported",
            hint="emit an object file or a static archive, and link it there",
        )
    if system is WINDOWS and not triple.startswith("x86_64"):
        raise UnsupportedError(f"shared libraries for {triple} are not supported", hint="use x86_64-windows-gnu")
    if triple.endswith("msvc"):
        raise UnsupportedError(
            f"shared libraries for {triple} are not supported",
            hint="use x86_64-windows-gnu: programs of any compiler link with its import library",
        )


def _wanted(triple: str, system: System) -> str:
    if system is LINUX and is_native_triple(triple):
        return "cc, clang, ld.lld, ld, ziglang"
    return (
        "lld-link, ziglang"
        if system is WINDOWS
        else "ziglang"
        if system is not LINUX
        else "a cross gcc, clang, ziglang"
    )


def version_script(exported: Sequence[str]) -> str:
    """A linker script that exports only these symbols."""
    return "{\n  global:\n" + "".join(f"    {name};\n" for name in exported) + "  local: *;\n};\n"


def definition(name: str, exported: Sequence[str]) -> str:
    """The module definition file of a DLL that exports only these symbols."""
    return f'LIBRARY "{name}"\nEXPORTS\n' + "".join(f"  {symbol}\n" for symbol in exported)


def _run(linker: Linker, command: tuple[str, ...], folder: Path, triple: str) -> None:
    environment = {**os.environ, "LC_ALL": "C", "SOURCE_DATE_EPOCH": "0"}
    if not {"HOME", "XDG_CACHE_HOME"} & environment.keys():  # ziglang needs one of them for its cache
        environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(config.cache_dir / "zig"))
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", env=environment, check=False, cwd=folder
        )
    except OSError as error:
        hint = _HERE if is_native_triple(triple) else _ELSEWHERE
        raise ToolError(
            f"the linker {linker.name} could not be started ({error})", command=command, hint=hint
        ) from error
    check_room(f"the linker {linker.name}", done, folder.parent)
    if done.returncode != 0:
        raise ToolError(f"the linker {linker.name} failed", command=command, stderr=done.stderr or done.stdout)
