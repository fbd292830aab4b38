"""Inline slice insertions: replace the copy of a window into a tensor by a generic that selects window or tensor.

    %t = tensor.insert_slice %v into %x[%a] [%n] [1]     →     %t = linalg.generic ins(%x) {
                                                                 %k = linalg.index 0 - %a
                                                                 aot.extract_if %k < %n, %v[%k], %in
                                                               }

Readers of the result iterate over the same elements and share the loop: a sum of windows of zeros, as in gradients of
stencils, is one sweep. The window is copied into the tensor instead, as before, if that is not needed any more and the
window is small, or its content must be in memory anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from xdsl.builder import Builder
from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, IntegerAttr, ModuleOp, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from aotensor.ir.context import functions_of
from aotensor.ir.dialect import ExtractIfOp
from aotensor.ir.location import builder_before
from aotensor.ir.scalar_builder import RAW, Scalar, ScalarBuilder
from aotensor.passes.nest.extents import ExtentKey, Extents, ExtentValues
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied, missed
from aotensor.passes.windows.assemblies import assemblies
from aotensor.passes.windows.inline_producers import can_be_inlined

_TYPICAL: Final = 1 << 12
"""Assumed value of an unknown extent."""
_PROBED: Final[Mapping[type[Operation], Callable[..., int]]] = {
    arith.AddiOp: int.__add__, arith.SubiOp: int.__sub__, arith.MaxSIOp: max, arith.MinSIOp: min,
}  # fmt: skip
_LARGE: Final = 0.5
"""Smallest share of a tensor that counts as a large window."""


@ir_pass("inline-slices", level="tensor", topic="loops", former="read-windows")
def inline_slices(module: ModuleOp) -> None:
    """Replaces a tensor with one overwritten window (`tensor.insert_slice`) by a generic that reads the window or
    the rest, where this saves a copy or lets readers share the loop: gradients of stencils become one sweep.
    """
    for function in functions_of(module):
        inserts = [op for op in function.body.block.ops if isinstance(op, tensor.InsertSliceOp)]
        if inserts:
            windows = _Windows(function)
            parts = assemblies(inserts, windows.extents)
            for op in inserts:
                if op not in parts:  # the loops that compute them store them there
                    windows.visit(op)


class _Axis(NamedTuple):
    """The start and extent of a window along one axis; start is None if the window covers the axis."""

    start: SSAValue | None
    extent: SSAValue | None


class _Windows:
    """The slice insertions of one function, and the decision to inline them."""

    def __init__(self, function: func.FuncOp) -> None:
        self.function = function
        self.extents = Extents(function)
        self.index = ExtentValues(function, self.extents).value_of
        self.probed: dict[SSAValue, int] = {}
        self.position = {op: number for number, op in enumerate(function.body.block.ops)}

    def visit(self, op: tensor.InsertSliceOp) -> None:
        """Inline a slice insertion where it pays."""
        if any(step != 1 for step in op.static_strides.get_values()) or isinstance(op.dest.owner, tensor.EmptyOp):
            return
        fill = fill_of(op.dest)
        is_kept = fill is None and not self._is_overwritable(op)
        is_large = self._part(op) >= _LARGE
        is_read = any(isinstance(use.operation, linalg.GenericOp) for use in op.result.uses)
        if is_kept or (is_large and (fill is not None or _is_computed_there(op))) or (fill is not None and is_read):
            applied("computed {} elementwise, inside and outside of the window, without a copy", op, size=[op.result])
            self._replace(op, fill)
        else:
            missed(
                "copy {} into a window kept: no other operation reads the values that it replaces",
                op,
                size=[op.source],
                hint="no change needed: one copy costs less than a condition per element",
            )

    def _is_overwritable(self, op: tensor.InsertSliceOp) -> bool:
        """May the tensor's memory be overwritten: is it not an argument, and are the only other reads those of single
        elements before the insertion?
        """
        x = op.dest
        if isinstance(x, BlockArgument) or isinstance(x.owner, arith.ConstantOp):
            return False
        return all(use.operation is op or self._is_read_before(op, use.operation) for use in x.uses)

    def _is_read_before(self, op: Operation, reader: Operation) -> bool:
        """Does `reader` load one element, before `op`? It does not if it is in the body of another operation."""
        position = self.position.get(reader)
        return isinstance(reader, tensor.ExtractOp) and position is not None and position < self.position[op]

    # --- sizes ---------------------------------------------------------------------------------------------------

    def _part(self, op: tensor.InsertSliceOp) -> float:
        """The share of the tensor's elements that the window covers, for typical extents."""
        part = 1.0
        sizes = zip(self.extents.shape(op.source), self.extents.shape(op.dest), strict=True)
        for inner, outer in sizes:
            if inner != outer:
                part *= self._probe(inner) / max(self._probe(outer), 1)
        return part

    def _probe(self, n: ExtentKey) -> int:
        """An extent, evaluated for typical dims; 0 if it depends on values."""
        if not isinstance(n, SSAValue):
            return n if isinstance(n, int) else _TYPICAL
        if n not in self.probed:
            self.probed[n] = self._compute(n)
        return self.probed[n]

    def _compute(self, n: SSAValue) -> int:
        match n.owner:
            case arith.ConstantOp(value=IntegerAttr() as literal):
                return int(literal.value.data)
            case tensor.DimOp():
                return _TYPICAL
            case arith.AddiOp() | arith.SubiOp() | arith.MaxSIOp() | arith.MinSIOp() as op:
                return _PROBED[type(op)](*map(self._probe, op.operands))
            case _:
                return 0

    # --- the generic ---------------------------------------------------------------------------------------------

    def _replace(self, op: tensor.InsertSliceOp, fill: SSAValue | None) -> None:
        b = builder_before(op)
        kind = op.result.type
        assert isinstance(kind, TensorType)
        rank = len(kind.get_shape())
        shape = self.extents.shape(op.dest)
        sizes = [self.index(n) for n, known in zip(shape, kind.get_shape(), strict=True) if known == DYNAMIC_INDEX]
        axes = [self._axis(op, axis) for axis in range(rank)]
        inputs = [] if fill is not None else [op.dest]
        body = Block(arg_types=[kind.element_type] * (len(inputs) + 1))
        outside = body.args[0] if fill is None else fill
        inner = Builder(InsertPoint.at_end(body))
        with ScalarBuilder(inner).active() as s:
            where, condition = _position(s, axes)
        scalar = fill_of(op.source)
        if condition is None:
            value: SSAValue = inner.insert(tensor.ExtractOp(op.source, where, kind.element_type)).result
        elif scalar is not None:
            value = s.select(condition, Scalar(scalar, RAW), Scalar(outside, RAW)).ssa
        else:
            value = inner.insert(ExtractIfOp(condition.ssa, op.source, where, outside)).result
        inner.insert(linalg.YieldOp(value))
        for one in body.ops:
            one.location = op.location
        empty = b.insert(tensor.EmptyOp(sizes, kind)).tensor
        maps = [AffineMapAttr(AffineMap.identity(rank))] * (len(inputs) + 1)
        parallel = [IteratorTypeAttr(IteratorType.PARALLEL)] * rank
        generic = linalg.GenericOp(inputs, [empty], Region(body), maps, parallel, [kind])
        generic.location = op.location
        generic.results[0].name_hint = op.result.name_hint
        self.extents.replace(op.result, generic.results[0])
        Rewriter.replace_op(op, generic)

    def _axis(self, op: tensor.InsertSliceOp, axis: int) -> _Axis:
        starts, extents = iter(op.offsets), self.extents.shape(op.source)
        found = [next(starts) if n == DYNAMIC_INDEX else n for n in op.static_offsets.get_values()]
        if extents[axis] == self.extents.shape(op.dest)[axis]:  # it is inside, so it begins at 0
            return _Axis(None, None)
        return _Axis(self.index(found[axis]), self.index(extents[axis]))


def _position(b: ScalarBuilder, axes: Sequence[_Axis]) -> tuple[list[SSAValue], Scalar | None]:
    """The current element's position in a window, and the condition that it is inside; None if it always is."""
    where: list[SSAValue] = []
    condition: Scalar | None = None
    for number, axis in enumerate(axes):
        at = b.emit(linalg.IndexOp(number), "index")
        if axis.start is not None and axis.extent is not None:
            if not _is_zero(axis.start):
                at -= Scalar(axis.start, "index")
            inside = b.below(at, Scalar(axis.extent, "index"))  # indices below the start wrap
            condition = inside if condition is None else condition & inside
        where.append(at.ssa)
    return where, condition


def _is_zero(x: SSAValue) -> bool:
    op = x.owner
    return isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr) and op.value.value.data == 0


def fill_of(x: SSAValue) -> SSAValue | None:
    """The number that all elements of a filled tensor equal; None for any other tensor."""
    op = x.owner
    if isinstance(op, tensor.SplatOp):
        return op.input
    if not isinstance(op, linalg.GenericOp) or op.inputs or len(op.results) != 1:
        return None
    assert op.body.block.last_op is not None
    value = op.body.block.last_op.operands[0]
    owner = value.block if isinstance(value, BlockArgument) else value.owner.parent
    return value if owner is not op.body.block else None


def _is_computed_there(op: tensor.InsertSliceOp) -> bool:
    """Can the content of a window be computed where it is used, without a buffer?"""
    return fill_of(op.source) is not None or (op.source.has_one_use() and can_be_inlined(op.source))
