"""Kernels that fill array descriptors and call contexts for our uniform entries."""

from __future__ import annotations

from typing import Final

from aotensor.codegen.abi.language import WORD, Address, set_byte, set_int32, set_word
from aotensor_runtime.abi import DTYPE_CODES, Array, Context

ARRAY: Final = 32
"""Bytes of an aotensor_array on targets with addresses of 64 bits."""
CONTEXT: Final = 120
"""No less than the bytes of an aotensor_context."""
MESSAGE_BYTES: Final = 800
CONTEXT_SIZE: Final = Context.parallel_for.offset
MESSAGE_AT: Final = Context.message.offset // WORD
MESSAGE_SIZE_AT: Final = Context.message_size.offset // WORD
WORKSPACE_AT: Final = Context.workspace.offset // WORD
WORKSPACE_BYTES_AT: Final = Context.workspace_bytes.offset // WORD
BLAS_AT: Final = Context.blas.offset // WORD
SHAPE_AT: Final = Array.shape.offset // WORD
STRIDES_AT: Final = Array.strides.offset // WORD
RANK_AT: Final = Array.rank.offset // 4
DTYPE_AT: Final = Array.dtype.offset // 4
FLOAT: Final = DTYPE_CODES["float64"]
TRUTH: Final = DTYPE_CODES["bool"]
INDEX: Final = DTYPE_CODES["int32"]


def describe(arrays: Address, k: int, data: Address, shape: Address, rank: int, dtype: int) -> None:
    """Fill descriptor number k of `arrays` for a row-major array."""
    array = arrays + k * ARRAY
    set_word(array, 0, data)
    set_word(array, SHAPE_AT, shape)
    set_word(array, STRIDES_AT, 0)
    set_int32(array, RANK_AT, rank)
    set_int32(array, DTYPE_AT, dtype)


def begin_context(context: Address, blas: Address, message: Address) -> None:
    """Fill a call context with a table of LAPACK functions and memory for an error message, initially empty."""
    for k in range(CONTEXT // WORD):
        set_word(context, k, 0)
    set_word(context, 0, CONTEXT_SIZE)
    set_word(context, BLAS_AT, blas)
    set_word(context, MESSAGE_AT, message)
    set_word(context, MESSAGE_SIZE_AT, MESSAGE_BYTES)
    set_byte(message, 0, 0)
