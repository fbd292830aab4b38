"""Known features of the processor, under their names in /proc/cpuinfo."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Final

_NAMES: Final = {
    **{name.upper(): name for name in ("avx", "avx2", "bmi2", "f16c", "gfni", "movbe", "popcnt", "ssse3", "sve")},
    **{name.upper(): name for name in ("vaes", "vpclmulqdq")},
    **{f"AVX512{name}": f"avx512{name.lower()}" for name in ("F", "CD", "BW", "DQ", "VL", "IFMA", "VBMI")},
    **{f"AVX512{name}": f"avx512_{name.lower()}" for name in ("VBMI2", "VNNI", "BITALG", "VPOPCNTDQ", "BF16", "FP16")},
    "ASIMDDP": "asimddp",
    "ASIMDHP": "asimdhp",
    "BMI": "bmi1",
    "FMA3": "fma",
    "LZCNT": "abm",
    "SSE3": "pni",
    "SSE41": "sse4_1",
    "SSE42": "sse4_2",
}
"""NumPy's name of a feature → its name in /proc/cpuinfo."""


@dataclass(frozen=True, slots=True)
class Flags:
    """Known features of a processor.

    present: features that the processor has. absent: those that it certainly lacks. is_whole: are all others absent?
    With neither, nothing is known.
    """

    present: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()
    is_whole: bool = False

    def is_certainly_missing(self, flag: str) -> bool:
        """Is it certain that the processor lacks this feature?"""
        return flag in self.absent or (self.is_whole and flag not in self.present)


def flags_of_numpy() -> Flags:
    """The features that NumPy found by `cpuid` and `xgetbv`, or from macOS, for systems without such a list.

    Features that NumPy does not name are neither, as BMI, LZCNT and MOVBE, which AVX2 implies, before NumPy 2.4.
    """
    try:
        found = dict(importlib.import_module("numpy._core._multiarray_umath").__cpu_features__)
    except (ImportError, AttributeError, TypeError, ValueError):  # NumPy does not document it
        return Flags()
    told = {flag: bool(found[name]) for name, flag in _NAMES.items() if name in found}
    present = frozenset(flag for flag, is_there in told.items() if is_there)
    return Flags(present, frozenset(told) - present) if present else Flags()
