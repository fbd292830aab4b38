"""The checking build: check every access of a kernel against the extents of its buffer, and of its parent buffer.

    %v = memref.load %x[%i]    →    %v = scf.if %inside { memref.load %x[%i] } else { note it in %detail; 0 }

An access out of bounds is skipped; the kernel continues and returns the number of the bounds check at the end. This
finds bugs of the compiler, and of the kernels of users' ops: each line of these with accesses has its own number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Final, TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import FileLineColLoc, MemRefType, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from aotensor.ir.index_builder import Extent
from aotensor.ir.location import KERNEL, builder_before
from aotensor.ir.loop_builder import LoopBuilder, origin
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.upstream import walk

if TYPE_CHECKING:
    from aotensor_runtime.manifest import FunctionSpec

MESSAGE: Final = "an access at {found} lies outside of a buffer of extent {expected}: this is a bug of aotensor"
IN_KERNEL: Final = "an access at {found} lies outside of an array of extent {expected}"
_FLAG: Final = 2  # the word of `detail` that records the number of the check of an access out of bounds

Line: TypeAlias = "tuple[str, int] | None"
"""A line of the kernel of a user's op; None for code of the compiler."""


def check_bounds(module: ModuleOp, numbers: Mapping[str, Mapping[Line, int]]) -> None:
    """Guard the accesses of every kernel.   numbers: function name → line → number of its bounds check."""
    for name, function in _kernels(module).items():
        _guard(function, numbers[name])


def has_bounds_checks(spec: FunctionSpec) -> bool:
    """Does a function check every access, so that it belongs to a checking build?"""
    return any(check.kind == "index" and check.message.endswith(MESSAGE) for check in spec.checks)


def lines_with_accesses(module: ModuleOp) -> dict[str, list[tuple[str, int]]]:
    """Function name → the lines of users' kernels that access arrays."""
    return {
        name: sorted({x for op in _accesses(function) if (x := _line_of(op)) is not None})
        for name, function in _kernels(module).items()
    }


def _kernels(module: ModuleOp) -> dict[str, func.FuncOp]:
    functions = [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]
    return {x.sym_name.data.removesuffix(".kernel"): x for x in functions if x.sym_name.data.endswith(".kernel")}


def _accesses(kernel: func.FuncOp) -> list[memref.LoadOp | memref.StoreOp]:
    detail = kernel.body.block.args[-2]
    found = (op for op in walk(kernel) if isinstance(op, memref.LoadOp | memref.StoreOp))
    return [op for op in found if op.memref is not detail and op.indices]


def _line_of(op: Operation) -> Line:
    where = op.location
    if isinstance(where, FileLineColLoc) and where.column.data == KERNEL:
        return where.filename.data, where.line.data
    return None


def _guard(kernel: func.FuncOp, numbers: Mapping[Line, int]) -> None:
    block = kernel.body.block
    detail = block.args[-2]
    for op in _accesses(kernel):
        _guard_access(op, detail, numbers[_line_of(op)])
    terminator, first = block.last_op, block.first_op
    assert terminator is not None and first is not None
    b = LoopBuilder(Builder(InsertPoint.before(first)))
    b.store(b.constant(0, "int64"), detail, [_FLAG])
    b = LoopBuilder(Builder(InsertPoint.before(terminator)))
    number = b.fetch(detail, [_FLAG], "int64")
    outside = b.compare("ne", number, b.constant(0, "int64"))
    status = Scalar(terminator.operands[0], "int32")
    terminator.operands[0] = b.select(outside, b.cast(number, "int32"), status).ssa


def _guard_access(op: memref.LoadOp | memref.StoreOp, detail: SSAValue, number: int) -> None:
    b = LoopBuilder(builder_before(op))
    inside: Scalar | None = None
    worst, extent = b.index(0), b.index(0)
    with b.active():
        for i, n in _limits(b, op):
            within = (i >= 0) & (i < n)
            worst, extent = b.select(within, worst, i), b.select(within, extent, n)
            inside = within if inside is None else inside & within
    assert inside is not None

    def note() -> None:
        for word, value in enumerate((b.cast(worst, "int64"), b.cast(extent, "int64"), b.constant(number, "int64"))):
            b.store(value, detail, [word])

    def access() -> Sequence[Scalar]:
        copy = op.clone()
        b.builder.insert(copy)
        return [Scalar(r, "raw") for r in copy.results]

    def refuse() -> Sequence[Scalar]:
        note()
        return [b.zero(op.results[0].type)] if op.results else []

    results = b.branch(inside, access, refuse)
    for old, new in zip(op.results, results, strict=True):
        old.replace_all_uses_with(new.ssa)
    Rewriter.erase_op(op)


def _limits(b: LoopBuilder, op: memref.LoadOp | memref.StoreOp) -> Iterator[tuple[Scalar, Scalar]]:
    """Yield pairs (number, exclusive bound) to check: each index, and the element's offset in the parent buffer."""
    offset: Extent = 0
    for axis, index in enumerate(op.indices):
        i, n = Scalar(index, "index"), b.extent_of(op.memref, axis)
        offset = offset * n + i
        yield i, b.index(n)
    start, size = _whole(b, op.memref)
    if start is not None:
        yield b.index(start + offset), b.index(size)


def _whole(b: LoopBuilder, buffer: SSAValue) -> tuple[Extent | None, Extent]:
    """(start, size): the offset of a row in its parent buffer, and the parent's size in elements.

    start is None for a buffer that is not part of another one.
    """
    choice = buffer.owner
    if isinstance(choice, arith.SelectOp):
        sides = [_whole(b, x) for x in (choice.lhs, choice.rhs)]
        condition = Scalar(choice.cond, "bool")
        starts, sizes = ([b.index(side[k] or 0) for side in sides] for k in (0, 1))
        return b.select(condition, *starts), b.select(condition, *sizes)
    root, start = origin(buffer)
    assert isinstance(root.type, MemRefType)
    size: Extent = prod(b.extent_of(root, axis) for axis in range(len(root.type.get_shape())))
    return (start if root is not buffer else None), size
