"""The linkers for every target: their names and arguments.

    Linux         cc → clang → ld.lld → ld → ziglang; for other machines <triple>-gcc → clang with <triple>-ld → ziglang
    Windows       lld-link → ziglang's
    macOS         cc and clang on macOS → ziglang
    WebAssembly   ziglang, which contains a C library

A linker runs in a folder with its inputs, and gets relative names only, so that the output does not depend on the
folder: compiler drivers split the arguments of -Wl at commas.
"""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from aotensor.codegen.targets.systems import LINUX, MACOS, OTHER, OTHER_32, WASM, WINDOWS, system_of

_FLAGS: Final = (
    "--build-id=none", "--gc-sections", "--as-needed", "--no-undefined", "--hash-style=gnu",
    "-z", "noexecstack", "-z", "relro", "-z", "now",
)  # fmt: skip
_STRIP: Final = "-s"
_OPTIMISED: Final = "-O2"  # zig compiles its C library and runtime with these, once for each target
_SMALL: Final = ("-z", "noseparate-code")  # fewer pages; lld does not need it, and zig does not accept it

OUTPUT: Final = "library"
"""The file that a linker writes, in its folder."""
IMPORTS: Final = "library.dll.a"
"""The import library that it also writes for Windows."""
EXPORTS: Final = "exports"
"""The file with the exported symbols: a version script, or a module definition."""
RUNTIME: Final = "runtime.lib"
"""The import library of Windows' C library, for lld-link."""
KERNEL: Final = "kernel.lib"
"""The import library of the Windows functions that threads call."""
STACK: Final = "stack.o"
"""The object file of the stack probe that code calls before large frames on Windows."""


@dataclass(frozen=True, slots=True)
class Order:
    """A link order. sources: object files. name: the library's name for the dynamic loader. exported: symbols."""

    sources: Sequence[str]
    name: str
    exported: Sequence[str]
    keeps_symbols: bool = False


Arguments: TypeAlias = Callable[[Order], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Linker:
    """A linker. command: program and first arguments. arguments: function from an order to further arguments."""

    name: str
    command: tuple[str, ...]
    arguments: Arguments

    def line(self, order: Order) -> tuple[str, ...]:
        """The command line that links an order."""
        return (*self.command, *self.arguments(order))


def elf_arguments(
    is_driver: bool, libraries: Sequence[str] = ("-lm", "-lc"), flags: Sequence[str] = _FLAGS + _SMALL
) -> Arguments:
    """The arguments of an ELF linker. is_driver: is it a C compiler, which needs -Wl? libraries: libm and libc."""

    def arguments(order: Order) -> list[str]:
        strip = [] if order.keeps_symbols else [_STRIP]
        told = [*flags, *strip, f"--version-script={EXPORTS}", "-soname", order.name]
        if is_driver:
            told = ["-nostartfiles", "-nodefaultlibs", *(f"-Wl,{flag}" for flag in told)]
        return ["-shared", "-o", OUTPUT, *order.sources, *told, *libraries]

    return arguments


def _pe_arguments(order: Order) -> list[str]:
    flags = ["/dll", "/noentry", "/nodefaultlib", f"/def:{EXPORTS}", f"/implib:{IMPORTS}", f"/out:{OUTPUT}"]
    return [*flags, "/timestamp:0", "/opt:ref", "/lldmingw", *order.sources, STACK, RUNTIME, KERNEL]


def _macho_arguments(order: Order) -> list[str]:
    strip = [] if order.keeps_symbols else ["-Wl,-s"]
    return ["-shared", "-o", OUTPUT, *order.sources, f"-Wl,-install_name,@rpath/{order.name}", *strip]


def _wasm_arguments(order: Order) -> list[str]:
    exported = [f"-Wl,--export={name}" for name in (*order.exported, "malloc", "free")]
    strip = [] if order.keeps_symbols else ["-Wl,-s"]
    return ["-mexec-model=reactor", "-o", OUTPUT, *order.sources, *exported, *strip, "-lm"]


def find_linkers(triple: str) -> tuple[Linker, ...]:
    """The installed linkers for a target, the preferred one first; for a foreign target only those with a C library."""
    system = system_of(triple)
    if system is WINDOWS:
        return _windows_linkers(triple)
    if system in (LINUX, OTHER, OTHER_32):
        return _elf_linkers(triple)
    arguments = _macho_arguments if system is MACOS else _wasm_arguments
    found = []
    if system is MACOS and is_native_triple(triple):
        found = [Linker(name, (path,), arguments) for name in ("cc", "clang") if (path := shutil.which(name))]
    return (*found, *_zig(triple, arguments))


def _elf_linkers(triple: str) -> tuple[Linker, ...]:
    is_native = is_native_triple(triple)
    found: list[Linker] = []
    for name in ("cc", "clang") if is_native else (f"{_gnu_triple(triple)}-gcc", "clang"):
        path = shutil.which(name)
        if path and (is_native or name != "clang" or _clang_links(triple)):
            command = (path,) if is_native or name != "clang" else (path, f"--target={triple}")
            found.append(Linker(name, command, elf_arguments(True)))
    for name in ("ld.lld", "ld") if is_native else ():
        path = shutil.which(name)
        if path:
            found.append(Linker(name, (path,), elf_arguments(False, _system_libraries(triple))))
    return (*found, *(_zig(triple, elf_arguments(True, flags=_FLAGS)) if "linux" in triple else ()))


def _clang_links(triple: str) -> bool:
    """Is the linker installed that clang calls for another machine? Otherwise clang calls this machine's linker."""
    return shutil.which(f"{_gnu_triple(triple)}-ld") is not None


def _windows_linkers(triple: str) -> tuple[Linker, ...]:
    if not triple.startswith("x86_64"):
        return ()
    path = shutil.which("lld-link")
    found = [Linker("lld-link", (path,), _pe_arguments)] if path else []
    if _has_zig():
        found.append(Linker("ziglang", (sys.executable, "-m", "ziglang", "lld-link"), _pe_arguments))
    return tuple(found)


def _zig(triple: str, arguments: Arguments) -> tuple[Linker, ...]:
    if not _has_zig():
        return ()
    command = (sys.executable, "-m", "ziglang", "cc", "-target", zig_target(triple), _OPTIMISED)
    return (Linker("ziglang", command, arguments),)


def _has_zig() -> bool:
    return importlib.util.find_spec("ziglang") is not None


def zig_target(triple: str) -> str:
    """Zig's name for a target."""
    machine, system = triple.split("-")[0], system_of(triple)
    if system is WASM:
        return f"{machine}-wasi"
    if system is WINDOWS:
        return f"{machine}-windows-gnu"
    if system is MACOS:
        version = triple.rpartition("macosx")[2]
        return f"{machine.replace('arm64', 'aarch64')}-macos{f'.{version}' if version else ''}"
    return f"{machine}-linux-{'musl' if 'musl' in triple else 'gnu'}"


def is_native_triple(triple: str) -> bool:
    """Does a triple mean the machine, system and C library of this process?"""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    if triple.split("-")[0].replace("arm64", "aarch64") != machine:
        return False
    if "linux" in triple:
        is_musl = platform.libc_ver()[0] != "glibc"
        return sys.platform.startswith("linux") and ("musl" in triple) == is_musl
    return system_of(triple) is MACOS and sys.platform == "darwin"


def _system_libraries(triple: str) -> tuple[str, ...]:
    """Paths of libm and libc from the dynamic loader, for linkers that are not compiler drivers."""
    folders = (f"/lib/{_gnu_triple(triple)}", "/lib64", "/usr/lib64", "/lib", "/usr/lib")
    names = ("-lm", "-lc") if "musl" in triple else ("-l:libm.so.6", "-l:libc.so.6")
    return (*(f"-L{folder}" for folder in folders if Path(folder).is_dir()), *names)


def _gnu_triple(triple: str) -> str:
    """The triple in Debian's form for cross compilers: x86_64-linux-gnu for x86_64-unknown-linux-gnu."""
    parts = triple.split("-")
    return "-".join([parts[0], *parts[-2:]])
