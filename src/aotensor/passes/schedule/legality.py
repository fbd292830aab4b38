"""Check that the loops of a nest may run as scheduled: jammed, vectorized, in parallel.

A loop that the compiler's nest also contains, with the same body, is accepted. Any other loop is checked.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Final

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import Operation, SSAValue

from aotensor.ir.nest.loops import EntriesOp, ForOp, LoopOp
from aotensor.ir.nest.ops import DoOp, ValueOp
from aotensor.ir.nest.schedule import HINTS
from aotensor.ir.nest.strides import stride_along
from aotensor.ir.nest.syntax import Subscript
from aotensor.ir.nest.tree import is_register, loops_around
from aotensor.ir.upstream import walk
from aotensor.passes.nest.mark_independent import is_parallel
from aotensor.passes.nest.vectorize import lanes_of
from aotensor.passes.schedule.meaning import Meaning
from aotensor.passes.schedule.table import Table, Term
from aotensor.passes.schedule.write_record import ORDERED
from aotensor.passes.target import Target

MOST_JAMMED: Final = 16
MOST_VECTORS: Final = 16
"""Largest number of vectors that are interleaved."""
_CHECKED: Final = ("parallel", "jam", "lanes", "cores", "masked")


class IllegalLoop(Exception):
    """Raised for a loop that may not have one of its scheduling properties, with the reason."""

    def __init__(self, op: Operation, why: str) -> None:
        super().__init__(why)
        self.op, self.why = op, why


def words_of(loop: LoopOp) -> tuple[Hashable, ...]:
    """The scheduling properties of a loop, such as `jam` or `lanes`, without hints."""
    return tuple(sorted(word for name, word in loop.schedule.words.items() if name not in HINTS))


def shape_of(loop: LoopOp, meaning: Meaning) -> Hashable:
    """A key that identifies a loop with its body."""
    rows: list[Hashable] = []
    terms: list[Term] = []
    for op in walk(loop):
        if isinstance(op, LoopOp):
            rows.append((op.name, words_of(op)))
            terms.append(meaning.domains[meaning.variable(op)])
        elif isinstance(op, DoOp):
            rows.append((op.name, len(op.inputs), len(op.outputs), str(op.positions), str(op.scatter)))
            args, made = meaning.body(op)
            last = op.body.block.last_op
            terms += [*args, *(made[x] for x in last.operands if last is not None)]  # type: ignore[union-attr]
            terms += [i for x, subscripts in op.writes for i in meaning.subscripts(list(subscripts))]
        elif isinstance(op, ValueOp):
            rows.append((op.name, str(op.result.type), op.init is None, str(op.lanes)))
    return (tuple(rows), without_names(terms, meaning.table))


def without_names(terms: Iterable[Term], table: Table) -> tuple[Term, ...]:
    """Renumber the variables of terms in order of appearance, so that terms of two loops can be compared."""
    whole = table.make("all", None, list(terms))
    found = table.in_order([whole], lambda x: table.nodes[x].args)
    variables = [x for x in found if table.is_variable(x)]
    names = {x: table.make("bound", number) for number, x in enumerate(variables)}
    return (table.replace(whole, names) if names else whole,)


def check_words(loop: LoopOp, meaning: Meaning, target: Target) -> None:
    """Check that a loop may run as scheduled. Raises: Refused with the reason if not."""
    if loop.schedule.parallel and not is_parallel(loop):
        raise IllegalLoop(loop, "parallel: its iterations write the same elements")
    if loop.schedule.jam > 1:
        _check_jam(loop, meaning)
    if loop.schedule.lanes > 1:
        _check_lanes(loop, target)
    if loop.schedule.cores:
        _check_cores(loop, meaning)
    for name, word in loop.schedule.words.items():
        if name not in HINTS and name not in _CHECKED:
            raise IllegalLoop(loop, f"{word}: only the compiler may set this property of a loop")
    if loop.schedule.masked and loop.schedule.lanes == 1:
        raise IllegalLoop(loop, "masked: the loop has no lanes")


def _check_jam(loop: LoopOp, meaning: Meaning) -> None:
    count = loop.schedule.jam
    word = f"jam {count}"
    inner = [op for op in walk(loop) if isinstance(op, LoopOp) and op is not loop]
    if count > MOST_JAMMED:
        raise IllegalLoop(loop, f"{word}: at most {MOST_JAMMED} iterations advance together")
    if loop.schedule.lanes > 1 or loop.schedule.cores or (isinstance(loop, ForOp) and loop.step is not None):
        raise IllegalLoop(loop, f"{word}: the loop already has a step, lanes or cores")
    if any(isinstance(op, EntriesOp) for op in inner):
        raise IllegalLoop(loop, f"{word}: a loop inside iterates over stored entries")
    inside = (op for op in walk(loop) if op is not loop and not isinstance(op, arith.ConstantOp))
    made_inside = {loop.counter, *(x for op in inside for x in op.results)}
    if any(x in made_inside for op in inner for x in op.operands):
        raise IllegalLoop(loop, f"{word}: the loops inside have different lengths")
    for op in walk(loop):
        if isinstance(op, DoOp):
            if op.scatter is not None:
                raise IllegalLoop(loop, f"{word}: several iterations may add to the same element")
            _check_jammed(loop, op, meaning, word)


def _check_jammed(loop: LoopOp, op: DoOp, meaning: Meaning, word: str) -> None:
    for held, (x, subscripts) in zip(op.body.block.args[len(op.inputs) :], op.writes, strict=True):
        is_shared = isinstance(x.owner, ValueOp) and not loop.is_ancestor(x.owner)
        if is_shared and not held.uses and all(stride_along(i, loop.counter) == 0 for i in subscripts):
            raise IllegalLoop(loop, f"{word}: its iterations write the same elements")
    for number in range(len(op.outputs)):
        if loops_around(op)[-1] is loop:
            continue
        for record in meaning.records.get((op, number), ()):
            if record.kind == ORDERED and meaning.variable(loop) in record.free:
                raise IllegalLoop(loop, f"{word}: it would change the order of a sum whose order is fixed")


def _check_lanes(loop: LoopOp, target: Target) -> None:
    count = loop.schedule.lanes
    word = f"lanes {count}"
    if not loop.schedule.masked:
        raise IllegalLoop(loop, f"{word}: only a masked loop supports any number of iterations")
    if not target.has_masks:
        raise IllegalLoop(loop, f"{word}: the machine does not have masked vectors")
    if isinstance(loop, ForOp) and loop.step is not None:
        raise IllegalLoop(loop, f"{word}: the loop has a step")
    kind = lanes_of(loop) if isinstance(loop, ForOp) else None
    if kind is None or not isinstance(kind, Float32Type | Float64Type):
        raise IllegalLoop(
            loop, f"{word}: its statements are not arithmetic on neighbours of one type, float32 or float64"
        )
    most = MOST_VECTORS * target.lanes(kind.bitwidth)
    if count > most or count & (count - 1):
        raise IllegalLoop(
            loop, f"{word}: a vector of the machine has {target.lanes(kind.bitwidth)} lanes of float{kind.bitwidth}, "
            f"so lanes must be a power of two of at most {most}"
        )  # fmt: skip


def _check_cores(loop: LoopOp, meaning: Meaning) -> None:
    if loops_around(loop):
        raise IllegalLoop(loop, "cores: only an outermost loop can run on several cores")
    chunk = meaning.variable(loop)
    if not isinstance(loop, ForOp) or chunk not in meaning.steps:
        raise IllegalLoop(loop, "cores: the loop is not over chunks: it has no step")
    inside = {x for op in walk(loop) if isinstance(op, ValueOp) for x in op.results}
    for op in walk(loop):
        if not isinstance(op, DoOp):
            continue
        for x, subscripts in op.writes:
            if x in inside:
                continue
            at = meaning.subscripts(list(subscripts)) if op.scatter is None else []
            if not any(i == chunk or chunk in dict(meaning.blocks_of(meaning.domains.get(i, i))) for i in at):
                raise IllegalLoop(loop, f"cores: chunks write the same elements of %{x.name_hint or 'a value'}")


def check_extents(function_ops: Iterable[Operation], meaning: Meaning, trusted: set[Hashable]) -> None:
    """Check that all accesses to buffers are in bounds. Raises: Refused if one is not."""
    for op in function_ops:
        if not isinstance(op, DoOp):
            continue
        for x, subscripts in (*op.reads, *op.writes):
            if not isinstance(x.owner, ValueOp) or is_register(x):
                continue
            for n, i in zip(meaning.sizes(x.owner), _indices(op, x, subscripts, meaning), strict=True):
                if not _is_within(i, n, meaning) and extent_key(i, n, meaning) not in trusted:
                    raise IllegalLoop(op, "it cannot be proved that every element that it accesses is in its buffer")


def _indices(op: DoOp, x: SSAValue, subscripts: Sequence[Subscript], meaning: Meaning) -> list[Term]:
    """The indices of an access to x, as terms."""
    at = meaning.subscripts(list(subscripts))
    if op.scatter is not None and x in op.outputs:
        at[0] = meaning.table.make("position", None, [meaning.body(op)[0][op.scatter.value.data]])
    return at


def extent_key(i: Term, n: Term, meaning: Meaning) -> Hashable:
    """A key of an index and the extent that bounds it."""
    parts = [i, n]
    for x in sorted(meaning.table.free(i)):
        parts.append(meaning.domains.get(x, x))
    return without_names(parts, meaning.table)


def extent_keys(meaning: Meaning) -> set[Hashable]:
    """The keys of the index and extent of all accesses to the values of a function."""
    return {
        extent_key(i, n, meaning)
        for op in walk(meaning.function) if isinstance(op, DoOp)
        for x, subscripts in (*op.reads, *op.writes) if isinstance(x.owner, ValueOp)
        for n, i in zip(meaning.sizes(x.owner), _indices(op, x, subscripts, meaning), strict=True)
    }  # fmt: skip


def _ends_by(high: Term, n: Term, t: Table) -> bool:
    """Is extent `high` known to be at most n?"""
    node, last, extent = t.nodes[high], t.upper_bound(high), t.value(n)
    if high == n or (node.tag == "min" and n in node.args) or last == 0:
        return True
    if last is not None and extent is not None and last <= extent:
        return True
    return node.tag == "op" and node.fact[0] == "arith.select" and all(_ends_by(x, n, t) for x in node.args[1:])  # type: ignore[index]


def _is_within(i: Term, n: Term, meaning: Meaning) -> bool:
    t = meaning.table
    number, extent = t.value(i), t.value(n)
    if number is not None:
        return extent is not None and 0 <= number < extent
    domain = meaning.whole(i) or meaning.domains.get(i)
    if domain is not None and t.nodes[domain].tag == "range":
        low, high = t.nodes[domain].args
        first = t.least(low)
        return first is not None and first >= 0 and _ends_by(high, n, t)
    for x in t.free(i):
        domain = meaning.domains.get(x)
        if domain is None or t.nodes[domain].tag != "in":
            continue
        for block, _ in meaning.blocks_of(domain):
            steps = meaning.steps[block]
            if t.add(i, t.add(steps.low, t.multiply(steps.step, block))) == x:
                most = t.upper_bound(steps.step)
                return steps.step == n or (most is not None and extent is not None and most <= extent)
    return False
