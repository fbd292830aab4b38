"""The table of BLAS and LAPACK functions that an interface passes to our entries if its callers provide none."""

from __future__ import annotations

import ctypes
from typing import Final

from aotensor.codegen.abi import linear_algebra
from aotensor.errors import UnsupportedError
from aotensor_runtime.abi import LAPACK_FUNCTIONS, Blas
from aotensor_runtime.manifest import FunctionSpec

SUBSTITUTES: Final = tuple(name for name in LAPACK_FUNCTIONS if hasattr(linear_algebra, name))
"""The functions of LAPACK that have a kernel."""


def blas_words() -> list[int | str]:
    """An aotensor_blas as words of a table. It has no products, for which our own kernels are used."""
    names = [name for name, *_ in Blas._fields_][1:]
    return [ctypes.sizeof(Blas), *(name if name in SUBSTITUTES else 0 for name in names)]


def missing_lapack(spec: FunctionSpec) -> list[str]:
    """The names of the LAPACK functions that a function needs and that have no kernel here."""
    return [name for name in spec.lapack if name not in SUBSTITUTES]


def refuse_lapack(interface: str, spec: FunctionSpec) -> None:
    """Check that all LAPACK functions that a function needs have kernels. Raises: UnsupportedError if not."""
    missing = missing_lapack(spec)
    if missing:
        raise UnsupportedError(
            f"{spec.name} needs LAPACK's {', '.join(missing)}, which callers of {interface} cannot give",
            hint=f"supported functions of LAPACK, in float64: {', '.join(SUBSTITUTES)}",
        )
