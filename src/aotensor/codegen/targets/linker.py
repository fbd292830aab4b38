"""The programs that link, for every target: what they are called, and what they are told.

    Linux         cc → clang → ld.lld → ld → ziglang; for other machines <triple>-gcc → clang → ziglang
    Windows       lld-link → that of ziglang
    macOS         cc and clang there → ziglang
    WebAssembly   ziglang, which brings a C library

A linker runs in a folder that holds its inputs, and is told their names only, so that nothing in it depends on where
that is: drivers take what follows -Wl apart at commas.
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
_OPTIMISED: Final = "-O2"  # zig compiles its C library and runtime so, once for each target
_SMALL: Final = ("-z", "noseparate-code")  # fewer pages; lld does without, and zig does not know it

OUTPUT: Final = "library"
"""The file that a linker writes, in its folder."""
IMPORTS: Final = "library.dll.a"
"""The import library that it writes beside, for Windows."""
EXPORTS: Final = "exports"
"""The file that says what is exported: a version script, or a module definition."""
RUNTIME: Final = "runtime.lib"
"""What the C library of Windows has, for lld-link."""
KERNEL: Final = "kernel.lib"
"""What threads call of Windows."""
STACK: Final = "stack.o"
"""What code calls in front of large frames there."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to link.   sources: object files. name: that the library has for the dynamic loader. exported: symbols"""

    sources: Sequence[str]
    name: str
    exported: Sequence[str]
    keeps_symbols: bool = False


Arguments: TypeAlias = Callable[[Order], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Linker:
    """A program that links.   command: how it starts. arguments: of an order"""

    name: str
    command: tuple[str, ...]
    arguments: Arguments

    def line(self, order: Order) -> tuple[str, ...]:
        """The command that links."""
        return (*self.command, *self.arguments(order))


def elf_arguments(
    is_driver: bool, libraries: Sequence[str] = ("-lm", "-lc"), flags: Sequence[str] = _FLAGS + _SMALL
) -> Arguments:
    """Of a linker for ELF.   is_driver: a C compiler, which takes linker flags behind -Wl. libraries: libm and libc"""

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
    """The installed linkers for a target, best first; a foreign target leaves those that bring its C library."""
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
        if path:
            command = (path,) if is_native or name != "clang" else (path, f"--target={triple}")
            found.append(Linker(name, command, elf_arguments(True)))
    for name in ("ld.lld", "ld") if is_native else ():
        path = shutil.which(name)
        if path:
            found.append(Linker(name, (path,), elf_arguments(False, _system_libraries(triple))))
    return (*found, *(_zig(triple, elf_arguments(True, flags=_FLAGS)) if "linux" in triple else ()))


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
    """The name that zig has for a target."""
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
    """Is it for the kind of machine and system that this process runs on, with the same C library?"""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    if triple.split("-")[0].replace("arm64", "aarch64") != machine:
        return False
    if "linux" in triple:
        is_musl = platform.libc_ver()[0] != "glibc"
        return sys.platform.startswith("linux") and ("musl" in triple) == is_musl
    return system_of(triple) is MACOS and sys.platform == "darwin"


def _system_libraries(triple: str) -> tuple[str, ...]:
    """libm and libc as the dynamic loader finds them: a linker that is no C compiler may not know where they are."""
    folders = (f"/lib/{_gnu_triple(triple)}", "/lib64", "/usr/lib64", "/lib", "/usr/lib")
    names = ("-lm", "-lc") if "musl" in triple else ("-l:libm.so.6", "-l:libc.so.6")
    return (*(f"-L{folder}" for folder in folders if Path(folder).is_dir()), *names)


def _gnu_triple(triple: str) -> str:
    """x86_64-unknown-linux-gnu as Debian's cross compilers are named: x86_64-linux-gnu."""
    parts = triple.split("-")
    return "-".join([parts[0], *parts[-2:]])
