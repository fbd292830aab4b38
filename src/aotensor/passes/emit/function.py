"""Emit one function of nests over buffers: its checks, declarations, loops and scalar operations."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, TensorType
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from aotensor.ir.dialect import CheckOp, LapackOp, ReshapeOp
from aotensor.ir.dialect_control import BranchOp, ScanOp
from aotensor.ir.dialect_sparse import DirectOp, NonzeroOp, PatternOp, ProductAtOp, ScatterOp
from aotensor.ir.extents import AllSources, is_scalar
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.nest.loops import LoopOp
from aotensor.ir.nest.ops import STORAGE, DoOp, OutputAttr, OverAttr, ProductOp, ValueOp
from aotensor.ir.nest.tree import is_register, is_written
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.upstream import value_name
from aotensor.passes.direct.lower import lower_direct
from aotensor.passes.emit.buffers import dim_names, returned_values
from aotensor.passes.emit.frame import Frame, KernelState
from aotensor.passes.emit.group_checks import all_hold, first_failure, first_group, limit_depth
from aotensor.passes.emit.library import constant_buffer, lower_product, lower_product_at
from aotensor.passes.emit.lower_control import can_fail, lower_branch, lower_scan
from aotensor.passes.emit.lower_lines import ALONG_LINES
from aotensor.passes.emit.lower_window import lower_insert, lower_nonzero, lower_scatter
from aotensor.passes.emit.patterns.lower_patterns import lower_pattern
from aotensor.passes.emit.shape_cache import CACHED, keep, take
from aotensor.passes.emit.tree import TreeEmitter
from aotensor.passes.lapack.lower import lower_lapack
from aotensor.passes.nest.extents import ExtentKey, Extents

End: TypeAlias = Callable[[Sequence[Scalar]], list[Scalar]]
"""Ends a guard: from the results of what it guards, it makes those of the function."""


class FunctionEmitter:
    """Emits the loops of one function: a kernel, or the body of a loop or branch inside of one.

    arguments: a buffer for each tensor and for each scalar of a kernel; a Scalar for each scalar of a body. outputs: a
    buffer for each result, None for a scalar that a body returns; in `.extents` one buffer for all results. kept: a
    buffer for each value that `.extents` computes for the kernel; in `.extents` the table of these buffers.
    """

    def __init__(
        self,
        outside: KernelState,
        function: func.FuncOp,
        b: LoopBuilder,
        arguments: Sequence[SSAValue | Scalar],
        outputs: Sequence[SSAValue | None],
        is_extents: bool = False,
        kept: Sequence[SSAValue] = (),
    ) -> None:
        self.outside, self.module, self.kept = outside, outside.module, kept
        self.function = function
        self.is_extents = is_extents
        self.b = b
        self.arguments = arguments
        self.outputs = outputs
        self.extents = Extents(function)
        self.sizes = self._computed_sizes() if "sizes_check" in function.attributes else {}
        self.root, self.tree = Frame(), TreeEmitter(b, self)
        self.buffers: dict[SSAValue, SSAValue] = {}

    def _computed_sizes(self) -> dict[SSAValue, list[tuple[int, int]]]:
        """For each extent that depends on computed tensors, the (output, axis) pairs that have this extent."""
        found: dict[SSAValue, list[tuple[int, int]]] = {}
        is_known = AllSources(is_scalar)
        for number, x in enumerate(returned_values(self.function)):
            for axis, n in enumerate(self.extents.shape(x) if isinstance(x.type, TensorType) else ()):
                if isinstance(n, SSAValue) and not is_known([n]):
                    found.setdefault(n, []).append((number, axis))
        return found

    def run(self) -> list[Scalar]:
        """Emit the function; return its status, then its scalar results."""
        self._bind_arguments(list(self.function.body.block.args))
        return self._emit([op for op in self.function.body.block.ops if not isinstance(op, func.ReturnOp)])

    def inline(
        self, symbol: str, arguments: Sequence[SSAValue | Scalar], outputs: Sequence[SSAValue | None]
    ) -> list[Scalar]:
        """Inline a function at a call; return its status, then its scalar results."""
        return FunctionEmitter(self.outside, self.outside.called[symbol], self.b, arguments, outputs).run()

    def can_fail(self, symbol: str) -> bool:
        """True if a function contains checks, or calls one that does."""
        return can_fail(self.outside.called[symbol], self.outside.called)

    def bind(self, x: SSAValue, value: Scalar) -> None:
        """Set the emitted value of a scalar result."""
        self.root.values[x] = value.ssa

    # --- values --------------------------------------------------------------------------------------------------

    def resolve(self, key: ExtentKey) -> Extent:
        """Return the loop-level value of an extent."""
        key = self.extents.key(key)
        if isinstance(key, int):
            return key
        if isinstance(key, tuple):
            return self.b.extent_of(self._argument(key[0]), key[1])
        return self.b.as_extent(Scalar(self.root.value(key), "index"))

    def _argument(self, number: int) -> SSAValue:
        buffer = self.arguments[number]
        assert isinstance(buffer, SSAValue)
        return buffer

    def scalar(self, x: SSAValue) -> Scalar:
        return Scalar(self.root.value(x), "raw")

    def shape(self, x: SSAValue) -> list[Extent]:
        return [self.resolve(n) for n in self.extents.shape(x)]

    # --- buffers -------------------------------------------------------------------------------------------------

    def buffer(self, x: SSAValue) -> SSAValue:
        """The buffer of a tensor, created on first use."""
        found = self.buffers.get(x)
        if found is None:
            assert isinstance(x.owner, Operation)
            found = self.buffers[x] = self._result_buffer(x, x.owner)
        return found

    def buffer_in(self, frame: Frame, x: SSAValue) -> SSAValue:
        """The buffer of a tensor, as one iteration sees it: jammed iterations have buffers of their own."""
        return frame.buffer(x) or self.buffer(x)

    def declare(self, value: ValueOp, frame: Frame) -> None:
        """Create the buffer of a value, one for each jammed iteration, and fill it with its initial value, if any."""
        x = value.result
        shape = self._sized(x, value.sizes, frame)
        if value.over is not None:
            buffer = self.buffer_in(frame, value.over)
        elif value.output is not None and not self.is_extents:
            buffer = self._output(value.output.value.data, x, shape)
        elif value.part is not None and value.number is not None:
            buffer = self.b.row(self.buffer(value.part), Scalar(frame.value(value.number), "index"), shape)
        else:
            buffer = self.b.allocate(x.type.element_type, shape)
        loop = value.parent_op()
        if value.first is not None and isinstance(loop, LoopOp):
            is_first = self.b.compare("eq", Scalar(frame.value(loop.counter), "index"), self.b.index(0))
            shape[0] = self.b.select(is_first, self.b.index(0), self.b.index(shape[0]))  # then it is not filled
            buffer = self.b.choose(is_first, self.buffer_in(frame, value.first), buffer)
        self.buffers[x] = frame.buffers[x] = buffer
        if value.init is not None:
            init = Scalar(frame.value(value.init), "raw")
            self.b.nest(shape, lambda where: self.b.store(init, buffer, where))

    def view(self, op: ReshapeOp, frame: Frame) -> None:
        """Emit a view: the memory of a tensor under another shape."""
        buffer = self.b.reinterpret(self.buffer_in(frame, op.source), self._sized(op.result, op.sizes, frame))
        self.buffers[op.result] = frame.buffers[op.result] = buffer

    def extent(self, op: tensor.DimOp) -> Extent:
        """The extent of a tensor's buffer, which checks compare with other extents."""
        source = op.index.owner
        assert isinstance(source, arith.ConstantOp) and isinstance(source.value, IntegerAttr)
        axis = source.value.value.data
        if isinstance(op.source, BlockArgument):
            return self.b.extent_of(self._argument(op.source.index), axis)
        return self.shape(op.source)[axis]

    def _sized(self, x: SSAValue, sizes: Iterable[SSAValue], frame: Frame) -> list[Extent]:
        assert isinstance(x.type, TensorType)
        unknown = iter(self.b.as_extent(Scalar(frame.value(n), "index")) for n in sizes)
        return [next(unknown) if n == DYNAMIC_INDEX else n for n in x.type.get_shape()]

    def _output(self, number: int, x: SSAValue, shape: Sequence[Extent]) -> SSAValue:
        """The buffer of output `number`, for a value that may have another shape with as many elements."""
        output = self.outputs[number]
        assert output is not None
        is_same = self.extents.shape(returned_values(self.function)[number]) == self.extents.shape(x)
        return output if is_same else self.b.reinterpret(output, shape)

    def _result_buffer(self, x: SSAValue, op: Operation) -> SSAValue:
        """Return the buffer of a result of an operation other than a statement."""
        storages = op.attributes.get(STORAGE)
        storage = storages.data[_number_of(x, op)] if isinstance(storages, ArrayAttr) else None
        if isinstance(storage, OverAttr):
            return self.buffer(op.operands[storage.operand.data])
        if isinstance(storage, OutputAttr) and not self.is_extents:
            return self._output(storage.number.data, x, self.shape(x))
        assert isinstance(x.type, TensorType)
        shape = self.shape(x)
        return keep(self.b, self.kept, x, op, self.b.allocate(x.type.element_type, shape), shape)

    def _bind_arguments(self, arguments: Sequence[BlockArgument]) -> None:
        for number in (0, 1, self.outside.target.jam):
            self.b.index(number)
        for old, new in zip(arguments, self.arguments, strict=False):
            self.b.use_location_of(old)
            if isinstance(new, Scalar):
                self.root.values[old] = new.ssa
            elif isinstance(old.type, TensorType):
                self.buffers[old] = new
                for n, name in zip(self.shape(old), dim_names(self.function, old), strict=True):
                    if isinstance(n, Scalar) and n.ssa.name_hint is None:
                        n.ssa.name_hint = value_name(name)  # extents are read once, at the top
            elif old.uses:
                self.root.values[old] = self.b.fetch(new, [], "raw").ssa

    # --- emission ------------------------------------------------------------------------------------------------

    def _emit(self, ops: Sequence[Operation]) -> list[Scalar]:
        """Emit operations in order; operations after a check are emitted inside the branch where it holds."""
        ends: list[End] = []
        pending = deque(ops)
        while pending:
            op = pending.popleft()
            self.b.use_location_of(op)
            match op:
                case CheckOp():
                    pending.appendleft(op)
                    ends.append(self._emit_checks(pending))
                case ScanOp() | BranchOp():
                    status = lower_scan(self.b, self, op) if isinstance(op, ScanOp) else lower_branch(self.b, self, op)
                    if status is not None:
                        is_good = self.b.compare("eq", status, self.b.constant(0, "int32"))
                        ends.append(self._guard(is_good, partial(_same, status)))
                case LoopOp() | DoOp() | ValueOp():
                    self.tree.emit([op], [self.root])
                case _ if self._sizes_output(op):
                    ends.append(self._emit_size_check(op))
                case _:
                    self._emit_plain(op)
            limit_depth(len(ends), self.function, op)
        results = [self.b.constant(0, "int32"), *self._emit_outputs()]
        while ends:
            results = ends.pop()(results)
        return results

    def _emit_checks(self, pending: deque[Operation]) -> End:
        """Emit the first group of checks as one guard, and remove it from the pending operations."""
        group, rest = first_group(pending, self._ends_group)
        pending.clear()
        pending.extend(rest)
        for op in group:
            self.b.use_location_of(op)
            if not isinstance(op, CheckOp):
                self._emit_plain(op)
        checks = [op for op in group if isinstance(op, CheckOp)]

        def fail() -> Scalar:
            number, found, expected = first_failure(self.b, checks, self.scalar)
            self.b.store(found, self.outside.detail, [0])
            self.b.store(expected, self.outside.detail, [1])
            return number

        return self._guard(all_hold(self.b, [self.scalar(check.condition) for check in checks]), fail)

    def _ends_group(self, op: Operation) -> bool:
        """True if no later check may be reported in place of a failure of this operation."""
        return self._sizes_output(op) or isinstance(op, ScanOp | BranchOp)

    def _sizes_output(self, op: Operation) -> bool:
        """True if this operation computes an extent of an output."""
        return any(x in self.sizes for x in op.results)

    def _emit_size_check(self, op: Operation) -> End:
        """Emit the check that an extent equals the one from `@f.extents`, so that no write exceeds an output."""
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

        return self._guard(all_hold(self.b, [self.b.compare("eq", found, n) for n in given]), fail)

    def _guard(self, condition: Scalar, fail: Callable[[], Scalar]) -> End:
        """Emit what follows under a condition; otherwise return the failure's status, and zeros for scalar results."""
        handed = [
            x.type for x, output in zip(returned_values(self.function), self.outputs, strict=False)
            if output is None and not self.is_extents
        ]  # fmt: skip
        end = self.b.begin_branch(condition)
        return lambda results: end(results, lambda: [fail(), *(self.b.zero(kind) for kind in handed)])

    def _emit_plain(self, op: Operation) -> None:
        match op:
            case _ if CACHED in op.attributes and not self.is_extents:
                self.buffers.update(take(self.b, self.kept, op, self.shape))
            case arith.ConstantOp() if isinstance(op.result.type, TensorType):
                self.buffers[op.result] = constant_buffer(self.b, self.module, op)
            case _ if op.name.startswith(("arith.", "math.")):  # the common case in a long program
                self.tree.emit([op], [self.root])
            case tensor.ExtractOp():
                self._emit_extract(op)
            case ReshapeOp():
                self.buffers[op.result] = self._reshaped(op)
            case tensor.InsertSliceOp():
                lower_insert(self.b, self, op, self.outside.target)
            case ScatterOp():
                lower_scatter(self.b, self, op, self.outside.target)
            case PatternOp():
                lower_pattern(self.b, self, op, self.outside.target)
            case DirectOp():
                lower_direct(self.b, self, op, self.module, self.outside.numbers)
            case NonzeroOp():
                lower_nonzero(self.b, self, op)
            case LapackOp():
                outside = self.outside
                self.bind(op.failure, lower_lapack(self.b, self, op, self.module, outside.context, outside.target))
            case _ if type(op) in ALONG_LINES:
                ALONG_LINES[type(op)](self.b, self, op, self.outside.target)
            case ProductOp():
                lower_product(self.b, self, self.module, op, self.outside.context)
            case ProductAtOp():
                lower_product_at(self.b, self, self.module, op, self.outside.context)
            case _:
                self.tree.emit([op], [self.root])

    def _emit_extract(self, op: tensor.ExtractOp) -> None:
        if is_register(op.tensor):
            held = self.root.registers[op.tensor]
            assert held is not None
            self.root.values[op.result] = held
        else:
            where: list[Extent] = [Scalar(self.root.value(i), "index") for i in op.indices]
            self.root.values[op.result] = self.b.fetch(self.buffer(op.tensor), where, "raw").ssa

    def _reshaped(self, op: ReshapeOp) -> SSAValue:
        if STORAGE in op.attributes and not self.is_extents:  # it is stored in an output, its source is not
            target = self._result_buffer(op.result, op)
            self._copy(op.source, self.b.reinterpret(target, self.shape(op.source)))
            return target
        return self.b.reinterpret(self.buffer(op.source), self.shape(op.result))

    def _emit_outputs(self) -> list[Scalar]:
        """Write the outputs that are not computed in place: scalars, inputs that are outputs, values returned twice.

        Returns the scalars that have no buffer.
        """
        handed: list[Scalar] = []
        for number, x in enumerate(returned_values(self.function)):
            if self.is_extents:
                value = self.b.cast(Scalar(self.scalar(x).ssa, "index"), "int64")
                assert self.outputs[0] is not None
                self.b.store(value, self.outputs[0], [number])
                continue
            if isinstance(x, OpResult | BlockArgument):
                self.b.use_location_of(x.op if isinstance(x, OpResult) else x)
            output = self.outputs[number]
            if output is None:
                handed.append(self.scalar(x))
            elif not isinstance(x.type, TensorType):
                self.b.store(self.scalar(x), output, [])
            elif not self._is_in_output(x, number) and is_written(x):
                self._copy(x, output)  # an unwritten value has no defined elements, and may have no memory
        return handed

    def _is_in_output(self, x: SSAValue, number: int) -> bool:
        """Is a value computed in the memory of output `number`?"""
        op = x.owner
        if isinstance(op, ValueOp):
            if op.over is not None:
                return self._is_in_output(op.over, number)
            return op.output is not None and op.output.value.data == number
        if not isinstance(op, Operation):
            return False
        storages = op.attributes.get(STORAGE)
        if not isinstance(storages, ArrayAttr):
            return isinstance(op, ReshapeOp) and self._is_in_output(op.source, number)
        storage = storages.data[_number_of(x, op)]
        if isinstance(storage, OverAttr):
            return self._is_in_output(op.operands[storage.operand.data], number)
        return isinstance(storage, OutputAttr) and storage.number.data == number

    def _copy(self, x: SSAValue, target: SSAValue) -> None:
        source = self.buffer(x)
        self.b.nest(self.shape(x), lambda where: self.b.store(self.b.fetch(source, where, "raw"), target, where))


def _number_of(x: SSAValue, op: Operation) -> int:
    """The number of a value among the results of its operation."""
    return next(number for number, result in enumerate(op.results) if result is x)


def _same(x: Scalar) -> Scalar:
    return x
