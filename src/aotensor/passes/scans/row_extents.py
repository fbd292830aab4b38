"""Give the rows of a body a separate dim, if other axes have the same extent.

    body(%h: [n, n], %x: [n])                             body(%h: [rows, n], %x: [n])
      %n = tensor.dim %h, 0                         →       %rows = tensor.dim %h, 0;  %n = tensor.dim %x, 0
      %y = tensor.empty(%n, %n)                             %y = tensor.empty(%rows, %n)

Equal extents have one name and one value. The number of rows in a chunk differs from that of columns of a square
matrix, or of a tensor that each row reads as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from xdsl.builder import Builder
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IndexType, IntegerAttr, StringAttr, TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from aotensor.ir.dialect import ReshapeOp
from aotensor.passes.nest.extents import ExtentKey, Extents
from aotensor.passes.scans.independent_rows import Dependent, IndependentRows

_ROWS: Final = "rows"


def is_row_extent_unique(body: func.FuncOp, rows: IndependentRows) -> bool:
    """Is the number of rows static, or are row axes the only axes of that extent?"""
    (key,) = {rows.extents.shape(x)[0] for x in rows.values}
    return isinstance(key, int) or not any(True for _ in _others(body, rows, key))


def separate_rows(body: func.FuncOp, rows: IndependentRows) -> None:
    """Give the rows of a body a separate dim; all loops with this body must be tiled alike.

    Raises: Dependent if ambiguous.
    """
    (key,) = {rows.extents.shape(x)[0] for x in rows.values}
    other, axis = next(_others(body, rows, key))
    first = body.body.block.first_op
    assert first is not None
    top = Builder(InsertPoint.before(first))

    def extent(x: SSAValue, axis: int) -> SSAValue:
        number = top.insert(arith.ConstantOp(IntegerAttr(axis, IndexType()))).result
        return top.insert(tensor.DimOp(x, number)).result

    argument = next(x for x in body.body.block.args if x in rows.values)
    count, whole = extent(argument, 0), extent(other, axis)
    _rename(body, rows)
    extents = Extents(body)
    of_rows = extents.key(count)
    for op in list(body.body.block.ops):
        for x, places in _sizes(op):
            for number, place in enumerate(places):
                is_count = extents.key(op.operands[place]) == of_rows
                if number == 0 and x in rows.values:
                    op.operands[place] = count
                elif is_count:
                    op.operands[place] = whole
    found = Extents(body)
    if any(of_rows in found.shape(x)[x in rows.values :] for x in _tensors(body)):
        raise Dependent("the number of rows is another extent, too")


def _others(body: func.FuncOp, rows: IndependentRows, key: ExtentKey) -> Iterator[tuple[BlockArgument, int]]:
    """The (argument, axis) pairs that have the extent of the rows but are not row axes."""
    for x in body.body.block.args:
        if isinstance(x.type, TensorType):
            for axis, n in enumerate(rows.extents.shape(x)):
                if n == key and (axis or x not in rows.values):
                    yield x, axis


def _rename(body: func.FuncOp, rows: IndependentRows) -> None:
    """Rename the dim of rows in all arguments that have it."""
    names = body.attributes["dims"]
    assert isinstance(names, ArrayAttr)
    table = [list(row.data) for row in names.data]
    taken = {name.data for row in table for name in row}
    new = next(name for name in (_ROWS, *(f"{_ROWS}_{k}" for k in range(len(taken) + 1))) if name not in taken)
    for x, row in zip(body.body.block.args, table, strict=True):
        if x in rows.values:
            row[0] = StringAttr(new)
    body.attributes["dims"] = ArrayAttr(ArrayAttr(row) for row in table)


def _sizes(op: Operation) -> Iterator[tuple[SSAValue, list[int]]]:
    """Yield the tensor of an operation whose extents are operands, with the numbers of these operands."""
    match op:
        case tensor.EmptyOp() | tensor.SplatOp() | ReshapeOp():
            result = op.results[0]
            assert isinstance(result.type, TensorType)
            count = result.type.get_shape().count(DYNAMIC_INDEX)
            yield result, list(range(len(op.operands) - count, len(op.operands)))
        case tensor.InsertSliceOp():
            first = len(op.operands) - len(op.strides) - len(op.sizes)
            yield op.source, list(range(first, first + len(op.sizes)))


def _tensors(body: func.FuncOp) -> Iterator[SSAValue]:
    for op in body.body.block.ops:
        yield from (x for x in (*op.operands, *op.results) if isinstance(x.type, TensorType))
