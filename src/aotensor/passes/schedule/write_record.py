"""Records: one write of a statement to a value, as a term of iterations, indices and result without names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from aotensor.passes.schedule.reader import Reader, Unreadable
from aotensor.passes.schedule.table import Table, Term

SET: Final = "set"
ORDERED: Final = "ordered"
"""Kinds of records other than updates, whose kind is their operation: an element is set, or depends on its old
value."""
_ZERO: Final = frozenset({"arith.addf", "arith.addi", "arith.ori", "arith.xori"})
_SAME: Final = frozenset({
    "arith.maximumf", "arith.minimumf", "arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui", "arith.andi",
    "arith.ori",
})  # fmt: skip


@dataclass(frozen=True)
class Record:
    """A write to a value: the element at indices `at` is set to, or updated with, `made` at each point of the domains.

    loops: the variables in loop order, if the order matters.
    """

    kind: str
    at: tuple[Term, ...]
    made: Term
    domains: dict[Term, Term]
    loops: tuple[Term, ...]

    @property
    def free(self) -> list[Term]:
        """The variables of the record that are not indices."""
        return [x for x in self.domains if x not in self.at]


@dataclass(frozen=True)
class ClosedTerm:
    """A value as a term of its indices, the `bound` variables; with its record if a single record writes it."""

    term: Term
    init: Term | None = None
    record: Record | None = None


def without_blocks(record: Record, reader: Reader) -> Record:
    """Replace the iterations over all blocks of a divided extent by iterations over the extent."""
    t, domains = reader.table, dict(record.domains)
    used = set().union(*(t.free(x) for x in (record.made, *record.at)))
    is_changed = True
    while is_changed:
        is_changed = False
        for x, domain in list(domains.items()):
            node = t.nodes[domain]
            if node.tag != "in":
                continue
            low, high, step, block = node.args[:4]
            count = reader.interval(t.number(0), t.round_up(t.subtract(high, low), step))
            others = set().union(*(t.free(d) for y, d in domains.items() if y not in (x, block)))
            if record.kind in (SET, ORDERED) and _is_divided(x, block, record):
                continue  # iterations of other loops come between those of two blocks
            if block in used | others or block in t.free(low) | t.free(high) or domains.get(block) != count:
                continue
            domains[x] = reader.interval(low, high)
            del domains[block]
            is_changed = True
    return replace(record, domains=domains, loops=tuple(x for x in record.loops if x in domains))


def _is_divided(x: Term, block: Term, record: Record) -> bool:
    first, last = record.loops.index(block), record.loops.index(x)
    return any(y not in record.at for y in record.loops[first + 1 : last]) and x not in record.at


def without_parts(record: Record, init: Term | None, reader: Reader, known: dict[Term, ClosedTerm]) -> Record:
    """Flatten nested sums to one sum, if each inner sum starts at the neutral element."""
    t = reader.table
    while True:
        node = t.nodes[record.made]
        inner = known.get(node.args[0]) if node.tag == "apply" else None
        if inner is None or inner.record is None or inner.record.kind != record.kind or record.kind in (SET, ORDERED):
            return record
        if not _is_neutral(inner.init, init, record.kind, t):
            return record
        part = inner.record
        new = dict(zip(part.at, node.args[1:], strict=True))
        new.update((x, t.variable()) for x in part.free)
        domains = dict(record.domains)
        domains.update((new[x], t.replace(part.domains[x], new)) for x in part.free)
        made = t.replace(part.made, new)
        record = without_blocks(Record(record.kind, record.at, made, domains, tuple(domains)), reader)


def _is_neutral(inner: Term | None, outer: Term | None, kind: str, t: Table) -> bool:
    name = kind.split("|")[0]
    if inner is None:
        return False
    if name in _SAME and inner == outer:
        return True
    node = t.nodes[inner]
    text = str(node.fact)
    if node.tag == "lin":
        return name in _ZERO and node.fact == (0, ())
    if node.tag != "op" or not text.startswith("('arith.constant'"):
        return False
    number = text.partition("'value', '")[2].split(" ")[0].rstrip("',)")
    wanted = 0.0 if name in _ZERO else 1.0 if name in ("arith.mulf", "arith.muli") else None
    try:
        return wanted is not None and float(number) == wanted
    except ValueError:
        return False


def close(
    records: Sequence[Record], frames: Sequence[Term] | None, init: Term | None, kind: str, reader: Reader
) -> tuple[ClosedTerm, tuple[int, ...] | None]:
    """The closed term of a value, and the order of that term's indices; None for the original order.

    records: the records of all statements that write it. frames: the loops around the statements, if their order
    matters. kind: element type of the value.
    """
    t = reader.table
    start = [] if init is None else [init]
    if any(t.free(x) for x in start):
        raise Unreadable("the initial value of a value differs between iterations")
    fact = (kind, init is not None)
    if len(records) == 1:
        record, names, order = _ordered(records[0], t)
        term, closed = _close_terms(record, names, t)
        whole = t.make("value", fact, [*start, term])
        is_plain = order is not None or not record.at
        return ClosedTerm(whole, init, closed if is_plain else None), order
    terms = [_close_terms(r, _numbered(r, t), t)[0] for r in records]
    found = sorted(terms) if frames is None else [*terms, *frames]
    return ClosedTerm(t.make("value", (*fact, frames is not None), [*start, *found]), init), None


def term_of(record: Record, t: Table) -> Term:
    """The closed term of a record, for any order of its indices."""
    ordered, names, _ = _ordered(record, t)
    return _close_terms(ordered, names, t)[0]


def _ordered(record: Record, t: Table) -> tuple[Record, dict[Term, int], tuple[int, ...] | None]:
    """A record with its variable indices in order of appearance, and the numbers of its variables."""
    names = _numbered(record, t)
    if not record.at or not set(record.at) <= set(record.domains) or len(set(record.at)) < len(record.at):
        return record, names, None
    order = tuple(sorted(range(len(record.at)), key=lambda k: names[record.at[k]]))
    record = replace(record, at=tuple(record.at[k] for k in order))
    numbered = (*record.at, *(x for x in names if x not in record.at))
    return record, dict(zip(numbered, range(len(names)), strict=True)), order


def _numbered(record: Record, t: Table) -> dict[Term, int]:
    """Numbers for variables: in order of appearance; variables that do not appear are ordered by domain."""
    names: dict[Term, int] = {}

    def below(x: Term) -> tuple[Term, ...]:
        return (record.domains[x],) if x in record.domains else t.nodes[x].args

    last = sorted(record.domains, key=lambda x: record.domains[x])
    for x in t.in_order((record.made, *record.at, *last), below):
        if t.is_variable(x):
            names.setdefault(x, len(names))
    return names


def _close_terms(record: Record, names: dict[Term, int], t: Table) -> tuple[Term, Record]:
    new = {x: t.make("bound", k) for x, k in names.items()}
    known: dict[Term, Term] = {}

    def closed(terms: Iterable[Term]) -> list[Term]:
        return [t.replace(x, new, known) for x in terms]

    own = [x for x in names if x in record.domains]
    is_ordered = record.kind == ORDERED or (record.kind == SET and bool(record.free))
    order = tuple(names[x] for x in record.loops) if is_ordered else ()
    at, domains = closed(record.at), closed(record.domains[x] for x in own)
    (made,) = closed([record.made])
    fact = (record.kind, len(at), tuple(names[x] for x in own), order)
    term = t.make("record", fact, [*at, made, *domains])
    bound = dict(zip((new[x] for x in own), domains, strict=True))
    return term, Record(record.kind, tuple(at), made, bound, tuple(bound))
