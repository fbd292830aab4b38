"""Edits of a nest by the names of its loops, such as `f.schedule.tile("n", 32)`.

    nest.for %i in %n { … }         →         nest.for %t in %n step 32 {
                                                %e = min(%t + 32, %n)
                                                nest.for %i = %t to %e { … }
                                              }

A loop is named after the dim that it iterates over, `n`, and further ones `n.1`, `n.2` in textual order; a loop over
blocks of a dim is `n.blocks`, one over chunks for several cores `n.chunks`, and one over stored entries `entries`.
Edits are not checked for correctness: the resulting text is checked like any other (`accept`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Final, TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from aotensor.errors import ScheduleError
from aotensor.ir.context import functions_of, parse_module
from aotensor.ir.index_builder import end_of_block
from aotensor.ir.nest.loops import ForOp, LoopOp
from aotensor.ir.nest.names import COUNTER, loop_names
from aotensor.ir.nest.schedule import Schedule
from aotensor.ir.text import text_of
from aotensor.ir.upstream import walk
from aotensor.passes.nest.interchange import reorder
from aotensor.passes.nest.mark_independent import is_parallel
from aotensor.passes.schedule.meaning import Meaning
from aotensor.passes.schedule.table import Table

_LISTED: Final = ("jam", "lanes", "rows", "parallel", "cores")
"""Properties of loops that `f.schedule` shows."""
Edit: TypeAlias = tuple[str, tuple[str | int, ...]]
"""The name of an edit, and its arguments."""


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Apply edits to the text of a nest; return the new text, in which loops have their names.

    Raises: ScheduleError for a loop that does not exist, or to which an edit cannot be applied.
    """
    nest = Nest(parse_module(text))
    for name, told in edits:
        EDITS[name](nest, *told)
    return nest.text()


def described(text: str, edits: Sequence[Edit]) -> list[str]:
    """The loops of a nest after some edits, one line each: name and schedule, with depth as indentation."""
    nest = Nest(parse_module(text))
    for name, told in edits:
        EDITS[name](nest, *told)
    return nest.lines()


class Nest:
    """A nest-level module, with names for the loops of its first function."""

    def __init__(self, module: ModuleOp) -> None:
        self.module = module
        self.function = functions_of(module)[0]
        self.loops = {name: loop for loop, name in loop_names(self.function).items()}

    def loop(self, name: str) -> LoopOp:
        """The loop with this name. Raises: ScheduleError that lists the names of all loops."""
        if name not in self.loops:
            close = get_close_matches(name, self.loops, 1)
            hint = f"did you mean {close[0]}?" if close else None
            raise ScheduleError(
                f"there is no loop {name!r}; the loops are {', '.join(self.loops) or 'none'}", hint=hint
            )
        return self.loops[name]

    def loop_named(self, name: str) -> ForOp:
        loop = self.loop(name)
        if not isinstance(loop, ForOp):
            raise ScheduleError(f"loop {name} iterates over stored entries, not over an extent")
        return loop

    def text(self) -> str:
        for name, loop in self.loops.items():
            loop.counter.name_hint = COUNTER + name
        return text_of(self.module, brief=True)

    def lines(self) -> list[str]:
        names = {loop: name for name, loop in self.loops.items()}
        found = []
        for op in walk(self.function):
            if isinstance(op, LoopOp):
                depth, parent = 0, op.parent_op()
                while isinstance(parent, LoopOp):
                    depth, parent = depth + 1, parent.parent_op()
                words = [word for n, word in op.schedule.words.items() if n in _LISTED]
                found.append(f"{'  ' * depth}{names[op]:<{max(1, 24 - 2 * depth)}}{' '.join(words)}".rstrip())
        return found


# --- edits -----------------------------------------------------------------------------------------------------------


def _tile(nest: Nest, name: str, size: int) -> None:
    loop, tiles = nest.loop_named(name), f"{name}.tiles"
    if loop.step is not None:
        raise ScheduleError(f"loop {name} already has blocks: use block({name!r}, {size}) to change their size")
    if tiles in nest.loops:
        raise ScheduleError(f"loop {name} is already tiled: use block({tiles!r}, {size}) to change the tiles")
    step, end = _index(size), loop.upper
    body = Block(arg_types=[IndexType()])
    outer = ForOp(end, body, loop.lower or _before(loop, _index(0)), step.result)
    block = loop.parent
    assert block is not None
    block.insert_ops_before([step, outer], loop)
    block.detach_op(loop)
    last = end_of_block(Builder(InsertPoint.at_end(body)), outer.counter, step.result, end)
    body.add_op(loop)
    loop.set_bounds(last, outer.counter)
    nest.loops[tiles] = outer


def _block(nest: Nest, name: str, size: int) -> None:
    loop = nest.loop_named(name)
    if loop.step is None:
        raise ScheduleError(f"loop {name} has no blocks: use tile({name!r}, {size}) to make them")
    step = _index(size)
    old = loop.step.owner
    assert isinstance(old, Operation) and old.parent is not None
    old.parent.insert_ops_before([step], old)
    loop.step.replace_all_uses_with(step.result)


def _interchange(nest: Nest, outer: str, inner: str) -> None:
    first, second = nest.loop(outer), nest.loop(inner)
    held = list(first.body.block.ops)
    if held != [second]:
        raise ScheduleError(f"loops {outer} and {inner} cannot be interchanged: {outer} contains more than {inner}")
    if first.counter in second.operands:
        raise ScheduleError(
            f"loops {outer} and {inner} cannot be interchanged: the bounds of {inner} depend on {outer}"
        )
    reorder([first, second], [second, first])


def _fuse(nest: Nest, name: str, other: str) -> None:
    first, second = nest.loop_named(name), nest.loop_named(other)
    block = first.parent
    if first is second or block is None or second.parent is not block or not _follows(first, second):
        raise ScheduleError(
            f"loops {name} and {other} cannot be fused: {other} does not follow {name} in the same loop"
        )
    meaning = Meaning(Table(), nest.function)
    if meaning.domains[meaning.variable(first)] != meaning.domains[meaning.variable(second)]:
        raise ScheduleError(f"loops {name} and {other} cannot be fused: their iterations differ")
    op = first.next_op
    while op is not None and op is not second:
        following = op.next_op
        if isinstance(op, LoopOp) or not op.results:
            raise ScheduleError(f"loops {name} and {other} cannot be fused: there are other statements between them")
        block.detach_op(op)
        block.insert_ops_before([op], first)
        op = following
    second.counter.replace_all_uses_with(first.counter)
    held = list(second.body.block.ops)
    for inner in held:
        second.body.block.detach_op(inner)
    first.body.block.add_ops(held)
    block.detach_op(second)
    second.erase()
    kept = first.schedule
    first.reschedule(**vars(Schedule(parallel=is_parallel(first), short=kept.short, cores=kept.cores)))
    nest.loops = {key: loop for key, loop in nest.loops.items() if loop is not second}


def _follows(first: Operation, second: Operation) -> bool:
    op = first.next_op
    while op is not None and op is not second:
        op = op.next_op
    return op is second


def _jam(nest: Nest, name: str, by: int) -> None:
    nest.loop(name).reschedule(jam=by)


def _vectorize(nest: Nest, name: str, lanes: int) -> None:
    loop = nest.loop_named(name)
    loop.reschedule(lanes=lanes, masked=lanes > 1, interleave=1)


def _index(value: int) -> arith.ConstantOp:
    return arith.ConstantOp(IntegerAttr(value, IndexType()))


def _before(op: Operation, made: arith.ConstantOp) -> SSAValue:
    assert op.parent is not None
    op.parent.insert_ops_before([made], op)
    return made.result


EDITS: Final[dict[str, Callable[..., None]]] = {
    "tile": _tile, "block": _block, "interchange": _interchange, "fuse": _fuse, "jam": _jam, "vectorize": _vectorize,
}  # fmt: skip
