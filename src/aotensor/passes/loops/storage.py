"""Which values live in registers, which in memory, and how much of them.

A value stays in a register if all that reads it stands in a loop where the value is complete. What else reads it within
a loop that both share needs memory for one iteration of that loop only. The rest takes a whole buffer, the caller's own
where the value is an output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from aotensor.ir.dialect import LapackOp, ReshapeOp, ScatterOp
from aotensor.ir.dialect_control import BranchOp, ScanOp
from aotensor.ir.dialect_sparse import PatternOp
from aotensor.passes.loops.fuse_loops import Leaf, Loop, Node
from aotensor.passes.loops.slices import CompressedOp
from aotensor.passes.loops.statements import Statement, position_of


@dataclass(eq=False)
class Result:
    """One result of a statement.

    complete: number of loops around the point where its value is complete.
    in_register: the value is one scalar at that point.
    has_memory: somebody reads it from a buffer.
    shared: number of outer loops that all its readers share; the buffer holds one iteration of them.
    """

    value: SSAValue
    statement: Statement
    complete: int
    in_register: bool
    is_reduction: bool
    has_memory: bool = False
    shared: int = 0

    @property
    def in_memory(self) -> bool:
        """Is there a buffer for it?"""
        return self.has_memory or not self.in_register

    @property
    def is_reduction_in_register(self) -> bool:
        return self.is_reduction and self.in_register


@dataclass(eq=False)
class Storage:
    """Decisions for one function."""

    paths: dict[Statement, tuple[Loop, ...]] = field(default_factory=dict)
    results: dict[SSAValue, Result] = field(default_factory=dict)
    outputs: dict[SSAValue, int] = field(default_factory=dict)
    """Tensors that are written straight into the memory of output number ..."""
    same_buffer: dict[SSAValue, SSAValue] = field(default_factory=dict)
    """Tensor → the later tensor whose buffer it is built in."""

    def slices_around(self, entries: Loop) -> Loop:
        """The loop over slices that a loop over entries stands in."""
        statement = next(iter(entries.dims))
        assert statement.slices is not None
        outer = [loop for loop in self.paths[statement] if loop.dims[statement] == statement.slices.slice]
        return outer[-1]

    def overwrites_operand(self, statement: Statement) -> bool:
        """Does a result take the place of what the statement reads?  Then it must run once for each element."""
        return any(self.same_buffer.get(x) is y for x, _ in statement.reads for y, _ in statement.writes)

    def is_whole(self, result: Result) -> bool:
        """Does the buffer of a result hold all of it?"""
        return len(self.kept_positions(result)) == len(result.statement.write_map(result.value).results)

    def kept_positions(self, result: Result) -> list[int]:
        """Axes of a result that its buffer has: all but those bound by loops that every reader shares."""
        write = result.statement.write_map(result.value)
        path = self.paths[result.statement]
        loops = [loop for loop in path[: result.shared] if not loop.is_over_blocks]
        bound = {position_of(write, loop.dims[result.statement]) for loop in loops}
        return [p for p in range(len(write.results)) if p not in bound]


def plan_storage(function: func.FuncOp, nodes: Sequence[Node]) -> Storage:
    """Decide, for a function and its loops, where every result lives."""
    storage = Storage()
    _collect_paths(nodes, storage.paths)
    statement_of: dict[Operation, Statement] = {s.op: s for s in storage.paths}
    for statement, path in storage.paths.items():
        for value, _ in statement.writes:
            storage.results[value] = _classify(value, statement, path, statement_of, storage)
    _choose_destinations(function, storage)
    return storage


def _collect_paths(nodes: Sequence[Node], paths: dict[Statement, tuple[Loop, ...]]) -> None:
    pending: list[tuple[Sequence[Node], tuple[Loop, ...]]] = [(nodes, ())]
    while pending:
        level, path = pending.pop()
        for node in level:
            if isinstance(node, Leaf):
                paths[node.statement] = path
            elif isinstance(node, Loop):
                pending.append((node.body, (*path, node)))


def _classify(
    value: SSAValue,
    statement: Statement,
    path: tuple[Loop, ...],
    statement_of: dict[Operation, Statement],
    storage: Storage,
) -> Result:
    write = statement.write_map(value)
    axes = [position_of(write, loop.dims[statement]) for loop in path]
    is_index = [statement.binds(write, loop.dims[statement]) for loop in path]
    is_reduction = statement.start_of(value) is not None and False in is_index
    complete = is_index.index(False) if is_reduction else len(path)
    bound = {axis for axis, loop in zip(axes[:complete], path, strict=False) if not loop.is_over_blocks} - {None}
    in_register = len(bound) == len(write.results)
    result = Result(value, statement, complete, in_register, is_reduction)
    shared = len(path)
    for use in value.uses:
        reader = _reader(use.operation)
        user = statement_of.get(reader)
        other = storage.paths[user] if user is not None else ()
        common = _common_prefix(path, other)
        gathered = user is not None and value in user.gathers
        returned = isinstance(reader, func.ReturnOp)
        if not (result.in_register and common >= complete and not gathered and not returned):
            result.has_memory = True
            shared = min(shared, 0 if gathered or user is None else common)
    result.shared = min(shared, complete)
    return result


def _reader(op: Operation) -> Operation:
    """The operation at function level that `op` is, or stands in."""
    while not isinstance(op.parent_op(), func.FuncOp):
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _common_prefix(a: Sequence[Loop], b: Sequence[Loop]) -> int:
    count = 0
    while count < min(len(a), len(b)) and a[count] is b[count]:
        count += 1
    return count


def _choose_destinations(function: func.FuncOp, storage: Storage) -> None:
    """Let outputs, reshaped outputs and the parts that outputs are assembled from be computed in place."""
    terminator = function.body.block.last_op
    assert isinstance(terminator, func.ReturnOp)
    for number, value in enumerate(terminator.operands):
        if isinstance(value.type, TensorType) and not isinstance(value.owner, Block | arith.ConstantOp):
            storage.outputs.setdefault(value, number)
    numbers = set(storage.outputs.values())
    assert len(numbers) == len(storage.outputs)
    _overwrite_operands(storage)
    for op in reversed(list(function.body.block.ops)):
        if isinstance(op, tensor.InsertSliceOp | ScatterOp):
            target, source = op.result, op.dest
            if source.has_one_use() and not isinstance(source, BlockArgument) and _is_fresh(source):
                storage.same_buffer[source] = target
        elif isinstance(op, LapackOp):
            matrix = op.overwritten()
            if matrix is not None and matrix.has_one_use() and _is_fresh(matrix):
                storage.same_buffer[matrix] = op.tensors[0]
        elif isinstance(op, ReshapeOp) and _lies_in_output(op.result, storage):
            source = op.source
            if source not in storage.outputs and source not in storage.same_buffer and _is_fresh(source):
                storage.same_buffer[source] = op.result


def _overwrite_operands(storage: Storage) -> None:
    """Let a result take the place of an operand that is read there for the last time, element by element."""
    for statement in storage.paths:
        for y, written in statement.writes:
            r = storage.results[y]
            if r.is_reduction or not r.in_memory or not storage.is_whole(r) or y in storage.same_buffer:
                continue
            for x, map in statement.reads:
                if map == written and x.type == y.type and _is_last_read(x, statement, storage):
                    storage.same_buffer[x] = y
                    break


def _is_last_read(x: SSAValue, reader: Statement, storage: Storage) -> bool:
    """True if nobody else reads the buffer of x, which is a whole one and serves nothing else."""
    r = storage.results.get(x)
    if r is None or x in storage.outputs or x in storage.same_buffer or not r.in_memory or not storage.is_whole(r):
        return False
    if reader.read_maps(x).count(reader.read_maps(x)[0]) != len(reader.read_maps(x)) or x in reader.gathers:
        return False
    path = storage.paths[r.statement]
    for use in x.uses:
        op = _reader(use.operation)
        if op is reader.op:
            continue
        user = next((s for s in storage.paths if s.op is op), None)
        if user is None or x in user.gathers or not r.in_register:
            return False
        if _common_prefix(path, storage.paths[user]) < r.complete:
            return False
    return True


def _is_fresh(x: SSAValue) -> bool:
    """True if the tensor's buffer is made for it alone: not an input, a constant or a view of something else."""
    makers = (
        linalg.GenericOp
        | CompressedOp
        | tensor.InsertSliceOp
        | ScatterOp
        | LapackOp
        | PatternOp
        | tensor.EmptyOp
        | tensor.SplatOp
        | ScanOp
        | BranchOp
    )
    return isinstance(x.owner, makers)


def _lies_in_output(x: SSAValue, storage: Storage) -> bool:
    while x in storage.same_buffer:
        x = storage.same_buffer[x]
    return x in storage.outputs
