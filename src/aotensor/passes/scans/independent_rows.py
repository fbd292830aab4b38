"""Find the values in the body of a scan whose rows are independent.

    %z = %h @ %U         row i of %z depends on row i of %h and on all of %U
    %s = sigmoid(%z)     row i of %s depends on row i of %z

A backward analysis from the results: row i of each may depend on row i of some arguments, and on others as a whole.
Then all steps can run for some rows before they run for others.
"""

from __future__ import annotations

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr

from aotensor.ir.dialect import CheckOp, ReshapeOp
from aotensor.ir.upstream import walk
from aotensor.passes.emit.buffers import returned_values
from aotensor.passes.nest.extents import Extents

_SIZED = (tensor.EmptyOp, tensor.SplatOp, tensor.InsertSliceOp, ReshapeOp)
"""Operations that have the number of rows as an extent."""


class Dependent(Exception):
    """Rows of the results are not independent: a row depends on another row, or on the number of rows.

    str(): the reason.
    """


class IndependentRows:
    """The values of a body with independent rows, and the extents of all values.

    Raises: Dependent if the rows of the results depend on each other.
    """

    def __init__(self, body: func.FuncOp) -> None:
        self.extents = Extents(body)
        self.values: set[SSAValue] = set()
        self.whole: set[SSAValue] = set()
        """Tensors that each row reads as a whole."""
        self._made: set[Operation] = set()
        self._pending: list[SSAValue] = []
        if any(isinstance(op, CheckOp) for op in walk(body)):
            raise Dependent("a step may fail")
        for x in returned_values(body):
            self._demand(x)
        while self._pending:
            self._look(self._pending.pop())
        self._check()

    def _demand(self, x: SSAValue) -> None:
        """Require that rows of x are independent; its operation is examined later. Raises: Dependent for a scalar."""
        if not isinstance(x.type, TensorType) or not x.type.get_shape():
            raise Dependent("a number goes from step to step")
        if x not in self.values:
            self.values.add(x)
            self._pending.append(x)

    def _look(self, x: SSAValue) -> None:
        op = x.owner
        if isinstance(op, Block):
            return
        self._made.add(op)
        match op:
            case tensor.EmptyOp() | tensor.SplatOp():
                pass
            case linalg.GenericOp():
                self._generic(op)
            case tensor.InsertSliceOp() if self._takes_all_rows(op):
                self._demand(op.source)
                self._demand(op.dest)
            case ReshapeOp() if self._first(op.source) == self._first(op.result):
                self._demand(op.source)
            case _:
                raise Dependent(f"{op.name} is not work on rows")

    def _first(self, x: SSAValue) -> object:
        shape = self.extents.shape(x)
        return shape[0] if shape else None

    def _takes_all_rows(self, op: tensor.InsertSliceOp) -> bool:
        """Does a slice insertion replace columns in all rows, so that it keeps rows independent?"""
        start, step = op.static_offsets.get_values()[0], op.static_strides.get_values()[0]
        same_rank = len(self.extents.shape(op.source)) == len(self.extents.shape(op.dest))
        return same_rank and (start, step) == (0, 1) and self._first(op.source) == self._first(op.dest)

    def _generic(self, op: linalg.GenericOp) -> None:
        maps = [m.data.results for m in op.indexing_maps]
        inputs = len(op.inputs)
        first = maps[inputs][0] if maps[inputs] else None
        if not isinstance(first, AffineDimExpr):
            raise Dependent("a result has no rows")
        row = first.position
        if op.iterator_types.data[row].data is not IteratorType.PARALLEL:
            raise Dependent("rows are added up")
        for x, results in zip(op.operands, maps, strict=True):
            axes = [axis for axis, e in enumerate(results) if row in e.used_dims()]
            if not axes:
                self.whole.add(x)
            elif axes == [0] and isinstance(results[0], AffineDimExpr):
                self._demand(x)
            else:
                raise Dependent("the number of a row is another index, too")
        if not all(maps[inputs + number] and maps[inputs + number][0] == first for number in range(len(op.results))):
            raise Dependent("a result has no rows")
        for result in op.results:
            self._demand(result)
        for inner in walk(op.body):
            if isinstance(inner, linalg.IndexOp) and inner.dim.value.data == row:
                self._reads_at(inner.result)
            self.whole |= {
                x for x in inner.operands
                if isinstance(x.type, TensorType) and not _is_read_by_rows(inner, row)
            }  # fmt: skip

    def _reads_at(self, number: SSAValue) -> None:
        """Check that a row number is only used as the first index of a load: in a chunk, rows are renumbered."""
        for use in number.uses:
            op = use.operation
            if not isinstance(op, tensor.ExtractOp) or use.index != 1:
                raise Dependent("the number of a row is computed with")
            self._demand(op.tensor)

    def _check(self) -> None:
        if len({self._first(x) for x in self.values}) > 1:
            raise Dependent("values differ in their numbers of rows")
        for x in self.values:
            if x in self.whole:
                raise Dependent("all rows of a value are read for each")
            for use in x.uses:
                self._check_use(use.operation)
        for x in self.whole:
            if isinstance(x.owner, Operation) and not isinstance(x.owner, arith.ConstantOp):
                raise Dependent("a value that is no row is computed in each step")

    def _check_use(self, op: Operation) -> None:
        while (parent := op.parent_op()) is not None and not isinstance(parent, func.FuncOp):
            op = parent
        if isinstance(op, tensor.DimOp):
            axis = self.extents.key(op.index)
            if axis == 0 and not all(isinstance(use.operation, _SIZED) for use in op.result.uses):
                raise Dependent("the number of rows is computed with")
        elif op not in self._made and not isinstance(op, func.ReturnOp):
            raise Dependent(f"{op.name} reads rows")


def _is_read_by_rows(op: Operation, row: int) -> bool:
    if not isinstance(op, tensor.ExtractOp) or not op.indices:
        return False
    first = op.indices[0].owner
    return isinstance(first, linalg.IndexOp) and first.dim.value.data == row


def argument_number(x: SSAValue) -> int | None:
    """The number of the body's argument that x is; None for any other value."""
    return x.index if isinstance(x, BlockArgument) else None
