"""Assign memory to values: compute results in output buffers, and in place over operands at their last use.

    %a = nest.value[%n]                               %a = nest.value[%n] output 0
    nest.for %i in %n { … -> (%a[%i]) }               nest.for %i in %n { … -> (%a[%i]) }
    %b = nest.value[%n]                        →      %b = nest.value[%n] over %a
    nest.for %i in %n { %a[%i] … -> (%b[%i]) }        nest.for %i in %n { %a[%i] … -> (%b[%i]) }
    return %b                                         return %b

A value may share the memory of another value, or of a product, if a single statement reads the other one, at the
indices that it writes, and no other operation uses it; axes of extent 1 do not count. The parts of an assembled tensor,
and matrices that LAPACK overwrites, are views of the whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import ArrayAttr, IntAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from aotensor.ir.context import functions_of
from aotensor.ir.dialect import LapackOp, ReshapeOp
from aotensor.ir.dialect_control import BranchOp, ScanOp
from aotensor.ir.dialect_sparse import KernelOp, PatternOp, ProductAtOp, ScatterOp
from aotensor.ir.nest.ops import STORAGE, DoOp, OutputAttr, OverAttr, OwnAttr, ProductOp, Storage, ValueOp
from aotensor.ir.nest.syntax import Subscript
from aotensor.ir.nest.tree import gathers, is_register, sole_writer, writers
from aotensor.ir.upstream import walk
from aotensor.passes.nest.extents import ExtentKey, Extents
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied, missed

_MAKERS = (
    ValueOp,
    ProductOp,
    ProductAtOp,
    tensor.InsertSliceOp,
    ScatterOp,
    LapackOp,
    PatternOp,
    KernelOp,
    ScanOp,
    BranchOp,
)
"""Operations whose results own their memory: they are not views of other values, inputs or constants."""


@ir_pass("assign-memory", level="nest", topic="memory")
def assign_memory(module: ModuleOp) -> None:
    """Places results in the memory of outputs, and of operands and products after their last use."""
    for function in functions_of(module):
        _Assignment(function).run()


class _Assignment:
    """Assigns memory to the values of one function.

    over: value → the value whose memory it reuses. outputs: value → the output buffer that holds it.
    """

    def __init__(self, function: func.FuncOp) -> None:
        self.function, self.extents = function, Extents(function)
        self.over: dict[SSAValue, SSAValue] = {}
        self.taken: set[SSAValue] = set()
        """Values whose memory another value reuses."""
        self.outputs: dict[SSAValue, int] = {}
        self.done: set[Operation] = set()
        """Loads of single elements before the current operation."""

    def run(self) -> None:
        terminator = self.function.body.block.last_op
        assert isinstance(terminator, func.ReturnOp)
        returned: dict[SSAValue, int] = {}
        for number, x in enumerate(terminator.operands):
            if isinstance(x.type, TensorType) and not isinstance(x.owner, Block | arith.ConstantOp):
                returned.setdefault(x, number)
        for op in walk(self.function):
            if isinstance(op, DoOp):
                self._statement(op, returned)
        for op in self.function.body.block.ops:
            self._operation(op, returned)
            if isinstance(op, tensor.ExtractOp):
                self.done.add(op)
        for x, number in returned.items():
            self._assign_to_output(x, number)
        self._write_down()

    def _statement(self, op: DoOp, returned: Iterable[SSAValue]) -> None:
        """Try to let an output of a statement reuse the memory of an input whose last use is this statement."""
        for y, written in op.writes:
            if not isinstance(y.owner, ValueOp) or not written or y in self.over or sole_writer(y) is not op:
                continue
            for reader, x, read in [(one, *at) for one in _computing(op) for at in one.reads]:
                is_value = isinstance(x.owner, ValueOp)
                fits = read == written and x.type == y.type if is_value else self._fits_product(x, read, y, written)
                if fits and x not in self.taken and x not in returned and _is_last_read(x, y, reader):
                    self._take(y, x if x.type == y.type else _view(x, y, reader, written))
                    break
                if fits:
                    missed(
                        "{} not placed in the memory of {}: a later operation reads that, or it is taken",
                        y,
                        x,
                        size=[y],
                        hint="let no later operation read that value, and no other value take its memory",
                    )

    def _fits_product(self, x: SSAValue, read: list[Subscript], y: SSAValue, written: list[Subscript]) -> bool:
        """Is x a product, whose elements are read at the positions in memory where those of y are written?"""
        if not isinstance(x.owner, ProductOp | ProductAtOp) or not isinstance(y.owner, ValueOp):
            return False
        is_outside = x.owner.parent is y.owner.parent is self.function.body.block
        assert isinstance(x.type, TensorType) and isinstance(y.type, TensorType)
        if not is_outside or x.type.element_type != y.type.element_type:
            return False
        return _long_axes(read, self.extents.shape(x)) == _long_axes(written, self.extents.shape(y))

    def _operation(self, op: Operation, returned: dict[SSAValue, int]) -> None:
        match op:
            case tensor.InsertSliceOp() | ScatterOp():
                if self._is_free(op.dest):
                    self._take(op.result, op.dest)
            case LapackOp():
                matrix = op.overwritten()
                if matrix is not None and self._is_free(matrix):
                    self._take(op.tensors[0], matrix)
            case _:
                pass

    def _is_free(self, x: SSAValue) -> bool:
        users = [use.operation for use in x.uses if use.operation not in self.done]
        readers = [op for op in users if not isinstance(op, DoOp) or x in op.inputs or x not in op.outputs]
        return len(readers) == 1 and isinstance(x.owner, _MAKERS) and x not in self.taken

    def _take(self, y: SSAValue, x: SSAValue) -> None:
        if _location(y) is not _location(x):  # else both are parts of one value of the user's source
            applied("placed {} in the memory of {}, whose last reader it is", y, x, size=[y])
        self.over[y] = x
        self.taken.add(x)

    def _assign_to_output(self, x: SSAValue, number: int) -> None:
        """Assign output `number` to the value that holds a returned value, through reshapes."""
        root = self._root(x)
        while isinstance(root.owner, ReshapeOp):
            source = self._root(root.owner.source)
            is_free = source not in self.outputs and root.owner.source not in self.taken
            if not is_free or not isinstance(source.owner, (*_MAKERS, ReshapeOp)):
                break
            root = source
        applied("placed {} in the memory of an output", root, size=[root])
        self.outputs[root] = number

    def _root(self, x: SSAValue) -> SSAValue:
        while x in self.over:
            x = self.over[x]
        return x

    def _write_down(self) -> None:
        storages: dict[Operation, dict[SSAValue, Storage]] = defaultdict(dict)
        for y, x in self.over.items():
            if isinstance(y.owner, ValueOp):
                y.owner.set_memory(over=x)
            else:
                assert isinstance(y.owner, Operation)
                storages[y.owner][y] = OverAttr(IntAttr(list(y.owner.operands).index(x)))
        for x, number in self.outputs.items():
            if isinstance(x.owner, ValueOp):
                x.owner.set_memory(output=number)
            else:
                assert isinstance(x.owner, Operation)
                storages[x.owner][x] = OutputAttr(IntAttr(number))
        for op, found in storages.items():
            op.attributes[STORAGE] = ArrayAttr(found.get(x, OwnAttr()) for x in op.results)


def _computing(op: DoOp) -> list[DoOp]:
    """The statements that compute what `op` stores: `op`, and those of its block that write its registers."""
    found, pending = dict[DoOp, None](), [op]
    while pending:
        one = pending.pop()
        found[one] = None
        made = [writers(x) for x in one.inputs if is_register(x)]
        pending += [w[0] for w in made if len(w) == 1 and w[0].parent is op.parent and w[0] not in found]
    return list(found)


def _is_last_read(x: SSAValue, y: SSAValue, reader: DoOp) -> bool:
    """True if only `reader` reads x, at the same indices each time, and y is declared after x in the same block."""
    assert isinstance(x.owner, Operation) and isinstance(y.owner, ValueOp)
    if x.owner.parent is not y.owner.parent or x in gathers(reader):
        return False
    reads = [subscripts for z, subscripts in reader.reads if z is x]
    users = {use.operation for use in x.uses}
    others = users - {reader}
    is_alone = all(isinstance(op, DoOp) and x in op.outputs and x not in op.inputs for op in others)
    return is_alone and all(s == reads[0] for s in reads) and x not in reader.outputs and _is_before(x.owner, y.owner)


def _long_axes(at: list[Subscript], shape: tuple[ExtentKey, ...]) -> list[tuple[Subscript, ExtentKey]]:
    """The subscripts and extents of all axes but those of extent 1."""
    return [(i, n) for i, n in zip(at, shape, strict=True) if n != 1]


def _view(x: SSAValue, y: SSAValue, reader: DoOp, written: list[Subscript]) -> SSAValue:
    """Let a statement read a view of x that has the axes of y."""
    assert isinstance(y.owner, ValueOp) and y.owner.parent is not None
    view = ReshapeOp(x, y.owner.sizes, y.type)
    view.location = reader.location
    y.owner.parent.insert_op_before(view, y.owner)
    reads = [(view.result, written) if z is x else (z, at) for z, at in reader.reads]
    reader.set_accesses(reads, reader.writes)
    return view.result


def _is_before(one: Operation, other: Operation) -> bool:
    return one.is_before_in_block(other)


def _location(x: SSAValue) -> Attribute | None:
    return x.owner.location if isinstance(x.owner, Operation) else None
