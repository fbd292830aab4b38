"""Compute wheel tags from the library itself, not from the machine that packs it.

glibc   manylinux_2_N: the latest version of a symbol that it imports (PEP 600)
musl    musllinux_1_2: musl has no versions of symbols (PEP 656)
macOS   macosx_13_0: the oldest one of its load commands; from 11 on, tags name the first number only
Windows win_amd64: every one that has Python
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from aotensor_runtime.errors import ForeignLibrary, LibraryError

_MACHINES: Final = {62: "x86_64", 183: "aarch64", 243: "riscv64"}
"""By e_machine."""
_WINDOWS: Final = {"x86_64": "amd64", "aarch64": "arm64"}
_SYSTEMS: Final = {"ucrt": "windows", "libSystem": "macos"}
_OLDEST: Final = {"x86_64": 5, "aarch64": 17, "riscv64": 31}
"""N of the first manylinux_2_N of a machine: no wheel can say that it runs with an older glibc."""
_NAMED: Final = (5, 12, 17, 24, 26, 27, 28, 31, 34)
"""N of the policies that auditwheel has: what needs a symbol of 2.14 is said to need 2.17. Behind the last, all do."""
_RELATIVE: Final = "GLIBC_ABI_DT_RELR"
"""Asked for by linkers that pack relative relocations, which glibc 2.36 reads."""


@dataclass(frozen=True)
class Platform:
    """machine: as in `uname -m`. libc: glibc or musl of Linux, ucrt of Windows, libSystem of macOS."""

    machine: str
    libc: str

    @property
    def is_linux(self) -> bool:
        return self.libc in ("glibc", "musl")

    def __str__(self) -> str:
        if not self.is_linux:
            return f"{_SYSTEMS[self.libc]}-{self.machine}"
        return f"linux-{'musl-' if self.libc == 'musl' else ''}{self.machine}"


def platform_of(machine: int, target: str, needed: Collection[str]) -> Platform:
    """machine: as e_machine of an ELF file. target: its LLVM triple. needed: other libraries that it needs

    Raises: ForeignLibrary for what has no tag.
    """
    if machine in _MACHINES and "-windows-" in target:
        return Platform(_MACHINES[machine], "ucrt")
    if machine in _MACHINES and "-macosx" in target:
        return Platform(_MACHINES[machine].replace("aarch64", "arm64"), "libSystem")
    if machine not in _MACHINES or "linux" not in target:
        raise ForeignLibrary(f"packages for {target} are not supported", hint="Linux, Windows and macOS are supported")
    is_glibc = "libc.so.6" in needed or ("musl" not in target and not any("musl" in name for name in needed))
    return Platform(_MACHINES[machine], "glibc" if is_glibc else "musl")


def wheel_tag(platform: Platform, versions: Iterable[str], oldest: Iterable[tuple[int, int]] = ()) -> str:
    """`manylinux_2_34_x86_64`

    versions: of the symbols that the libraries import, such as GLIBC_2.34. oldest: the macOS that each asks for.

    Raises: LibraryError for a glibc that is none.
    """
    if platform.libc == "ucrt":
        return f"win_{_WINDOWS[platform.machine]}"
    if platform.libc == "libSystem":
        first, second = max([(11, 0) if platform.machine == "arm64" else (10, 9), *oldest])
        return f"macosx_{first}_{second if first == 10 else 0}_{platform.machine}"
    if platform.libc == "musl":
        return f"musllinux_1_2_{platform.machine}"
    needed = max([_minor(version) for version in versions], default=0)
    minor = max(needed, _OLDEST[platform.machine])
    return f"manylinux_2_{next((n for n in _NAMED if n >= minor), minor)}_{platform.machine}"


def _minor(version: str) -> int:
    """N of GLIBC_2.N or GLIBC_2.N.x"""
    if version == _RELATIVE:
        return 36
    found = re.fullmatch(r"GLIBC_2\.(\d{1,3})(\.\d+)?", version)
    if found is None:
        raise LibraryError(f"it imports symbols of the version {version}, which no glibc has")
    return int(found[1])
