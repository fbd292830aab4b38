"""Tensor level → loop level: fused loop nests over buffers.

    %z = linalg.generic … ins(%X, %w) …        scf.for %i = %c0 to %n step %c1 {
    %r = linalg.generic … ins(%z, %y) …    →     %z = scf.for %k … iter_args(%acc) { … }
    return %r                                    %r = …
                                                 memref.store %r, %out[%i]

`@f` becomes `@f.kernel(inputs, outputs, workspace, detail, blas) -> i32`, `@f.extents` becomes
`@f.extents(inputs, extents, detail) -> i32`. Both return 0, or the number of the check that failed after writing
what was found and expected into `detail`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith, func, memref, tensor
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from aotensor.errors import UnsupportedError
from aotensor.ir.dialect import CheckOp, CumulateOp, LapackOp, ReshapeOp, ScatterOp, SortOp
from aotensor.ir.loop_builder import LoopBuilder, memref_type_of
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import i8, i32, memref_type
from aotensor.ir.verbs import Extent
from aotensor.passes.block_rows import block_rows
from aotensor.passes.collapse import Buffers
from aotensor.passes.contraction import matrix_product
from aotensor.passes.fuse_loops import Leaf, Loop, Node, Plain, fuse_loops
from aotensor.passes.lapack.lower import lower_lapack
from aotensor.passes.lower_library import lower_product
from aotensor.passes.lower_nest import JAM, Instance, NestEmitter
from aotensor.passes.lower_window import lower_cumulate, lower_insert, lower_scatter, lower_sort
from aotensor.passes.statements import ExtentKey, Extents
from aotensor.passes.storage import Storage, plan_storage


def lower_to_loops(module: ModuleOp) -> None:
    """Replace every function at tensor level by its loops."""
    for function in list(module.body.block.ops):
        if isinstance(function, func.FuncOp) and not function.is_declaration:
            lowered = _FunctionLowering(module, function).run()
            module.body.block.insert_op_before(lowered, function)
            function.detach()
            function.erase()


class _FunctionLowering(Buffers):
    def __init__(self, module: ModuleOp, function: func.FuncOp) -> None:
        self.module = module
        self.function = function
        self.is_extents = function.sym_name.data.endswith(".extents")
        self.extents = Extents(function)
        fused = fuse_loops(function, self.extents)
        self.nodes = block_rows(fused, plan_storage(function, fused))
        self.storage: Storage = plan_storage(function, self.nodes)
        self.root = Instance({}, {})
        self.buffers: dict[SSAValue, SSAValue] = {}

    def run(self) -> func.FuncOp:
        arguments = list(self.function.body.block.args)
        inputs = [_argument_type(a.type) for a in arguments]
        results = [x.type for x in self._returned()]
        if self.is_extents:
            extra: list[Attribute] = [memref_type("int64", [None]), memref_type("int64", [4])]
            name = self.function.sym_name.data
        else:
            extra = [*(_argument_type(t) for t in results), memref_type_of(i8, [None]),
                     memref_type("int64", [4]), memref_type_of(i8, [1])]  # fmt: skip
            name = self.function.sym_name.data + ".kernel"
        block = Block(arg_types=[*inputs, *extra])
        for old, new in zip(arguments, block.args, strict=False):
            new.name_hint = old.name_hint
        for new, hint in zip(block.args[len(inputs) :], self._extra_names(), strict=True):
            new.name_hint = hint
        self.arguments = list(block.args)
        self.outputs = list(block.args[len(inputs) : len(inputs) + len(results)])
        self.detail = block.args[-1] if self.is_extents else block.args[-2]
        self.blas = block.args[-1]
        self.b = LoopBuilder(Builder(InsertPoint.at_end(block)))
        self.nest = NestEmitter(self.b, self.storage, self)
        self._bind_arguments(arguments)
        status = self._emit(self.nodes)
        self.b.builder.insert(func.ReturnOp(status.ssa))
        lowered = func.FuncOp(name, ([*inputs, *extra], [i32]), Region(block))
        lowered.attributes["dims"] = self.function.attributes["dims"]
        return lowered

    def _extra_names(self) -> list[str | None]:
        """Names of the arguments behind the inputs, for those who read the IR."""
        if self.is_extents:
            return ["extents", "detail"]
        given = self.function.attributes.get("results")
        names = [n.data for n in given if isinstance(n, StringAttr)] if isinstance(given, ArrayAttr) else []
        outputs = [n if n.isidentifier() else None for n in names] or [None] * len(self._returned())
        return [*outputs, "workspace", "detail", "blas"]

    # --- values --------------------------------------------------------------------------------------------------

    def resolve(self, key: ExtentKey) -> Extent:
        """An extent at loop level."""
        key = self.extents.key(key)
        if isinstance(key, int):
            return key
        if isinstance(key, tuple):
            number, axis = key
            return self.b.extent_of(self.arguments[number], axis)
        return Scalar(self.scalar(key).ssa, "index")

    def scalar(self, x: SSAValue) -> Scalar:
        return self.root.values[x]

    def shape(self, x: SSAValue) -> list[Extent]:
        return [self.resolve(n) for n in self.extents.shape(x)]

    def _own_extent(self, x: SSAValue, axis: int) -> Extent:
        """The extent of a tensor itself, for the checks that compare it with another one."""
        if isinstance(x, BlockArgument):
            return self.b.extent_of(self.arguments[x.index], axis)
        return self.shape(x)[axis]

    def buffer(self, x: SSAValue) -> SSAValue:
        """The whole buffer of a tensor, made at its first mention."""
        found = self.buffers.get(x)
        if found is None:
            found = self.buffers[x] = self._make_buffer(x)
        return found

    def _make_buffer(self, x: SSAValue) -> SSAValue:
        if x in self.storage.outputs and not self.is_extents:
            return self.outputs[self.storage.outputs[x]]
        if x in self.storage.same_buffer:
            return self._later_buffer(x)
        assert isinstance(x.type, TensorType)
        result = self.storage.results.get(x)
        kept = self.storage.kept_positions(result) if result is not None else range(len(x.type.get_shape()))
        shape = self.shape(x)
        return self.b.allocate(x.type.element_type, [shape[p] for p in kept])

    def _later_buffer(self, x: SSAValue) -> SSAValue:
        """The buffer of the tensor that x is a part or a state of; a join of many parts is a long chain of these."""
        later = self.storage.same_buffer[x]
        while not isinstance(later.owner, ReshapeOp) and later in self.storage.same_buffer:
            following = self.storage.same_buffer[later]
            if isinstance(following.owner, ReshapeOp):
                break
            later = following
        whole = self.buffer(later)
        return self.b.reinterpret(whole, self.shape(x)) if isinstance(later.owner, ReshapeOp) else whole

    def _bind_arguments(self, arguments: Sequence[SSAValue]) -> None:
        for number in (0, 1, JAM):
            self.b.index(number)
        for old, new in zip(arguments, self.arguments, strict=False):
            if isinstance(old.type, TensorType):
                self.buffers[old] = new
                for n, name in zip(self.shape(old), _dim_names(self.function, old), strict=True):
                    if isinstance(n, Scalar) and n.ssa.name_hint is None:
                        n.ssa.name_hint = name  # extents are read once, at the top
            elif old.uses:
                self.root.values[old] = self.b.fetch(new, [], "raw")

    def _returned(self) -> Sequence[SSAValue]:
        terminator = self.function.body.block.last_op
        assert terminator is not None
        return list(terminator.operands)

    # --- emission ------------------------------------------------------------------------------------------------

    def _emit(self, nodes: Sequence[Node]) -> Scalar:
        """Emit nodes one after the other; behind a check that may fail, in the branch where it has not."""
        for position, node in enumerate(nodes):
            match node:
                case Plain(CheckOp() as check):
                    return self._emit_check(check, nodes[position + 1 :])
                case Plain(op):
                    self._emit_plain(op)
                case Loop() | Leaf():
                    self._prepare_buffers(node)
                    self.nest.emit([node], [self.root])
        self._emit_outputs()
        return self.b.constant(0, "int32")

    def _emit_check(self, check: CheckOp, rest: Sequence[Node]) -> Scalar:
        def fail() -> Sequence[Scalar]:
            for slot, x in enumerate((check.found, check.expected)):
                value = self.b.cast(Scalar(self.scalar(x).ssa, "index"), "int64")
                self.b.store(value, self.detail, [slot])
            return [self.b.constant(check.number.value.data, "int32")]

        return self.b.branch(self.scalar(check.condition), lambda: [self._emit(rest)], fail)[0]

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
            case CumulateOp():
                lower_cumulate(self.b, self, op)
            case LapackOp():
                if self.is_extents:
                    raise UnsupportedError("an extent that depends on linear algebra", hint="pass it as an input")
                self.root.values[op.failure] = lower_lapack(self.b, self, self.module, op, self.blas)
            case SortOp():
                lower_sort(self.b, self, op)
            case linalg.GenericOp():
                product = matrix_product(op)
                assert product is not None
                lower_product(self.b, self, self.module, op, product, self.blas)
            case arith.ConstantOp() if isinstance(op.result.type, TensorType):
                self.buffers[op.result] = self._constant(op)
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

    def _constant(self, op: arith.ConstantOp) -> SSAValue:
        """A constant tensor as a global of the module."""
        assert isinstance(op.value, DenseIntOrFPElementsAttr) and isinstance(op.result.type, TensorType)
        kind: MemRefType[Attribute] = MemRefType(op.result.type.element_type, op.result.type.get_shape())
        names = [g.sym_name.data for g in self.module.body.block.ops if isinstance(g, memref.GlobalOp)]
        name = f"constant.{len(names)}"
        value = memref.GlobalOp.get(StringAttr(name), kind, op.value, StringAttr("private"), constant=UnitAttr())
        self.module.body.block.insert_op_before(value, self.module.body.block.first_op)  # type: ignore[arg-type]
        read = memref.GetGlobalOp(name, kind)
        self.b.builder.insert(read)
        return read.memref

    def _emit_outputs(self) -> None:
        """What is not in its place yet: scalars, inputs that are outputs, one value returned twice."""
        for number, x in enumerate(self._returned()):
            if self.is_extents:
                value = self.b.cast(Scalar(self.scalar(x).ssa, "index"), "int64")
                self.b.store(value, self.arguments[-2], [number])
            elif not isinstance(x.type, TensorType):
                self.b.store(self.scalar(x), self.outputs[number], [])
            elif self.storage.outputs.get(x) != number:
                self._copy(x, self.outputs[number])

    def _copy(self, x: SSAValue, target: SSAValue) -> None:
        source = self.buffer(x)
        self.b.nest(self.shape(x), lambda where: self.b.store(self.b.fetch(source, where, "raw"), target, where))


def _dim_names(function: func.FuncOp, argument: SSAValue) -> list[str | None]:
    assert isinstance(argument, BlockArgument) and isinstance(argument.type, TensorType)
    table = function.attributes.get("dims")
    if not isinstance(table, ArrayAttr):
        return [None] * len(argument.type.get_shape())
    return [name.data or None for name in table.data[argument.index]]


def _argument_type(type: Attribute) -> Attribute:
    """memref of a tensor; scalars are passed as memref<f64>."""
    if isinstance(type, TensorType):
        return MemRefType(type.element_type, type.get_shape())
    return MemRefType(type, [])
