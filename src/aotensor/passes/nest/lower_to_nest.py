"""Lower tensor level to nest level: every elementwise or reducing operation becomes loops around a statement.

    %z = linalg.generic … ins(%X, %w) outs(%fill)     →     %z = nest.value[%n] init %zero
                                                            nest.for %i in %n {
                                                              nest.for %k in %p {
                                                                nest.do(%x = %X[%i, %k], …) -> (%s = %z[%i]) { … } } }

One nest for each operation, with its dims in their order; equal extents are one SSA value, so that later passes compare
them by identity. Matrix products that have a library kernel become `nest.product`; other operations are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import IndexType, ModuleOp, TensorType, UnitAttr
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from aotensor.ir.context import functions_of
from aotensor.ir.dialect_sparse import ExpandSlicesOp, ProductAtOp, SegmentSumOp, SumAtOp
from aotensor.ir.extents import pin_rounding
from aotensor.ir.forms import TENSOR_FORM
from aotensor.ir.location import locate
from aotensor.ir.nest.loops import EntriesOp, ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp, ProductOp, ValueOp, YieldOp
from aotensor.ir.nest.syntax import Subscript
from aotensor.ir.scalar_builder import RAW, Scalar, ScalarBuilder
from aotensor.passes.nest.extents import ExtentKey, Extents, ExtentValues
from aotensor.passes.products.contraction import is_library_product, matrix_product
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied, are_enabled, missed
from aotensor.passes.windows.assemblies import assemblies, position_of

LoopMaker: TypeAlias = Callable[[Sequence[SSAValue], Block], LoopOp]
"""(counters of the enclosing loops, body) → a loop"""


@ir_pass(
    "lower-to-nest",
    level="nest",
    topic="products",
    needed="it makes the nests that all later passes rewrite",
    needs=TENSOR_FORM,
)
def lower_to_nest(module: ModuleOp) -> None:
    """Turns every generic into a perfect nest around one statement, with a value for its result; large matrix
    products become `nest.product`.
    """
    for function in functions_of(module):
        _Lowering(function).run()


class _Lowering:
    """The lowering of one function from tensor level to nest level."""

    def __init__(self, function: func.FuncOp) -> None:
        self.block = function.body.block
        self.extents = Extents(function)
        self.pinned = _pin_rounding(function, self.extents)
        self.index = ExtentValues(function, self.extents).value_of

    def run(self) -> None:
        parts = assemblies(self.block.ops, self.extents)
        for op in list(self.block.ops):
            match op:
                case tensor.InsertSliceOp() if op in parts:
                    self._part(op, parts[op])
                case linalg.GenericOp() if is_library_product(op):
                    self._product(op)
                case linalg.GenericOp():
                    self._report_small(op)
                    self._generic(op)
                case SegmentSumOp() | ExpandSlicesOp():
                    self._on_slices(op)
                case SumAtOp():
                    self._scattered(op)
                case ProductAtOp():
                    applied("{} calls the matrix product kernel, which packs its operands", op)
                case _:
                    pass
        for op in reversed(list(self.block.ops)):
            if isinstance(op, tensor.EmptyOp | tensor.SplatOp):
                self._declare(op)

    def value(self, x: SSAValue, init: SSAValue | None, before: Operation) -> SSAValue:
        """Declare the nest value of an operation's result before the operation.

        init: the number that it starts with, or None.
        """
        assert isinstance(x.type, TensorType)
        shape = zip(x.type.get_shape(), self.extents.shape(x), strict=True)
        sizes = [self.index(key) for n, key in shape if n < 0]
        made = ValueOp(sizes, x.type, init)
        made.location = before.location
        made.result.name_hint = x.name_hint
        self.block.insert_op_before(made, before)
        self.extents.replace(x, made.result)
        return made.result

    # --- operations ----------------------------------------------------------------------------------------------

    def _generic(self, op: linalg.GenericOp) -> None:
        maps = [m.data for m in op.indexing_maps]
        operands, count = [*op.inputs, *op.outputs], len(op.inputs)
        extents = [_extent(self.extents, operands, maps, count, d) for d in range(maps[0].num_dims)]
        loops = [None if n == 1 else self._loop_maker(n) for n in extents]
        if not any(loops) and loops:
            loops[-1] = self._loop_maker(1)

        def accesses(counters: Sequence[Subscript]) -> list[Sequence[Subscript]]:
            return [[_subscript(e, counters) for e in m.results] for m in maps]

        results = [self.value(x, _start(y), op) for x, y in zip(op.results, op.outputs, strict=True)]
        self._nest(op, op.inputs, results, loops, accesses, op.body.detach_block(0))

    def _on_slices(self, op: SegmentSumOp | ExpandSlicesOp) -> None:
        """Lower to loops over (slice, entry, other axes): one operand is indexed by slice, the other by entry."""
        is_sum = isinstance(op, SegmentSumOp)
        start, slices = (op.init, op.result) if isinstance(op, SegmentSumOp) else (op.into, op.source)
        behind = self.extents.shape(op.result)[1:]
        loops: list[LoopMaker] = [self._loop_maker(self.extents.shape(slices)[0])]
        loops.append(lambda counters, body: EntriesOp(counters[0], op.indptr, body))
        loops += [self._loop_maker(n) for n in behind]

        def accesses(counters: Sequence[Subscript]) -> list[Sequence[Subscript]]:
            by_slice, by_entry = [counters[0], *counters[2:]], [counters[1], *counters[2:]]
            return [by_entry, by_slice] if is_sum else [by_slice, by_entry]

        body = _adding(op, 1) if isinstance(op, SegmentSumOp) else _identity_body(op)
        self._nest(op, [op.source], [self.value(op.result, _start(start), op)], loops, accesses, body)

    def _scattered(self, op: SumAtOp) -> None:
        loops: list[LoopMaker] = [self._loop_maker(n) for n in self.extents.shape(op.source)]

        def accesses(counters: Sequence[Subscript]) -> list[Sequence[Subscript]]:
            return [counters, counters[:1], [0, *counters[1:]]]

        results = [self.value(op.result, _start(op.init), op)]
        self._nest(op, [op.source, op.indices], results, loops, accesses, _adding(op, 2), scatter=1)

    def _part(self, op: tensor.InsertSliceOp, axis: int) -> None:
        """Lower the insertion of a slice to a copy; all parts of an assembled tensor are written to one value."""
        is_first = isinstance(op.dest.owner, tensor.EmptyOp)
        whole = self.value(op.result, None, op) if is_first else op.dest
        others = [n for other, n in enumerate(self.extents.shape(op.source)) if other != axis]
        loops = [self._loop_maker(n) for n in others or (1,)]  # elements of a vector are stored in a loop each

        def accesses(counters: Sequence[Subscript]) -> list[Sequence[Subscript]]:
            counters = counters[: len(others)]
            return [[*counters[:axis], n, *counters[axis:]] for n in (0, position_of(op, axis))]

        self._nest(op, [op.source], [whole], loops, accesses, _identity_body(op))

    def _nest(
        self,
        op: Operation,
        inputs: Sequence[SSAValue],
        results: Sequence[SSAValue],
        axes: Sequence[LoopMaker | None],
        accesses: Callable[[Sequence[Subscript]], list[Sequence[Subscript]]],
        body: Block,
        scatter: int | None = None,
    ) -> None:
        """Replace an operation by loops around a statement that writes to `results`.

        axes: None for an axis of extent 1, which needs no loop
        """
        loops = [loop for loop in axes if loop is not None]
        blocks = [Block(arg_types=[IndexType()]) for _ in loops]
        counters = [block.args[0] for block in blocks]
        counter = iter(counters)
        along: list[Subscript] = [0 if loop is None else next(counter) for loop in axes]
        _use_counters(body, [self.index(i) if isinstance(i, int) else i for i in along])
        subscripts = accesses(along)
        operands = [*zip([*inputs, *results], subscripts, strict=True)]
        statement = DoOp(operands[: len(inputs)], operands[len(inputs) :], Region(body), scatter)
        blocks[-1].add_op(statement)
        statement.location = op.location
        if isinstance(op, linalg.GenericOp) and body.last_op is not None:
            body.last_op.location = op.location  # the operations before it keep their location
        else:
            locate(statement, op.location)
        for depth in reversed(range(len(loops))):
            loop = loops[depth](counters, blocks[depth])
            loop.location = op.location
            if depth:
                blocks[depth - 1].add_op(loop)
            else:
                self.block.insert_op_before(loop, op)
        Rewriter.replace_op(op, [], results)

    def _loop_maker(self, key: ExtentKey) -> LoopMaker:
        extent = self.index(key)
        return lambda _, body: ForOp(extent, body)

    def _product(self, op: linalg.GenericOp) -> None:
        product = matrix_product(op)
        assert product is not None
        (result,) = op.results
        assert isinstance(result.type, TensorType)
        sizes = [self.index(n) for n in self.extents.shape(result)]
        made = ProductOp.create(
            operands=[product.a, product.b, *sizes],
            result_types=[result.type],
            properties={
                name: UnitAttr()
                for name, flag in (
                    ("transpose_a", product.transpose_a),
                    ("transpose_b", product.transpose_b),
                    ("pinned", op in self.pinned),
                )
                if flag
            },
        )
        made.location = op.location
        applied("{} calls the matrix product kernel, or BLAS", op, flops=self._work(op))
        self.extents.replace(result, made.result)
        Rewriter.replace_op(op, made)

    def _report_small(self, op: linalg.GenericOp) -> None:
        is_update = len(op.body.block.args) == 3 and bool(op.body.block.args[2].uses)
        if is_update and are_enabled() and matrix_product(op) is not None:
            missed(
                "{} does not call BLAS: loops are faster at this static size",
                op,
                flops=self._work(op),
                hint="give larger extents, or dynamic ones",
            )

    def _work(self, op: linalg.GenericOp) -> list[object]:
        """The factors of a product's flop count, for remarks; empty if remarks are off."""
        if not are_enabled():
            return []
        maps = [m.data for m in op.indexing_maps]
        operands = [*op.inputs, *op.outputs]
        keys = [_extent(self.extents, operands, maps, len(op.inputs), d) for d in range(3)]
        return [2, *keys]

    def _declare(self, op: tensor.EmptyOp | tensor.SplatOp) -> None:
        """Lower an empty or filled tensor to a declaration, unless it only provides the initial value of a result."""
        (result,) = op.results
        if result.uses:
            init = op.input if isinstance(op, tensor.SplatOp) else None
            Rewriter.replace_op(op, [], [self.value(result, init, op)])
        else:
            Rewriter.erase_op(op)


def _pin_rounding(function: func.FuncOp, extents: Extents) -> set[Operation]:
    """Disable reassociation in computed extents of outputs, so that the kernel and `@f.extents` round them alike."""
    returned = function.body.block.last_op
    assert returned is not None
    if function.sym_name.data.endswith(".extents"):
        return pin_rounding(function.body.block, returned.operands)
    if "sizes_check" not in function.attributes:
        return set()
    keys = [n for x in returned.operands if isinstance(x.type, TensorType) for n in extents.shape(x)]
    return pin_rounding(function.body.block, [n for n in keys if isinstance(n, SSAValue)])


def _extent(
    extents: Extents, operands: Sequence[SSAValue], maps: Sequence[AffineMap], inputs: int, dim: int
) -> ExtentKey:
    """The extent of a loop dim, from the first operand that it indexes; outputs are searched before inputs."""
    for x, m in [*zip(operands, maps, strict=True)][inputs:] + [*zip(operands, maps, strict=True)][:inputs]:
        for axis, expression in enumerate(m.results):
            if isinstance(expression, AffineDimExpr) and expression.position == dim:
                return extents.shape(x)[axis]
    raise AssertionError(f"dim {dim} indexes no operand")


def _subscript(expression: AffineExpr, counters: Sequence[Subscript]) -> Subscript:
    if isinstance(expression, AffineDimExpr):
        return counters[expression.position]
    assert isinstance(expression, AffineConstantExpr), f"{expression} is not a projected permutation"
    return expression.value


def _start(x: SSAValue) -> SSAValue | None:
    """The number that a result starts with; None if it is written without accumulation."""
    return x.owner.input if isinstance(x.owner, tensor.SplatOp) else None


def _use_counters(body: Block, counters: Sequence[SSAValue]) -> None:
    """Replace `linalg.index` by loop counters, and the terminator of the body by `nest.yield`."""
    for op in list(body.ops):
        if isinstance(op, linalg.IndexOp):
            Rewriter.replace_op(op, [], [counters[op.dim.value.data]])
        elif isinstance(op, linalg.YieldOp):
            Rewriter.replace_op(op, YieldOp(*op.operands))


def _adding(op: SegmentSumOp | SumAtOp, inputs: int) -> Block:
    """A statement body that returns accumulator + first input."""
    assert isinstance(op.source.type, TensorType)
    element = op.source.type.element_type
    types = [element] * (inputs + 1)
    if isinstance(op, SumAtOp):
        assert isinstance(op.indices.type, TensorType)
        types[1] = op.indices.type.element_type
    block = Block(arg_types=types)
    value, accumulator = block.args[0], block.args[-1]
    with ScalarBuilder(Builder(InsertPoint.at_end(block)), op.fastmath).active():
        total = Scalar(accumulator, RAW) + Scalar(value, RAW)
    block.add_op(YieldOp(total.ssa))
    return block


def _identity_body(op: ExpandSlicesOp | tensor.InsertSliceOp) -> Block:
    """A statement body that returns its first input."""
    assert isinstance(op.source.type, TensorType)
    block = Block(arg_types=[op.source.type.element_type] * 2)
    block.add_op(YieldOp(block.args[0]))
    return block
