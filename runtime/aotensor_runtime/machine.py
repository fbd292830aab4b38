"""Check that this machine can run a library; unknown properties pass."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from aotensor_runtime.elf import MACHINES
from aotensor_runtime.errors import ForeignLibrary, UnsupportedMachine
from aotensor_runtime.formats.image import SHARED, Image
from aotensor_runtime.formats.macho import MachFile
from aotensor_runtime.manifest import Manifest
from aotensor_runtime.systems import here
from aotensor_runtime.systems.processors import Flags

_NAMES: Final = {
    "x86_64": "x86-64", "amd64": "x86-64", "aarch64": "AArch64", "arm64": "AArch64", "riscv64": "RISC-V",
}  # fmt: skip
_CODES: Final = {name: code for code, name in MACHINES.items()}
_TRIPLES: Final = {"x86-64": "x86_64", "AArch64": "aarch64", "RISC-V": "riscv64"}

_X86: Final = {
    **{
        name: name for name in ("avx", "avx2", "fma", "f16c", "bmi2", "popcnt", "movbe", "aes", "gfni", "vaes", "ssse3")
    },
    **{name: name for name in ("avx512f", "avx512dq", "avx512cd", "avx512bw", "avx512vl", "avx512ifma", "avx512vbmi")},
    "vpclmulqdq": "vpclmulqdq",
    "avx512vbmi2": "avx512_vbmi2",
    "avx512vnni": "avx512_vnni",
    "avx512bitalg": "avx512_bitalg",
    "avx512vpopcntdq": "avx512_vpopcntdq",
    "avx512bf16": "avx512_bf16",
    "avx512fp16": "avx512_fp16",
    "avxvnni": "avx_vnni",
    "amx-tile": "amx_tile",
    "bmi": "bmi1",
    "lzcnt": "abm",
    "pclmul": "pclmulqdq",
    "sha": "sha_ni",
    "sse3": "pni",
    "sse4.1": "sse4_1",
    "sse4.2": "sse4_2",
}
_ARM: Final = {
    "sve": "sve",
    "sve2": "sve2",
    "dotprod": "asimddp",
    "fullfp16": "asimdhp",
    "lse": "atomics",
    "i8mm": "i8mm",
}
_FLAGS: Final = {62: _X86, 183: _ARM}
"""By architecture: LLVM's name of a feature → its flag in /proc/cpuinfo."""

_LEVELS: Final = {
    "x86-64-v2": "ssse3 sse4.1 sse4.2 popcnt",
    "x86-64-v3": "avx avx2 bmi bmi2 f16c fma lzcnt movbe",
    "x86-64-v4": "avx512f avx512bw avx512cd avx512dq avx512vl",
}


@dataclass(frozen=True, slots=True)
class Here:
    """The machine and system of a process.

    system: Linux, macOS, Windows, or Python's name. machine: its processor, x86-64, AArch64, RISC-V, or the system's
    name. libc: glibc or musl, on Linux. version: of macOS. flags: features of the processor.
    """

    system: str
    machine: str
    libc: str = ""
    version: tuple[int, ...] = ()
    flags: Flags = field(default=Flags(), compare=False, repr=False)

    def __str__(self) -> str:
        """`Linux on x86-64 with glibc`"""
        return f"{self.system} on {self.machine}{f' with {self.libc}' if self.libc else ''}"

    @property
    def target(self) -> str | None:
        """The target of libraries for it; None if there is none."""
        name = _TRIPLES.get(self.machine)
        if self.system == "Linux" and name is not None:
            return f"{name}-linux-{'gnu' if self.libc == 'glibc' else 'musl'}"
        return {
            ("Windows", "x86-64"): "x86_64-windows-gnu",
            ("macOS", "x86-64"): "x86_64-macos",
            ("macOS", "AArch64"): "arm64-macos",
        }.get((self.system, self.machine))

    def fitting(self) -> str:
        """A hint that names this machine, and how to compile for it."""
        what = f"this machine is {self}"
        return what if self.target is None else f"{what}; compile for it: aotensor compile MODEL --target {self.target}"


@cache
def this_machine() -> Here:
    """The machine of this process: a Python for x86-64 on an ARM processor runs libraries for x86-64."""
    if sys.platform == "win32":  # as `sysconfig` does; `platform` asks a service, and returns the processor's
        name = next((word for word in ("amd64", "arm64") if word in sys.version.lower()), "x86")
    else:
        name = platform.machine()
    machine = _NAMES.get(name.lower(), name)
    if sys.platform.startswith("linux"):
        return Here(here.NAME, machine, "glibc" if platform.libc_ver()[0] == "glibc" else "musl", flags=here.flags())
    system = here.NAME if sys.platform in ("darwin", "win32") else sys.platform
    return Here(system, machine, version=here.version(), flags=here.flags())


def check_architecture(image: Image, this: Here | None = None) -> None:
    """Raises: UnsupportedMachine for another architecture or system; ForeignLibrary for a file that is not linked."""
    this = this or this_machine()
    if image.kind != SHARED:
        raise ForeignLibrary("this is an ELF file, but not a shared library", hint="link the object file first")
    if this.system != image.platform.partition(" ")[0]:
        raise UnsupportedMachine(f"the library is for {image.platform}, not for this machine", hint=this.fitting())
    if (this.machine in _CODES or this.machine == "x86") and image.machine != _CODES.get(this.machine):
        name = MACHINES.get(image.machine, f"machine {image.machine}")
        raise UnsupportedMachine(f"the library is for {name}, but this machine is {this.machine}", hint=this.fitting())
    if isinstance(image, MachFile) and this.version and image.oldest > this.version:
        own, asked = (".".join(map(str, version)) for version in (this.version, image.oldest))
        triple = f"{'arm64' if image.machine == _CODES['AArch64'] else 'x86_64'}-apple-macosx{own}"
        raise UnsupportedMachine(
            f"the library is for macOS {asked} and later, but this is macOS {own}",
            hint=f"compile for this machine: aotensor compile MODEL --target {triple}",
        )


def check_libc(manifest: Manifest, this: Here | None = None) -> None:
    """Raises: UnsupportedMachine for a library that needs musl if this process has glibc"""
    this = this or this_machine()
    if "musl" in manifest.target and this.libc == "glibc":
        raise UnsupportedMachine("the library is for Linux with musl, but this process has glibc", hint=this.fitting())


def check_features(manifest: Manifest, machine: int, this: Here | None = None) -> None:
    """Raises: UnsupportedMachine naming the CPU features that the library needs and this machine lacks."""
    flags, names = (this or this_machine()).flags, _FLAGS.get(machine, {})
    needed = {name[1:] for name in manifest.features.split(",") if name.startswith("+")}
    levels = list(_LEVELS)
    if manifest.cpu in levels:
        for level in levels[: levels.index(manifest.cpu) + 1]:
            needed.update(_LEVELS[level].split())
    missing = sorted(name for name in needed if name in names and flags.is_certainly_missing(names[name]))
    if missing:
        raise UnsupportedMachine(
            f"the library needs CPU features that this machine lacks: {', '.join(missing)}",
            hint="compile it with --cpu generic, for this machine, or on x86-64 with --cpu v2,v3,v4",
        )


def cpu_flags() -> frozenset[str]:
    """Features of the processor as in /proc/cpuinfo; none if they are not known."""
    return this_machine().flags.present
