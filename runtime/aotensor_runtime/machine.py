"""Can this machine run what a library was compiled for? What it cannot tell, it lets pass."""

from __future__ import annotations

import platform
import sys
from functools import cache
from pathlib import Path
from typing import Final

from aotensor_runtime.elf import MACHINES, ElfFile
from aotensor_runtime.errors import ForeignLibrary, UnsupportedMachine
from aotensor_runtime.formats.image import SHARED, Image
from aotensor_runtime.manifest import Manifest

_NAMES: Final = {
    "x86_64": "x86-64", "amd64": "x86-64", "aarch64": "AArch64", "arm64": "AArch64", "riscv64": "RISC-V",
}  # fmt: skip
_TRIPLES: Final = {"x86-64": "x86_64", "AArch64": "aarch64", "RISC-V": "riscv64"}
_SYSTEMS: Final = {"darwin": "macOS", "win32": "Windows"}
_THIS: Final = {"x86_64": 62, "amd64": 62, "aarch64": 183, "arm64": 183, "riscv64": 243}

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


def machine_name() -> str:
    """Of the processor: x86-64, AArch64, RISC-V, or what the system calls it."""
    return _NAMES.get(platform.machine().lower(), platform.machine())


def c_library() -> str:
    """Of this process on Linux: glibc or musl."""
    return "glibc" if platform.libc_ver()[0] == "glibc" else "musl"


def this_machine() -> str:
    """`Linux on x86-64 with glibc`"""
    if sys.platform.startswith("linux"):
        return f"Linux on {machine_name()} with {c_library()}"
    return f"{this_system()} on {machine_name()}"


def this_system() -> str:
    """Linux, macOS, Windows, or what Python calls it."""
    return "Linux" if sys.platform.startswith("linux") else _SYSTEMS.get(sys.platform, sys.platform)


def fitting() -> str:
    """A hint: what this machine is, and how to compile for it."""
    libc = "gnu" if c_library() == "glibc" else "musl"
    name = _TRIPLES.get(machine_name())
    here = f"this machine is {this_machine()}"
    if not name or not sys.platform.startswith("linux"):
        return here
    return f"{here}; for it: aotensor compile MODEL --target {name}-linux-{libc}"


def check_architecture(image: Image) -> None:
    """Raises: UnsupportedMachine for another architecture or system; ForeignLibrary for what is not linked."""
    if image.kind != SHARED:
        raise ForeignLibrary("an ELF file, but not a shared library", hint="link the object file first")
    if not isinstance(image, ElfFile) or not sys.platform.startswith("linux"):
        what = f"the library is for {image.platform}"
        if this_system() == image.platform.partition(" ")[0]:
            raise UnsupportedMachine(f"{what}, and Python loads those for Linux only", hint="call it from C or C++")
        raise UnsupportedMachine(f"{what}, not for this machine", hint=fitting())
    this = _THIS.get(platform.machine().lower())
    if this is not None and image.machine != this:
        name = MACHINES.get(image.machine, f"machine {image.machine}")
        raise UnsupportedMachine(f"the library is for {name}, this machine is {MACHINES[this]}", hint=fitting())


def check_libc(manifest: Manifest) -> None:
    """Raises: UnsupportedMachine for a library that needs musl where this process has glibc"""
    if "musl" in manifest.target and c_library() == "glibc":
        raise UnsupportedMachine("the library is for Linux with musl, this process has glibc", hint=fitting())


def check_features(manifest: Manifest, machine: int) -> None:
    """Raises: UnsupportedMachine naming the CPU features that the library needs and this machine lacks."""
    present, names = cpu_flags(), _FLAGS.get(machine, {})
    if not present:
        return
    needed = {name[1:] for name in manifest.features.split(",") if name.startswith("+")}
    levels = list(_LEVELS)
    if manifest.cpu in levels:
        for level in levels[: levels.index(manifest.cpu) + 1]:
            needed.update(_LEVELS[level].split())
    missing = sorted(name for name in needed if name in names and names[name] not in present)
    if missing:
        raise UnsupportedMachine(
            f"the library needs CPU features that this machine lacks: {', '.join(missing)}",
            hint="compile it with --cpu generic, for this machine, or on x86-64 with --cpu v2,v3,v4",
        )


@cache
def cpu_flags() -> frozenset[str]:
    """Flags of the first CPU in /proc/cpuinfo; none if that is not there."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return frozenset(value.split())
    return frozenset()
