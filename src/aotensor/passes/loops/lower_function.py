"""One function of tensors over buffers: decide what fuses and where values live, then emit it at one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    ModuleOp,
    TensorType,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import BlockArgument, Operation, SSAValue

from aotensor.ir.dialect import CheckOp, CumulateOp, LapackOp, NonzeroOp, RecurOp, ReshapeOp, ScatterOp, SortOp
from aotensor.ir.dialect_control import BranchOp, ScanOp
from aotensor.ir.dialect_sparse import PatternOp
from aotensor.ir.extents import follow_from_arguments, pin_rounding
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.verbs import Extent
from aotensor.passes.lapack.lower import lower_lapack
from aotensor.passes.loops.block_rows import block_rows
from aotensor.passes.loops.collapse import Buffers
from aotensor.passes.loops.contraction import matrix_product
from aotensor.passes.loops.fuse_loops import Leaf, Loop, Node, Plain, fuse_loops
from aotensor.passes.loops.group_checks import all_hold, first_failure, group_length
from aotensor.passes.loops.lower_control import can_fail, lower_branch, lower_scan
from aotensor.passes.loops.lower_library import constant_buffer, lower_product, no_blas
from aotensor.passes.loops.lower_nest import Instance, NestEmitter
from aotensor.passes.loops.lower_window import (
    lower_cumulate,
    lower_insert,
    lower_nonzero,
    lower_recur,
    lower_scatter,
    lower_sort,
)
from aotensor.passes.loops.patterns.lower_patterns import lower_pattern
from aotensor.passes.loops.statements import ExtentKey, Extents
from aotensor.passes.loops.storage import Storage, plan_storage
from aotensor.passes.target import Target


@dataclass(frozen=True)
class Outside:
    """What all functions of one kernel share: the module, the functions that it calls, where errors are written, BLAS.

    target: facts of the machine.
    """

    module: ModuleOp
    called: Mapping[str, func.FuncOp]
    detail: SSAValue
    blas: SSAValue
    target: Target


class FunctionLowering(Buffers):
    """Emits the loops of one function: a kernel, or the body of a loop or branch inside of one.

    arguments: a buffer for each tensor and for each scalar of a kernel; a Scalar for each scalar of a body.
    outputs: a buffer for each result, None for a scalar that a body hands back; in `.extents` the one for all.
    """

    def __init__(
        self,
        outside: Outside,
        function: func.FuncOp,
        b: LoopBuilder,
        arguments: Sequence[SSAValue | Scalar],
        outputs: Sequence[SSAValue | None],
        is_extents: bool = False,
    ) -> None:
        self.outside = outside
        self.module = outside.module
        self.function = function
        self.is_extents = is_extents
        self.b = b
        self.arguments = arguments
        self.outputs = outputs
        self.extents = Extents(function)
        self.sizes = self._computed_sizes() if "sizes_check" in function.attributes else {}
        returned = returned_values(function)
        self.pinned = pin_rounding(function.body.block, returned if is_extents else self.sizes)
        fused = fuse_loops(function, self.extents)
        self.nodes = block_rows(fused, plan_storage(function, fused))
        self.storage: Storage = plan_storage(function, self.nodes)
        self.root = Instance({}, {})
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.nest = NestEmitter(b, self.storage, self, outside.target)

    def _computed_sizes(self) -> dict[SSAValue, list[tuple[int, int]]]:
        """Extents that follow from computed tensors: the outputs, and their axes, that have them."""
        found: dict[SSAValue, list[tuple[int, int]]] = {}
        for number, x in enumerate(returned_values(self.function)):
            for axis, n in enumerate(self.extents.shape(x) if isinstance(x.type, TensorType) else ()):
                if isinstance(n, SSAValue) and not follow_from_arguments([n]):
                    found.setdefault(n, []).append((number, axis))
        return found

    def run(self) -> list[Scalar]:
        """Emit the function: its status, then the scalars that it hands back."""
        self._bind_arguments(list(self.function.body.block.args))
        return self._emit(self.nodes)

    def inline(
        self, symbol: str, arguments: Sequence[SSAValue | Scalar], outputs: Sequence[SSAValue | None]
    ) -> list[Scalar]:
        """Emit a function in place of a call: its status, then its scalar results."""
        function = self.outside.called[symbol]
        return FunctionLowering(self.outside, function, self.b, arguments, outputs).run()

    def can_fail(self, symbol: str) -> bool:
        """True if a function makes checks, or calls one that does."""
        return can_fail(self.outside.called[symbol], self.outside.called)

    def bind(self, x: SSAValue, value: Scalar) -> None:
        """Say what a scalar result is."""
        self.root.values[x] = value

    # --- values --------------------------------------------------------------------------------------------------

    def resolve(self, key: ExtentKey) -> Extent:
        """An extent at loop level."""
        key = self.extents.key(key)
        if isinstance(key, int):
            return key
        if isinstance(key, tuple):
            return self.b.extent_of(self._argument(key[0]), key[1])
        assert isinstance(key, SSAValue)
        return Scalar(self.scalar(key).ssa, "index")

    def _argument(self, number: int) -> SSAValue:
        buffer = self.arguments[number]
        assert isinstance(buffer, SSAValue)
        return buffer

    def scalar(self, x: SSAValue) -> Scalar:
        return self.root.values[x]

    def shape(self, x: SSAValue) -> list[Extent]:
        return [self.resolve(n) for n in self.extents.shape(x)]

    def _own_extent(self, x: SSAValue, axis: int) -> Extent:
        """The extent of a tensor itself, for the checks that compare it with another one."""
        if isinstance(x, BlockArgument):
            return self.b.extent_of(self._argument(x.index), axis)
        return self.shape(x)[axis]

    def buffer(self, x: SSAValue) -> SSAValue:
        """The whole buffer of a tensor, made at its first mention."""
        return self._buffer_like(x, x)

    def _buffer_like(self, x: SSAValue, first: SSAValue) -> SSAValue:
        """The buffer of x, whose first mention is by a tensor that begins in it and has its shape.

        The two may name one extent by different values, and that of x may be computed later.
        """
        found = self.buffers.get(x)
        if found is None:
            found = self.buffers[x] = self._make_buffer(x, first)
        return found

    def _make_buffer(self, x: SSAValue, first: SSAValue) -> SSAValue:
        if x in self.storage.outputs and not self.is_extents:
            output = self.outputs[self.storage.outputs[x]]
            assert output is not None
            return output
        if x in self.storage.same_buffer:
            return self._later_buffer(x, first)
        assert isinstance(x.type, TensorType)
        result = self.storage.results.get(x)
        kept = self.storage.kept_positions(result) if result is not None else range(len(x.type.get_shape()))
        shape = self.shape(first)
        return self.b.allocate(x.type.element_type, [shape[p] for p in kept])

    def _later_buffer(self, x: SSAValue, first: SSAValue) -> SSAValue:
        """The buffer of the tensor that x is a part or a state of; a join of many parts is a long chain of these."""
        later = self.storage.same_buffer[x]
        while not isinstance(later.owner, ReshapeOp) and later in self.storage.same_buffer:
            following = self.storage.same_buffer[later]
            if isinstance(following.owner, ReshapeOp):
                break
            later = following
        if isinstance(later.owner, ReshapeOp):
            return self.b.reinterpret(self.buffer(later), self.shape(first))
        return self._buffer_like(later, first)

    def _bind_arguments(self, arguments: Sequence[SSAValue]) -> None:
        for number in (0, 1, self.outside.target.jam):
            self.b.index(number)
        for old, new in zip(arguments, self.arguments, strict=False):
            if isinstance(new, Scalar):
                self.root.values[old] = new
            elif isinstance(old.type, TensorType):
                self.buffers[old] = new
                for n, name in zip(self.shape(old), _dim_names(self.function, old), strict=True):
                    if isinstance(n, Scalar) and n.ssa.name_hint is None:
                        n.ssa.name_hint = name  # extents are read once, at the top
            elif old.uses:
                self.root.values[old] = self.b.fetch(new, [], "raw")

    # --- emission ------------------------------------------------------------------------------------------------

    def _emit(self, nodes: Sequence[Node]) -> list[Scalar]:
        """Emit nodes one after the other; behind a check that may fail, in the branch where it has not."""
        for position, node in enumerate(nodes):
            match node:
                case Plain(CheckOp()):
                    return self._emit_checks(nodes[position:])
                case Plain(ScanOp() | BranchOp() as op):
                    status = lower_scan(self.b, self, op) if isinstance(op, ScanOp) else lower_branch(self.b, self, op)
                    if status is not None:
                        return self._pass_on(status, nodes[position + 1 :])
                case Plain(op) if self._sizes_output(op):
                    return self._emit_size_check(op, nodes[position + 1 :])
                case Plain(op):
                    self._emit_plain(op)
                case Loop() | Leaf():
                    self._prepare_buffers(node)
                    self.nest.emit([node], [self.root])
        return [self.b.constant(0, "int32"), *self._emit_outputs()]

    def _emit_checks(self, nodes: Sequence[Node]) -> list[Scalar]:
        """One branch for the checks in front, and all that follows in it."""
        count = group_length(nodes, self._sizes_output)
        checks: list[CheckOp] = []
        for node in nodes[:count]:
            assert isinstance(node, Plain)
            if isinstance(node.op, CheckOp):
                checks.append(node.op)
            else:
                self._emit_plain(node.op)

        def fail() -> Scalar:
            number, found, expected = first_failure(self.b, checks, self.scalar)
            self.b.store(found, self.outside.detail, [0])
            self.b.store(expected, self.outside.detail, [1])
            return number

        ok = all_hold(self.b, [self.scalar(check.condition) for check in checks])
        return self._guarded(ok, nodes[count:], fail)

    def _sizes_output(self, op: Operation) -> bool:
        """True if an output has an extent that this operation computes."""
        return any(x in self.sizes for x in op.results)

    def _emit_size_check(self, op: Operation, rest: Sequence[Node]) -> list[Scalar]:
        """An extent that `@f.extents` has computed before must come out the same: nobody writes beyond an output."""
        self._emit_plain(op)
        number, axes = self.function.attributes["sizes_check"], self.sizes[op.results[0]]
        assert isinstance(number, IntegerAttr)
        found = Scalar(self.scalar(op.results[0]).ssa, "index")
        buffers = [(self.outputs[k], axis) for k, axis in axes]
        given = [self.b.index(self.b.extent_of(x, axis)) for x, axis in buffers if x is not None]

        def fail() -> Scalar:
            for slot, value in enumerate((found, given[0])):
                self.b.store(self.b.cast(value, "int64"), self.outside.detail, [slot])
            return self.b.constant(number.value.data, "int32")

        return self._guarded(all_hold(self.b, [self.b.compare("eq", found, n) for n in given]), rest, fail)

    def _pass_on(self, status: Scalar, rest: Sequence[Node]) -> list[Scalar]:
        """The rest of the function if a loop or branch has not failed."""
        is_good = self.b.compare("eq", status, self.b.constant(0, "int32"))
        return self._guarded(is_good, rest, lambda: status)

    def _guarded(self, condition: Scalar, rest: Sequence[Node], fail: Callable[[], Scalar]) -> list[Scalar]:
        """The rest of the function if the condition holds, else the status of the failure, and any scalars."""
        handed = [
            x.type for x, output in zip(returned_values(self.function), self.outputs, strict=False)
            if output is None and not self.is_extents
        ]  # fmt: skip
        return self.b.branch(
            condition, lambda: self._emit(rest), lambda: [fail(), *(self.b.zero(kind) for kind in handed)]
        )

    def _prepare_buffers(self, node: Loop | Leaf) -> None:
        """Buffers are made outside of the loops that fill them."""
        for statement in node.dims if isinstance(node, Loop) else [node.statement]:
            for x, _ in statement.writes:
                result = self.storage.results[x]
                if result.has_memory or not result.in_register:
                    self.buffer(x)

    def _emit_plain(self, op: Operation) -> None:
        match op:
            case tensor.DimOp():
                axis = self.extents.key(op.index)
                assert isinstance(axis, int)
                self.root.values[op.result] = self.b.index(self._own_extent(op.source, axis))
            case tensor.ExtractOp():
                self._emit_extract(op)
            case tensor.EmptyOp():
                self.buffer(op.tensor)
            case tensor.SplatOp():
                value, buffer = self.scalar(op.input), self.buffer(op.result)
                self.b.nest(self.shape(op.result), lambda where: self.b.store(value, buffer, where))
            case ReshapeOp():
                self.buffers[op.result] = self._reshaped(op)
            case tensor.InsertSliceOp():
                lower_insert(self.b, self, op)
            case ScatterOp():
                lower_scatter(self.b, self, op)
            case PatternOp():
                lower_pattern(self.b, self, op)
            case CumulateOp():
                lower_cumulate(self.b, self, op)
            case NonzeroOp():
                lower_nonzero(self.b, self, op)
            case LapackOp():
                self.root.values[op.failure] = lower_lapack(self.b, self, self.module, op, self.outside.blas)
            case RecurOp():
                lower_recur(self.b, self, op)
            case SortOp():
                lower_sort(self.b, self, op)
            case linalg.GenericOp():
                product = matrix_product(op)
                assert product is not None
                blas = no_blas(self.b) if op in self.pinned else self.outside.blas
                lower_product(self.b, self, self.module, op, product, blas)
            case arith.ConstantOp() if isinstance(op.result.type, TensorType):
                self.buffers[op.result] = constant_buffer(self.b, self.module, op)
            case _:
                copy = op.clone({x: self.scalar(x).ssa for x in op.operands})
                self.b.builder.insert(copy)
                for old, new in zip(op.results, copy.results, strict=True):
                    self.root.values[old] = Scalar(new, "raw")

    def _emit_extract(self, op: tensor.ExtractOp) -> None:
        result = self.storage.results.get(op.tensor)
        if result is not None and not op.indices and not result.has_memory:
            self.root.values[op.result] = self.root.values[op.tensor]
        else:
            where = [self.scalar(i) for i in op.indices]
            self.root.values[op.result] = self.b.fetch(self.buffer(op.tensor), where, "raw")

    def _reshaped(self, op: ReshapeOp) -> SSAValue:
        if self.storage.same_buffer.get(op.source) is op.result:
            return self.buffer(op.result)
        if op.result in self.storage.outputs and not self.is_extents:
            self._copy(op.source, self.b.reinterpret(self.buffer(op.result), self.shape(op.source)))
            return self.buffer(op.result)
        return self.b.reinterpret(self.buffer(op.source), self.shape(op.result))

    def _emit_outputs(self) -> list[Scalar]:
        """What is not in its place yet: scalars, inputs that are outputs, one value returned twice.

        Returns the scalars that have no place.
        """
        handed: list[Scalar] = []
        for number, x in enumerate(returned_values(self.function)):
            if self.is_extents:
                value = self.b.cast(Scalar(self.scalar(x).ssa, "index"), "int64")
                assert self.outputs[0] is not None
                self.b.store(value, self.outputs[0], [number])
                continue
            output = self.outputs[number]
            if output is None:
                handed.append(self.scalar(x))
            elif not isinstance(x.type, TensorType):
                self.b.store(self.scalar(x), output, [])
            elif self.storage.outputs.get(x) != number and not isinstance(x.owner, tensor.EmptyOp):
                self._copy(x, output)  # what is empty has no elements that matter, and may have no memory
        return handed

    def _copy(self, x: SSAValue, target: SSAValue) -> None:
        source = self.buffer(x)
        self.b.nest(self.shape(x), lambda where: self.b.store(self.b.fetch(source, where, "raw"), target, where))


def _dim_names(function: func.FuncOp, argument: SSAValue) -> list[str | None]:
    assert isinstance(argument, BlockArgument) and isinstance(argument.type, TensorType)
    table = function.attributes.get("dims")
    if not isinstance(table, ArrayAttr):
        return [None] * len(argument.type.get_shape())
    return [name.data or None for name in table.data[argument.index]]


def returned_values(function: func.FuncOp) -> list[SSAValue]:
    """What a function returns."""
    terminator = function.body.block.last_op
    assert terminator is not None
    return list(terminator.operands)
