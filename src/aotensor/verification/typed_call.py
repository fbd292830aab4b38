"""Call a typed entry by its address, such as one of compiled C source."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from aotensor.core.types import Array
from aotensor_runtime.abi import DTYPE_CODES, Context, Sparse
from aotensor_runtime.abi import Array as ArrayStruct
from aotensor_runtime.blas import blas_table
from aotensor_runtime.manifest import FunctionSpec, OutputSpec, SparseValue
from aotensor_runtime.typed.pointer import EntryPointer

_ALLOCATE: Final = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64)
)


def call_typed(
    spec: FunctionSpec, address: int, values: Sequence[Any], expected: Sequence[Any]
) -> tuple[int, list[Any]]:
    """Call a typed entry once: (status, outputs).

    values: arrays and SciPy matrices for `spec.arguments`. expected: outputs for `spec.produced`, whose shapes are
    those of the memory that is passed; matrices, and arrays whose shape depends on values, are allocated by the call
    """
    held: list[Any] = []
    dims = dims_of(spec, values)
    memory: dict[int, Any] = {}

    def allocate(user: int, output: int, size: int, shape: Any) -> int:
        memory[output] = (ctypes.c_char * max(size, 1))()
        return ctypes.addressof(memory[output])

    context = Context(struct_size=ctypes.sizeof(Context))
    callback = _ALLOCATE(allocate)
    context.allocate = ctypes.cast(callback, ctypes.c_void_p).value
    if spec.lapack:
        context.blas = ctypes.addressof(blas_table())
    given: list[Any] = [ctypes.addressof(context)] if spec.takes_context else []
    given += [dims[name] for name in spec.typed_dims]
    given += [_input(value, x, held) for value, x in zip(spec.arguments, values, strict=True)]
    outputs = [_Output(value, x) for value, x in zip(spec.produced, expected, strict=True)]
    given += [output.address for output in outputs]
    entry = ctypes.CFUNCTYPE(
        ctypes.c_int32,
        *(ctypes.c_void_p if x.is_pointer else ctypes.c_int64 for x in EntryPointer(spec, "", 0).parameters),
    )(address)
    status = int(entry(*given, None))
    return status, [output.value() for output in outputs] if status == 0 else []


def dims_of(spec: FunctionSpec, values: Sequence[Any]) -> dict[str, int]:
    """The value of each dim that an argument has."""
    return {
        name: int(n)
        for value, x in zip(spec.arguments, values, strict=True)
        for name, n in zip(value.shape, np.shape(x), strict=True)
        if isinstance(name, str)
    }


def _input(value: Any, x: Any, held: list[Any]) -> int:
    if isinstance(value, SparseValue):
        kinds = value.dtype, value.index_dtype, value.index_dtype
        arrays = [
            np.array(a, dtype=kind, order="C") for a, kind in zip((x.data, x.indices, x.indptr), kinds, strict=True)
        ]
        struct = _matrix(value, arrays, x.shape)
        held += [struct, *arrays]
        return ctypes.addressof(struct)
    held.append(np.array(x, dtype=value.dtype, order="C", ndmin=0))
    return int(held[-1].ctypes.data)


def _matrix(value: SparseValue, arrays: Sequence[Array], shape: Sequence[int]) -> Sparse:
    data, indices, indptr = (a.ctypes.data for a in arrays)
    codes = DTYPE_CODES[value.dtype], DTYPE_CODES[value.index_dtype]
    return Sparse(data, indices, indptr, len(arrays[1]), (ctypes.c_int64 * 2)(*shape), *codes)


class _Output:
    """One output of a call: memory for it, or a struct that the call fills in."""

    def __init__(self, spec: Any, expected: Any) -> None:
        self._spec = spec
        self._array: Array | None = None
        self._struct: Any = None
        if isinstance(spec, SparseValue):
            self._struct = Sparse()
        elif isinstance(spec, OutputSpec) and spec.is_allocated:
            self._shape = (ctypes.c_int64 * max(len(spec.shape), 1))()
            self._struct = ArrayStruct(None, ctypes.addressof(self._shape), None, len(spec.shape), 0)
        else:
            self._array = np.empty(np.shape(expected), dtype=spec.dtype)
            ctypes.memset(self._array.ctypes.data, 0x5A, self._array.nbytes)
        self.address = int(self._array.ctypes.data) if self._array is not None else ctypes.addressof(self._struct)

    def value(self) -> Any:
        """The output as an array, or (data, indices, indptr, shape) of a matrix."""
        if self._array is not None:
            return self._array
        if not isinstance(self._spec, SparseValue):
            return _read(self._struct.data, self._spec.dtype, list(self._shape)[: len(self._spec.shape)])
        a, block = self._struct, self._spec.blocksize or (1, 1)
        slices = a.shape[self._spec.major] // block[self._spec.major]
        extents = [a.nnz, *(self._spec.blocksize or ())]
        parts = (
            _read(a.data, self._spec.dtype, extents),
            _read(a.indices, self._spec.index_dtype, [a.nnz]),
            _read(a.indptr, self._spec.index_dtype, [slices + 1]),
        )
        return (*parts, tuple(a.shape))


def _read(address: int | None, dtype: str, shape: Sequence[int]) -> Array:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    content = ctypes.string_at(address, size) if address and size else b""
    return np.frombuffer(content, dtype).reshape(shape)
