"""The structs of `include/aotensor.h` as ctypes: the only source of sizes and offsets, for runtime and codegen.

Units are those of the header: extents and strides in elements, everything named `bytes` or `size` in bytes.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum
from pathlib import Path
from typing import Final

from aotensor_runtime.arrays.dtypes import DTYPES

ABI_VERSION: Final = 2

HEADER: Final = Path(__file__).parent / "include" / "aotensor.h"

WORKSPACE_ALIGNMENT: Final = 64
"""Alignment in bytes that a kernel may assume for its workspace; entries align the memory that they get."""

MANIFEST_SECTION: Final = ".aotensor.manifest"
CHECKSUM_SECTION: Final = ".aotensor.checksum"
VALUES_SECTION: Final = ".aotensor.values"
EXTRA_SECTION_PREFIX: Final = ".aotensor.x."

DTYPE_CODES: Final[dict[str, int]] = {name: record.code for name, record in DTYPES.items()}

DTYPE_NAMES: Final[dict[int, str]] = {code: name for name, code in DTYPE_CODES.items()}

DTYPE_SIZES: Final[dict[str, int]] = {name: record.size for name, record in DTYPES.items()}
"""Bytes of one element."""


class Status(IntEnum):
    """Return values of every entry point; CHECK and above are checks of one function (see `Manifest.check`).

    NOT_CONVERGED is the status of all checks of the kind "convergence".
    """

    OK = 0
    NULL_POINTER = 1
    WRONG_DTYPE = 2
    WRONG_RANK = 3
    WRONG_EXTENT = 4
    NEGATIVE = 5
    TOO_LARGE = 6
    OVERLAP = 7
    NO_MEMORY = 8
    OUTPUTS_NEEDED = 9
    WRONG_CONTEXT = 10
    NOT_PLAIN = 11
    NO_FUNCTION = 12
    BAD_STRUCTURE = 13
    BAD_INDEX = 14
    NOT_CONVERGED = 15
    NO_WEIGHTS = 16
    WRONG_WEIGHTS = 17
    CHECK = 1000


class Complex64(ctypes.Structure):
    """aotensor_complex64: a complex number of two floats."""

    _fields_ = (("re", ctypes.c_float), ("im", ctypes.c_float))


class Complex128(ctypes.Structure):
    """aotensor_complex128: a complex number of two doubles."""

    _fields_ = (("re", ctypes.c_double), ("im", ctypes.c_double))


class Array(ctypes.Structure):
    """aotensor_array: a dense array; strides NULL means row-major."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("rank", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
    )


class Sparse(ctypes.Structure):
    """aotensor_sparse: a CSR or CSC matrix."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("indices", ctypes.c_void_p),
        ("indptr", ctypes.c_void_p),
        ("nnz", ctypes.c_int64),
        ("shape", ctypes.c_int64 * 2),
        ("dtype", ctypes.c_int32),
        ("index_dtype", ctypes.c_int32),
    )


BLAS_FUNCTIONS: Final = tuple(f"{kind}{name}" for name in ("gemm", "gemv") for kind in "sd")
"""Matrix products; generated code replaces missing ones."""

_OF_REALS: Final = (
    "trsm", "trmm", "potrf", "getrf", "getri", "syevd", "gesdd", "geqrf", "orgqr",
    "gees", "trsyl", "geev", "geqp3", "gtsv", "gges", "tgsen",
)  # fmt: skip
_OF_COMPLEX: Final = ("gees", "trsyl", "geev", "getrf", "heevd", "gesdd", "geqrf", "ungqr", "geqp3")

LAPACK_FUNCTIONS: Final = tuple(
    f"{kind}{name}"
    for names, kinds in ((_OF_REALS, "sd"), (_OF_COMPLEX, "cz"), (("trsen",), "sdcz"), (("gges", "tgsen"), "cz"))
    for name in names
    for kind in kinds
)
"""Linear algebra, including two functions of BLAS; a function that calls one needs it."""


class Blas(ctypes.Structure):
    """aotensor_blas: addresses of BLAS and LAPACK functions; a field exists if struct_size covers it."""

    _fields_ = (
        ("struct_size", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in BLAS_FUNCTIONS + LAPACK_FUNCTIONS),
    )


class Kept(ctypes.Structure):
    """aotensor_kept: workspace that a call leaves for the next call."""

    _fields_ = (
        ("block", ctypes.c_void_p),
        ("limit", ctypes.c_int64),
    )


SMALLEST_KEPT: Final = 1 << 20
"""Least bytes of a workspace that is kept; the C library caches smaller blocks itself."""


class Context(ctypes.Structure):
    """aotensor_context: resources and settings of one call."""

    _fields_ = (
        ("struct_size", ctypes.c_int64),
        ("allocate", ctypes.c_void_p),
        ("user", ctypes.c_void_p),
        ("message", ctypes.c_void_p),
        ("message_size", ctypes.c_int64),
        ("workspace", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_int64),
        ("blas", ctypes.c_void_p),
        ("num_threads", ctypes.c_int32),
        ("flags", ctypes.c_int32),
        ("parallel_for", ctypes.c_void_p),
        ("pool", ctypes.c_void_p),
        ("kept", ctypes.c_void_p),
    )


END_OF_SMALLEST_CONTEXT: Final = "parallel_for"
"""The first version of aotensor_context ends before this field: later fields may be absent."""
MAX_THREADS: Final = 64
"""Most threads that run one loop."""


CANONICAL: Final = 1
"""Flag of a context: sparse inputs are valid and canonical, so a call does not check them."""

WEIGHTS_CHECKED: Final = 1
"""Flag of `aotensor_set_weights_<library>`: the caller has compared the digest."""


class PythonLayout(ctypes.Structure):
    """aotensor_python_layout: offsets in bytes inside Python and NumPy objects, and the addresses of their types."""

    _fields_ = (
        ("object_type", ctypes.c_int64),
        ("tuple_size", ctypes.c_int64),
        ("tuple_items", ctypes.c_int64),
        ("float_value", ctypes.c_int64),
        ("array_data", ctypes.c_int64),
        ("array_rank", ctypes.c_int64),
        ("array_shape", ctypes.c_int64),
        ("array_strides", ctypes.c_int64),
        ("array_dtype", ctypes.c_int64),
        ("array_type", ctypes.c_void_p),
        ("float_type", ctypes.c_void_p),
        ("float64_type", ctypes.c_void_p),
        ("dtypes", ctypes.c_void_p),
    )


class PythonCall(ctypes.Structure):
    """aotensor_python_call: the description of one function for `aotensor_call_python`."""

    _fields_ = (
        ("layout", ctypes.c_void_p),
        ("entry", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("dtypes", ctypes.c_void_p),
        ("output_ranks", ctypes.c_void_p),
        ("inputs", ctypes.c_int32),
        ("outputs", ctypes.c_int32),
        ("strides", ctypes.c_int64),
    )


class BoundCall(ctypes.Structure):
    """aotensor_bound_call: the arguments of an entry."""

    _fields_ = (
        ("entry", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("inputs", ctypes.c_void_p),
        ("outputs", ctypes.c_void_p),
    )


class BoundMethod(ctypes.Structure):
    """aotensor_bound_method: the same, with the interpreter's functions that a Python method needs."""

    _fields_ = (
        ("save_thread", ctypes.c_void_p),
        ("restore_thread", ctypes.c_void_p),
        ("as_number", ctypes.c_void_p),
        ("call", BoundCall),
    )


class ValueCall(ctypes.Structure):
    """aotensor_value_call: a function of scalars, for SciPy's callbacks."""

    _fields_ = (
        ("call", BoundCall),
        ("x", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("value", ctypes.c_void_p),
    )


METHOD_OFFSET: Final = 32
"""Offset in bytes of the content of a `bytes` object, where `aotensor_run_bound` finds its struct."""

STRUCTS: Final[dict[str, type[ctypes.Structure]]] = {
    "aotensor_complex64": Complex64,
    "aotensor_complex128": Complex128,
    "aotensor_array": Array,
    "aotensor_sparse": Sparse,
    "aotensor_blas": Blas,
    "aotensor_kept": Kept,
    "aotensor_context": Context,
    "aotensor_python_layout": PythonLayout,
    "aotensor_python_call": PythonCall,
    "aotensor_bound_call": BoundCall,
    "aotensor_bound_method": BoundMethod,
    "aotensor_value_call": ValueCall,
}
"""C name → struct of the header; a test compares all offsets with the C compiler's."""


def context(blas: int | None = None) -> Context:
    """A context with no message buffer and no workspace: may be shared by threads."""
    return Context(struct_size=ctypes.sizeof(Context), blas=blas)
