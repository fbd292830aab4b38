"""The operating systems of targets: their file names and formats, and how a triple names them.

Linux        ELF      lib<name>.so      manifest and texts in sections
Windows      PE       <name>.dll        and lib<name>.dll.a, which programs link with; one section for all of ours
macOS        Mach-O   lib<name>.dylib   one section for all of ours
WebAssembly  Wasm     <name>.wasm       manifest in a custom section, 32-bit pointers, no threads
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from aotensor.codegen.llvm import binding
from aotensor.codegen.targets.triples import TARGETS
from aotensor.errors import OptionError


@dataclass(frozen=True, slots=True)
class System:
    """An operating system.

    shared, static, imports: file name patterns, where {} stands for the library's name; imports is empty if programs
    need no import library.

    has_threads: does `entry.primitives` support its threads? has_aligned_alloc: does its C library have it?
    pointer_bytes: size of an address.
    """

    name: str
    shared: str
    static: str = "lib{}.a"
    imports: str = ""
    has_threads: bool = False
    has_aligned_alloc: bool = True
    pointer_bytes: int = 8

    @property
    def is_elf(self) -> bool:
        """Does the system use ELF files, with sections of any name and weak symbols?"""
        return self.shared.endswith(".so")


LINUX: Final = System("Linux", "lib{}.so", has_threads=True)
WINDOWS: Final = System("Windows", "{}.dll", imports="lib{}.dll.a", has_threads=True, has_aligned_alloc=False)
MACOS: Final = System("macOS", "lib{}.dylib", has_threads=True)
WASM: Final = System("WebAssembly", "{}.wasm", pointer_bytes=4)
OTHER: Final = System("another system", "lib{}.so")
"""An unknown system with ELF files: object files are made for it."""
OTHER_32: Final = System("another system", "lib{}.so", has_aligned_alloc=False, pointer_bytes=4)
"""The same with 32-bit addresses, such as microcontrollers."""

_MACHINES: Final = {"amd64": "x86_64", "x64": "x86_64", "x86-64": "x86_64"}
_MACOS: Final = "13.0"
"""The oldest supported macOS, if the triple names none."""
_ENVIRONMENTS: Final = re.compile(r"(gnu|musl)(eabi|eabihf|f32|sf|x32)?|android(eabi)?\d*|eabi(hf)?|elf")
_SYSTEM_WORDS: Final = frozenset({"unknown", "none", "elf", "pc", "apple", "w64", "eabi", "eabihf"})


@cache
def system_of(triple: str) -> System:
    """The operating system of a triple that LLVM knows."""
    parts = binding.get_triple_parts(triple)
    by_format = {"Wasm": WASM, "COFF": WINDOWS, "MachO": MACOS}
    if str(parts.ObjectFormat) in by_format:
        return by_format[str(parts.ObjectFormat)]
    if str(parts.OS) == "linux" and "android" not in triple:
        return LINUX
    return OTHER if is_64_bit(triple) or str(parts.Arch) == "unknown" else OTHER_32


def is_64_bit(triple: str) -> bool:
    """Does a triple have 64-bit pointers, judging by the architecture's name?"""
    return "64" in triple.partition("-")[0]


def canonical(triple: str) -> str:
    """Complete a triple for LLVM: it has no Mach-O for `arm64-macos`, and no COFF for `x86_64-windows-gnu`.

    Raises: OptionError for an unknown system or C library.
    """
    first, *rest = triple.split("-")
    machine = _MACHINES.get(first, first)
    parts = binding.get_triple_parts("-".join([machine, *rest]))
    system, environment = str(parts.OS), str(parts.Env)
    if str(parts.Arch) == "unknown":
        return triple  # which LLVM refuses
    if system == "unknown" and (strange := [word for word in rest if word not in _SYSTEM_WORDS]):
        raise OptionError(f"target {triple}: unknown system {strange[-1]}", hint=similar_target(triple))
    if system == "linux" and rest and rest[-1] != "linux" and not _ENVIRONMENTS.fullmatch(rest[-1]):
        raise OptionError(f"target {triple}: unknown C library {rest[-1]}", hint=similar_target(triple))
    if system == "unknown" and rest and rest[-1] in ("eabi", "eabihf"):
        return f"{machine}-unknown-none-{rest[-1]}"  # where LLVM looks for it
    if system in ("macosx", "darwin", "ios"):
        named = next((word for word in rest if word.startswith("macos")), "")
        version = re.sub(r"^macosx?", "", named) or _MACOS
        processor = {"aarch64": "arm64"}.get(machine, machine)
        return f"{processor}-apple-macosx{version}" if system != "ios" else "-".join([machine, *rest])
    if system == "windows" and str(parts.ObjectFormat) != "COFF":
        return f"{machine}-pc-windows-{environment}"
    return "-".join([machine, *rest])


def similar_target(triple: str) -> str:
    """A hint for an unknown triple, with a similar known one."""
    close = difflib.get_close_matches(triple, TARGETS, n=1, cutoff=0.7)
    return f"did you mean {close[0]}?" if close else f"libraries are made for {', '.join(TARGETS)}"
