"""The memory plan as plain data: the bytes of the workspace that each buffer occupies, and its lifetime.

Extracted from the module after `plan-memory`: a buffer is a view of the workspace at an offset, live from its first to
its last use. Time is program order: one step per loop or other operation of the kernel at which a lifetime begins or
ends.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import FileLineColLoc, IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from aotensor.ir.location import Locations
from aotensor.ir.types import element_bytes
from aotensor.ir.upstream import ParallelOp, parallel_loop_around, walk
from aotensor.passes.memory.plan_memory import ALIGNMENT, SCOPE
from aotensor.passes.remark_texts import Expressions
from aotensor.passes.report.numbers import Numbers


@dataclass
class Buffer:
    """A range of bytes of the workspace during a lifetime.

    value: source text of its content. start, end: first and last step of its lifetime. slot: buffers of one slot share
    their bytes. chunk: the step of the loop over chunks that replicates it per concurrent chunk; -1 if none. For each
    set of dims: offset and size in bytes, and the number of replicas, None if unknown.
    """

    value: str
    file: str
    line: int
    start: int
    end: int
    slot: int
    chunk: int
    offset: list[int | None] = field(default_factory=list)
    size: list[int | None] = field(default_factory=list)
    count: list[int | None] = field(default_factory=list)
    stride: list[int | None] = field(default_factory=list)


@dataclass
class Step:
    """A step of the kernel: the source text of the operation that is executed then, and its location."""

    text: str
    file: str
    line: int


@dataclass
class Plan:
    """The workspace plan of one function. total: bytes, for each set of dims."""

    name: str
    steps: list[Step]
    buffers: list[Buffer]
    total: list[int | None]

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON values."""
        return asdict(self)


def memory_plans(
    module: ModuleOp,
    sites: Locations,
    names: Mapping[str, Mapping[Any, str]],
    dims: Mapping[str, Sequence[Mapping[str, int]]],
) -> list[Plan]:
    """The memory plans of a module's functions.   names: function → its arguments; dims: function → sets of dims"""
    writer, plans = Expressions(sites), []
    for op in module.body.block.ops:
        stem = op.sym_name.data.removesuffix(".kernel") if isinstance(op, func.FuncOp) else ""
        if isinstance(op, func.FuncOp) and op.sym_name.data == f"{stem}.kernel" and stem in names:
            plans.append(_plan(op, stem, writer, names[stem], dims.get(stem, ({},))))
    return plans


def _plan(
    kernel: func.FuncOp, name: str, writer: Expressions, names: Mapping[Any, str], dims: Sequence[Mapping[str, int]]
) -> Plan:
    block = kernel.body.block
    positions = {op: number for number, op in enumerate(walk(kernel))}
    views = [op for op in walk(kernel) if isinstance(op, memref.ViewOp) and SCOPE in op.attributes]
    moments = {view: _moments(view, block) for view in views}
    used = {op for found in moments.values() for op in found}
    ops = sorted(used, key=positions.__getitem__)
    order = [positions[op] for op in ops]
    steps = [_step(op, writer, names) for op in ops]
    buffers = []
    for view in views:
        spans = [bisect_left(order, positions[op]) for op in moments[view]] or [0]
        home = parallel_loop_around(view)
        file, line = _where(view)
        chunk = -1 if home is None else bisect_left(order, positions[_top(home, block)])
        value = writer.at(view.location, names)
        scope = view.attributes[SCOPE]
        slot = scope.value.data if isinstance(scope, IntegerAttr) else -1
        buffers.append(Buffer(value, file, line, min(spans), max(spans), slot, chunk))
    totals = []
    for one in dims:
        first, second = _evaluated(kernel, one, 0), _evaluated(kernel, one, 1)
        for view, buffer in zip(views, buffers, strict=True):
            home = parallel_loop_around(view)
            offset, size = first[view.byte_shift], _bytes(view, first)
            next_offset = second[view.byte_shift]
            buffer.offset.append(offset)
            buffer.size.append(size)
            is_known = offset is not None and next_offset is not None
            buffer.stride.append(next_offset - offset if home is not None and is_known else 0)  # type: ignore[operator]
            buffer.count.append(1 if home is None else _chunks(home, first))
        totals.append(_total(buffers))
    return Plan(name, steps, buffers, totals)


def _evaluated(kernel: func.FuncOp, dims: Mapping[str, int], number: int) -> Numbers:
    """The integers of a kernel for given dims; every parallel loop is at the chunk with this number."""
    numbers = Numbers(dims)
    for op in walk(kernel):
        numbers.learn(op)
        if isinstance(op, ParallelOp):
            lower, step = numbers[op.lower], numbers[op.step]
            numbers.bind(op.body.block.args[0], None if lower is None or step is None else lower + number * step)
        elif isinstance(op, scf.ForOp):
            numbers.bind(op.body.block.args[0], numbers[op.lb])
    return numbers


def _bytes(view: memref.ViewOp, numbers: Numbers) -> int | None:
    kind = view.results[0].type
    assert isinstance(kind, MemRefType)
    total: int = element_bytes(kind.element_type)
    for axis in range(len(kind.get_shape())):
        n = numbers.extent(view.results[0], axis)
        if n is None:
            return None
        total *= max(n, 0)
    return total


def _chunks(loop: ParallelOp, numbers: Numbers) -> int | None:
    lower, upper, step = numbers[loop.lower], numbers[loop.upper], numbers[loop.step]
    return None if lower is None or upper is None or not step else max(-(-(upper - lower) // step), 0)


def _total(buffers: Sequence[Buffer]) -> int | None:
    """The size of the workspace: the end of the last buffer, for the last set of dims; None if unknown."""
    most = 0
    for x in buffers:
        offset, size, count, stride = x.offset[-1], x.size[-1], x.count[-1], x.stride[-1]
        if offset is None or size is None or count is None or stride is None:
            return None
        most = max(most, -(-(offset + max(count - 1, 0) * stride + size) // ALIGNMENT) * ALIGNMENT)
    return most


# --- time ------------------------------------------------------------------------------------------------------------


def _moments(view: memref.ViewOp, block: Block) -> list[Operation]:
    """The operations of the kernel's top-level block that use a buffer, directly or in an operation inside."""
    return list(dict.fromkeys(_top(user, block) for user in _users(view.results[0])))


def _users(buffer: SSAValue) -> Iterator[Operation]:
    """The readers and writers of a buffer, also through views."""
    pending, seen = [buffer], {buffer}
    while pending:
        for use in pending.pop().uses:
            user = use.operation
            if isinstance(user, memref.ReinterpretCastOp | memref.SubviewOp | memref.CastOp | arith.SelectOp):
                if user.results[0] not in seen:
                    seen.add(user.results[0])
                    pending.append(user.results[0])
            else:
                yield user


def _top(op: Operation, block: Block) -> Operation:
    """The operation directly in `block` that is `op` or contains it."""
    while op.parent is not block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _step(op: Operation, writer: Expressions, names: Mapping[Any, str]) -> Step:
    is_loop = isinstance(op, scf.ForOp | scf.WhileOp | ParallelOp)
    text = writer.at(op.location, names)
    return Step(f"loop of {text}" if is_loop and text else text or op.name, *_where(op))


def _where(op: Operation) -> tuple[str, int]:
    location = op.location
    return (location.filename.data, location.line.data) if isinstance(location, FileLineColLoc) else ("", 0)
