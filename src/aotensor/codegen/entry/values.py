"""The entry that writes the values of sparse outputs with known pattern: `double *J` instead of an aotensor_sparse.

    i32 f_values([context,] dims..., inputs..., outputs..., workspace)

It calls the typed entry with local structs; indices, which are the same in every call, are written to temporary memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aotensor.codegen.calls.memory import sized
from aotensor.codegen.entry.code import NULL, Code, number, status
from aotensor.codegen.llvm import Module, Value, function, i8, i32, i64, pointer, void
from aotensor_runtime.abi import DTYPE_SIZES, Sparse, Status
from aotensor_runtime.manifest import FunctionSpec, SparseValue
from aotensor_runtime.typed.patterns import constant_outputs, values_take_context

_ON_STACK: Final = 4096
"""Largest size in bytes of indices that are on the stack."""


def define_values(module: Module, symbol: str, typed: Value, spec: FunctionSpec) -> None:
    """Define and export the entry. typed: the typed entry that it calls."""
    has_context = values_take_context(spec)
    kinds = [*[pointer] * has_context, *[i64] * len(spec.typed_dims)]
    kinds += [pointer] * (len(spec.arguments) + len(spec.produced) + 1)
    c = Code(module, symbol, i32, kinds, exported=True)
    arguments = list(c.arguments)
    context = arguments.pop(0) if has_context else NULL
    known = constant_outputs(spec)
    sizes = [_index_bytes(spec, value) for value in known]
    is_small = sum(sizes) <= _ON_STACK
    memory = c.alloca(i8, sum(sizes)) if is_small else c.builder.call(sized(module, "malloc"), [number(sum(sizes))])
    if not is_small:
        c.ret_if(c.is_null(memory), status(Status.NO_MEMORY))
    first = len(spec.typed_dims) + len(spec.arguments)
    place = 0
    for value, size in zip(known, sizes, strict=True):
        k = first + [x.name for x in spec.produced].index(value.name)
        arguments[k] = _struct(c, spec, value, arguments[k], c.at(memory, place, 1))
        place += size
    found = c.builder.call(typed, [*[context] * spec.takes_context, *arguments])
    if not is_small:
        c.builder.call(function(module, "free", void, [pointer]), [memory])
    c.ret(found)


def _extents(spec: FunctionSpec, value: SparseValue) -> Sequence[int]:
    """The lengths of the indices and indptr of a sparse output."""
    return [int(spec.outputs[value.first + k].shape[0] or 0) for k in (2, 3)]


def _index_bytes(spec: FunctionSpec, value: SparseValue) -> int:
    """The size of a matrix's indices in bytes, rounded up to a multiple of 8."""
    return -(-sum(_extents(spec, value)) * DTYPE_SIZES[value.index_dtype] // 8) * 8


def _struct(c: Code, spec: FunctionSpec, value: SparseValue, data: Value, memory: Value) -> Value:
    """A local aotensor_sparse with the caller's values, and with `memory` for the indices."""
    entries, pointers = _extents(spec, value)
    made = c.structs(Sparse, number(1))
    c.clear(made, number(-(-c.size(Sparse) // 8)))
    c.put_field(made, Sparse, "data", data)
    c.put_field(made, Sparse, "indptr", memory)
    c.put_field(made, Sparse, "indices", c.at(memory, pointers, DTYPE_SIZES[value.index_dtype]))
    c.put_field(made, Sparse, "nnz", number(entries))
    return made
