"""Signatures of the BLAS and LAPACK functions that loop IR calls, such as `@aot_lapack_potrf.f64`.

    func.func private @aot_lapack_potrf.f64(i8, index, memref<?xf64>, index, index, memref<1xi8>) -> i32
                                            uplo n     a: buffer, start     lda    table            info

One letter per argument of the Fortran function: c a character, i an integer, f a number of the element type, a an array
of it, p an array of 32-bit integers; an array is passed as a buffer and the index of its first element. I is the `info`
argument at the end of LAPACK functions: it is the result. An integer that does not fit 32 bits returns TOO_LARGE.
Functions of complex matrices are `@aot_lapack_geev.c128` and the like: an array of complex numbers is an array of f64
pairs, and its start is an index into these. A callback that selects eigenvalues, a pointer to a function, is p too: no
call needs one.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

PREFIX: Final = "aot_lapack_"

ROUTINES: Final[Mapping[str, str]] = {
    "gemm": "cciiifaiaifai",
    "trsm": "cccciifaiai",
    "trmm": "cccciifaiai",
    "potrf": "ciaiI",
    "getrf": "iiaipI",
    "getri": "iaipaiI",
    "syevd": "cciaiaaipiI",
    "gesdd": "ciiaiaaiaiaipI",
    "geqrf": "iiaiaaiI",
    "orgqr": "iiiaiaaiI",
    "gees": "ccpiaipaaaiaipI",
    "trsyl": "cciiiaiaiaiaI",
    "geev": "cciaiaaaiaiaiI",
    "geqp3": "iiaipaaiI",
    "gtsv": "iiaaaaiI",
    "gges": "cccpiaiaipaaaaiaiaipI",
    "tgsen": "iiipiaiaiaaaaiaipaaaaipiI",
    "trsen": "ccpiaiaiaapaaaipiI",
}

COMPLEX_ROUTINES: Final[Mapping[str, str]] = {
    "gees": "ccpiaipaaiaiapI",
    "trsyl": "cciiiaiaiaiaI",
    "geev": "cciaiaaiaiaiaI",
    "getrf": "iiaipI",
    "heevd": "cciaiaaiaipiI",
    "gesdd": "ciiaiaaiaiaiapI",
    "geqrf": "iiaiaaiI",
    "ungqr": "iiiaiaaiI",
    "geqp3": "iiaipaaiaI",
    "trsen": "ccpiaiaiapaaaiI",
    "gges": "cccpiaiaipaaaiaiaiapI",
    "tgsen": "iiipiaiaiaaaiaipaaaaipiI",
}

WORK: Final[Mapping[str, tuple[Fraction, tuple[int, ...]]]] = {
    "gemm": (Fraction(2), (1, 1, 1)),
    "trsm from the left": (Fraction(1), (2, 1)),
    "trsm from the right": (Fraction(1), (1, 2)),
    "trmm from the left": (Fraction(1), (2, 1)),
    "trmm from the right": (Fraction(1), (1, 2)),
    "potrf": (Fraction(1, 3), (3,)),
    "getrf": (Fraction(2, 3), (1, 2)),
    "getri": (Fraction(4, 3), (3,)),
    "geqrf": (Fraction(4, 3), (1, 2)),
    "orgqr": (Fraction(4, 3), (1, 2)),
}
"""Floating-point operations of a call: a factor, and the exponents of its first integers; square matrices are
assumed where other shapes are possible. Lower powers are neglected. The work of other functions depends on values.
"""

TOO_LARGE: Final = (1 << 31) - 1
"""The result of a call with an extent that does not fit a Fortran integer."""


def function_name(symbol: str) -> str:
    """The name of the Fortran function that a symbol of loop IR calls: `dpotrf` for `aot_lapack_potrf.f64`."""
    name, suffix = symbol.removeprefix(PREFIX).split(".")
    return {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}[suffix] + name


CONCURRENT_ROWS: Final[Mapping[str, tuple[int, int]]] = {
    "cholesky": (32, 64), "lu": (32, 64), "lu_adjugate": (32, 64), "lu_inverse": (32, 64), "lu_solve": (32, 64),
    "complete_qr": (0, 64), "qr": (0, 64), "qr_r": (0, 64),
    "eigh": (0, 32), "eigvalsh": (0, 32), "full_svd": (0, 32), "singular_values": (0, 32), "svd": (0, 32),
}  # fmt: skip
"""Kind → the range of matrix rows for which several cores may call OpenBLAS concurrently (measured).

Shorter calls contend for a lock in its allocator, longer ones use its own threads. Its products and triangular solves
use threads from eight rows and columns on, so kinds that are based on these are missing.
"""
LARGEST_SOLVE: Final = 7
"""Largest number of columns of B for which OpenBLAS uses no threads to solve A·X = B by factors of A."""
