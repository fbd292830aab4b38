"""Remarks of passes about an operation or a value, with its cost in bytes or floating-point operations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from xdsl.dialects import arith, func, memref, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    FixedBitwidthType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
)
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from aotensor.graph.passes.remarks import Kind, Note, Notes, Size, listener
from aotensor.ir.nest.ops import ProductOp, ValueOp


def applied(message: str, *subjects: object, size: Iterable[SSAValue] = (), flops: Sequence[object] = ()) -> None:
    """Record the remark that a pass has transformed an operation or a value.

    subjects: operations and values, rendered as source text, or other objects, shown unchanged; the first operation or
    value provides the location. size: tensors whose bytes are the cost. flops: factors of a number of operations:
    numbers, and extents as in `nest.extents`.
    """
    _note("applied", message, subjects, size, flops)


def missed(
    message: str, *subjects: object, size: Iterable[SSAValue] = (), flops: Sequence[object] = (), hint: str = ""
) -> None:
    """Record the remark that a pass did not transform a candidate.

    message: the reason; hint: what the user could change.
    """
    _note("missed", message, subjects, size, flops, hint)


def analysis(message: str, *subjects: object, size: Iterable[SSAValue] = (), flops: Sequence[object] = ()) -> None:
    """Record a remark on a fact that a pass has found, without a transformation."""
    _note("analysis", message, subjects, size, flops)


def are_enabled() -> bool:
    """Are remarks enabled? Passes ask this before they look for reasons, which takes time."""
    return listener() is not None


def _note(
    kind: Kind,
    message: str,
    subjects: Sequence[object],
    size: Iterable[SSAValue],
    flops: Sequence[object],
    hint: str = "",
) -> None:
    notes = listener()
    if notes is None:
        return
    about = next((x for x in subjects if isinstance(x, Operation | SSAValue)), None)
    function, name = _function_of(about), notes.function
    if function is not None:
        name, _, part = function.sym_name.data.partition(".")
        if part == "extents":  # a copy of the function's operations, as far as sizes need them
            return
    found = tuple(map(_location, subjects))
    work = _flops(notes, function, flops) if flops else ()
    notes.found.append(Note(notes.pass_name, kind, name, message, found, _bytes(notes, size), work, hint))


def _location(x: object) -> Any:
    """The source location of a subject, which remains valid after its operation is erased."""
    if isinstance(x, Operation):
        return x.location
    if isinstance(x, OpResult):
        return x.op.location
    return (x.name_hint or x.location) if isinstance(x, BlockArgument) else x


def _function_of(x: object) -> func.FuncOp | None:
    """The function that is or contains an operation or a value; faster than `parent_op`, since it is called often."""
    if isinstance(x, func.FuncOp):
        return x
    op: Operation | None = x if isinstance(x, Operation) else x.op if isinstance(x, OpResult) else None
    block = x.block if isinstance(x, BlockArgument) else None if op is None else op.parent
    while block is not None and block.parent is not None:
        op = block.parent.parent
        if op is None or isinstance(op, func.FuncOp):
            return op
        block = op.parent
    return None


# --- sizes -----------------------------------------------------------------------------------------------------------


def _flops(notes: Notes, function: func.FuncOp | None, factors: Sequence[object]) -> Size:
    """A product of numbers and extents as a number and names of dims; empty if a factor is not a product of dims."""
    number, names = 1, list[str]()
    for x in factors:
        found = _argument_dim(function, x) if isinstance(x, tuple) else _extent(notes, x)
        if found is None:
            return ()
        number *= x if isinstance(x, int) else 1
        names += found
    return ((number, tuple(names)),)


def _bytes(notes: Notes, tensors: Iterable[SSAValue]) -> Size:
    """The bytes of each tensor as (number, names of dims); empty if an extent is not a product of dims."""
    terms: list[tuple[int, tuple[str, ...]]] = []
    for x in tensors:
        found = _tensor_bytes(notes, x)
        if found is None:
            return ()
        terms.append(found)
    return tuple(terms)


def _tensor_bytes(notes: Notes, x: SSAValue) -> tuple[int, tuple[str, ...]] | None:
    kind = x.type
    if not isinstance(kind, TensorType | MemRefType):
        return None
    element = kind.element_type
    number = max(element.bitwidth // 8, 1) if isinstance(element, FixedBitwidthType) else 8
    names, position = tuple[str, ...](), 0
    for axis, n in enumerate(kind.get_shape()):
        if n != DYNAMIC_INDEX:
            number *= n
            continue
        extent = _size(notes, x, position, axis)
        if extent is None:
            return None
        names, position = (*names, *extent), position + 1
    return number, names


def _size(notes: Notes, x: SSAValue, position: int, axis: int) -> tuple[str, ...] | None:
    """The extent of a tensor's axis, dynamic extent number `position`, as names of dims; None if unknown."""
    owner = x.owner
    if isinstance(owner, GenericOp) and isinstance(x, OpResult):  # it has the shape of its output operand
        return _size(notes, owner.operands[x.index - len(owner.results)], position, axis)
    if isinstance(owner, ValueOp | memref.AllocOp | tensor.EmptyOp):  # their first operands
        return _extent(notes, owner.operands[position])
    if isinstance(owner, tensor.SplatOp):
        return _extent(notes, owner.operands[1 + position])
    if isinstance(owner, ProductOp):
        return _extent(notes, owner.operands[2 + axis])
    return _dim(x, axis)


def _extent(notes: Notes, x: object) -> tuple[str, ...] | None:
    """An extent as a product of dims: their names; None if it is anything else."""
    if isinstance(x, int):
        return ()
    if not isinstance(x, SSAValue):
        return None
    if x not in notes.sizes:
        notes.sizes[x] = _read_extent(notes, x)
    return notes.sizes[x]


def _read_extent(notes: Notes, x: SSAValue) -> tuple[str, ...] | None:
    match x.owner:
        case tensor.DimOp() | memref.DimOp():
            axis = x.owner.index.owner
            if isinstance(axis, arith.ConstantOp) and isinstance(axis.value, IntegerAttr):
                return _dim(x.owner.source, axis.value.value.data)
            return None
        case arith.ConstantOp() if isinstance(x.owner.value, IntegerAttr):
            return (str(x.owner.value.value.data),)
        case arith.MuliOp():
            parts = [_extent(notes, one) for one in x.owner.operands]
            return None if None in parts else tuple(n for part in parts for n in part or ())
        case _:
            return None


def _dim(x: SSAValue, axis: int) -> tuple[str, ...] | None:
    """The name of the dim of an argument's axis, or None."""
    return _argument_dim(_function_of(x), (x.index, axis)) if isinstance(x, BlockArgument) else None


def _argument_dim(function: func.FuncOp | None, dim: tuple[int, int]) -> tuple[str, ...] | None:
    """The name of a function's dim, which is given as (number of the argument, axis); None if it has none."""
    number, axis = dim
    if function is None or function.sym_visibility is not None:  # the body of a loop has separate names for dims
        return None
    table = function.attributes.get("dims")
    if not isinstance(table, ArrayAttr) or number >= len(table.data):
        return None
    name = table.data[number].data[axis]
    return (name.data,) if isinstance(name, StringAttr) and name.data else None
