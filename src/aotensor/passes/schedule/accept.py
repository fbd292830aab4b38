"""Accept a user-written nest in place of the compiler's, if it is proved to compute the same.

The compiler's nest after its passes is the reference. Five properties are checked: both compute the same terms
(`meaning`), the order of the loops preserves every dependence (`order`), every buffer has all elements that are
accessed, loops may run as scheduled (`words`), and results are in the memory that the caller expects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator

from xdsl.dialects import func
from xdsl.dialects.builtin import UNKNOWN_LOC, IndexType, ModuleOp
from xdsl.ir import Operation, SSAValue

from aotensor.errors import ScheduleError
from aotensor.ir.context import functions_of
from aotensor.ir.location import is_located, locate
from aotensor.ir.nest.loops import LoopOp
from aotensor.ir.nest.ops import DoOp, ValueOp
from aotensor.ir.nest.tree import loops_around, root_of, statements
from aotensor.ir.upstream import walk
from aotensor.passes.schedule.keys import (
    DIVISIONS,
    attributes_of,
    balances_of,
    facts_of,
    facts_of_record,
    has_same_body,
    loops_of,
    memory_reuses,
    model_line,
    names_in,
    outputs_of,
    read_term,
    records_of,
    result_key,
    rows_of,
    statements_touching,
    unverifiable,
)
from aotensor.passes.schedule.legality import (
    IllegalLoop,
    check_extents,
    check_words,
    extent_keys,
    shape_of,
    words_of,
)
from aotensor.passes.schedule.meaning import Meaning
from aotensor.passes.schedule.order import Broken, Order
from aotensor.passes.schedule.reader import Unreadable, facts
from aotensor.passes.schedule.table import Table, Term
from aotensor.passes.schedule.text import Schedule
from aotensor.passes.schedule.write_record import Record, term_of
from aotensor.passes.target import Target


def accept(own: ModuleOp, text: str, name: str, target: Target) -> ModuleOp:
    """Prove that a schedule computes the same as the compiler's nest; return it with the model's source locations.

    own: the compiler's nest. text: the schedule. name: the schedule's file, for messages.

    Raises: ScheduleError with the wrong line of the schedule, and the corresponding line of the model.
    """
    schedule = Schedule(text, name)
    mine, theirs = ({f.sym_name.data: f for f in functions_of(module)} for module in (own, schedule.module))
    if list(mine) != list(theirs):
        names = [", ".join(n for n in found if "." not in n) or "nothing" for found in (theirs, mine)]
        raise ScheduleError(
            f"{schedule.name}: this is a schedule of {names[0]}, not of {names[1]}"
            if names[0] != names[1] else f"{schedule.name}: this is a schedule of another version of {names[0]}",
            hint="write it again with `aotensor compile --emit nest`",
        )  # fmt: skip
    for symbol, function in theirs.items():
        if function.function_type != mine[symbol].function_type or facts_of(function) != facts_of(mine[symbol]):
            raise ScheduleError(
                f"{schedule.where(function)}: {symbol} has other inputs or outputs in this version of the model",
                hint="write the schedule again with `aotensor compile --emit nest`",
            )
        _Comparison(schedule, mine[symbol], function, target).run()
    outside = [[facts(op) for op in m.body.block.ops if op not in functions_of(m)] for m in (own, schedule.module)]
    if sorted(map(str, outside[0])) != sorted(map(str, outside[1])):
        raise ScheduleError(f"{schedule.name}: it declares other functions than the nest of the compiler does")
    return schedule.module


class _Comparison:
    """Compares one function of a schedule (`given`) with the compiler's nest (`own`)."""

    def __init__(self, schedule: Schedule, own: func.FuncOp, given: func.FuncOp, target: Target) -> None:
        self.schedule, self.own_function, self.given_function, self.target = schedule, own, given, target
        self.table = Table()
        self.reading: dict[Term, bool] = {}

    def run(self) -> None:
        if rows_of(self.own_function) == rows_of(self.given_function):
            for mine, theirs in zip(walk(self.own_function), walk(self.given_function), strict=True):
                theirs.location = mine.location
            return  # nothing was changed
        try:
            self.own = Meaning(self.table, self.own_function)
            effects = self.own.effects()
            Order(self.own).check()
        except (Unreadable, Broken) as error:
            raise ScheduleError(
                f"{self.schedule.where(self.given_function)}: {self.own_function.sym_name.data} does not "
                f"support schedules: it cannot be proved what its own nest computes: {error}"
            ) from error
        self.first: dict[Term, DoOp] = {}
        for op, record in records_of(self.own):
            self.first.setdefault(term_of(record, self.table), op)
        try:
            self.given = Meaning(self.table, self.given_function)
            found = self.given.effects()
            self._check_steps()
            self._compare(effects, found)
            Order(self.given).check()
            self._check_memory()
            self._check_loops()
        except Unreadable as error:
            raise self._unreadable(error) from error
        except Broken as error:
            raise self._broken(error) from error
        except IllegalLoop as error:
            raise self._refused(error) from error
        self._locate()

    # --- what is computed ----------------------------------------------------------------------------------------

    def _compare(self, own: list[tuple[Operation, Term]], given: list[tuple[Operation, Term]]) -> None:
        if [term for _, term in own] == [term for _, term in given]:
            self._check_guards(own, given)
            self._check_reads()
            return
        self._check_missing()
        for op, record in records_of(self.given):
            if term_of(record, self.table) not in self.first:
                self._check_blocks(op)
                raise self._foreign(op, record)
        for (effect, term), (_, wanted) in zip(given, own, strict=False):
            if term != wanted:
                raise ScheduleError(
                    f"{self.schedule.where(effect)}: this returns or checks something else than the model does"
                )
        raise ScheduleError(
            f"{self.schedule.where(self.given_function)}: it has {len(given)} checks instead of {len(own)}"
        )

    def _check_missing(self) -> None:
        """Check that the schedule has every statement of the compiler's nest.

        Raises: ScheduleError with the first statement that the schedule lacks.
        """
        left = Counter(map(names_in, statements(self.given_function)))
        if not left.keys() <= {*map(names_in, statements(self.own_function))}:
            return  # one of them was changed
        for op in statements(self.own_function):
            names = names_in(op)
            left[names] -= 1
            if len(names) > 1 and left[names] < 0:  # copies may be added and removed
                where = self.schedule.where(self.given_function)
                raise ScheduleError(
                    f"{where}: a statement of the model is missing ({model_line(op)})",
                    lines=[f"{model_line(op)}   {str(op).splitlines()[0]}"],
                )

    def _check_steps(self) -> None:
        known = {s.step for s in self.own.steps.values()}
        for loop in loops_of(self.given_function):
            steps = self.given.steps.get(self.given.variable(loop))
            least = None if steps is None else self.table.least(steps.step)
            if steps is not None and steps.step not in known and (least is None or least < 1):
                raise IllegalLoop(loop, "it cannot be proved that the step is at least 1")

    def _check_guards(self, own: list[tuple[Operation, Term]], given: list[tuple[Operation, Term]]) -> None:
        """Check that no statement precedes a check that it follows in the compiler's nest: it may guard its indices."""
        before = dict(self._guarded(self.own, [op for op, _ in own]))
        for op, record, count in self._with_counts(self.given, [op for op, _ in given]):
            if count < before.get(term_of(record, self.table), 0):
                raise ScheduleError(f"{self.schedule.where(op)}: this runs before a check that it needs")

    def _guarded(self, meaning: Meaning, checks: list[Operation]) -> Iterator[tuple[Term, int]]:
        found: dict[Term, int] = {}
        for _, record, count in self._with_counts(meaning, checks):
            term = term_of(record, self.table)
            found[term] = min(found.get(term, count), count)
        yield from found.items()

    @staticmethod
    def _with_counts(meaning: Meaning, checks: list[Operation]) -> Iterator[tuple[DoOp, Record, int]]:
        places = {op: k for k, op in enumerate(walk(meaning.function))}
        marks = [places[op] for op in checks]
        for op, record in records_of(meaning):
            yield op, record, sum(mark < places[op] for mark in marks)

    def _check_reads(self) -> None:
        """Check that the compiler's nest contains all reads of the schedule: other reads may be out of bounds."""
        known = {read_term(record, self.own) for _, record in records_of(self.own)}
        for op, record in records_of(self.given):
            if self._reads(record.made) and read_term(record, self.given) not in known:
                self._check_blocks(op)
                raise self._foreign(op, record)
        done = {result_key(op, self.own) for op in unverifiable(self.own_function)}
        for other in unverifiable(self.given_function):
            if result_key(other, self.given) not in done and not self._divides(other):
                raise ScheduleError(f"{self.schedule.where(other)}: the model does not compute this")

    def _reads(self, x: Term) -> bool:
        """Does an expression contain loads other than elements of values, which are checked separately?"""
        for y in self.table.parts(x, self.reading):
            node = self.table.nodes[y]
            is_read = node.tag in ("read", "whole", "gathered")
            self.reading[y] = is_read or (node.tag != "value" and any(self.reading[z] for z in node.args))
        return self.reading[x]

    def _divides(self, op: Operation) -> bool:
        """Is an operation a division by a number that is known to be positive?"""
        is_division = isinstance(op, DIVISIONS) and isinstance(op.results[0].type, IndexType)
        least = self.table.least(self.given.scalar(op.operands[1])) if is_division else None
        return least is not None and least >= 1

    def _check_blocks(self, op: DoOp) -> None:
        """Check that loops around a statement cover whole blocks of iterations.

        Raises: Refused with a loop that does not.
        """
        for loop in loops_around(op):
            x = self.given.variable(loop)
            node = self.table.nodes[self.given.domains[x]]
            if node.tag == "range" and not self.table.free(node.args[0]).isdisjoint(self.given.steps):
                raise IllegalLoop(loop, "it cannot be proved that this loop covers each iteration of a block once")

    def _foreign(self, op: DoOp, record: Record) -> ScheduleError:
        """The error for a statement that the compiler's nest lacks, with the difference from the most similar one."""
        nearest, what = None, "this is not a statement of the model"
        if any(has_same_body(op, other) for other in statements(self.own_function)):
            what = "it computes with other numbers, functions or fastmath flags than the model"
        for other, wanted in records_of(self.own):
            if not has_same_body(op, other):
                continue
            same = [facts_of_record(r, self.table) for r in (record, wanted)]
            nearest = nearest or other
            if attributes_of(op) != attributes_of(other):
                continue
            what = "it reads or writes other elements than the model asks for"
            if same[0][:2] == same[1][:2]:
                nearest, what = other, "it runs over other iterations than the model asks for"
                break
        lines = [self.schedule.source(op)]
        if nearest is not None:
            lines.append(f"the model: {model_line(nearest)}")
            what += f" ({model_line(nearest)})"
        return ScheduleError(f"{self.schedule.where(op)}: {what}", lines=lines)

    def _refused(self, error: IllegalLoop) -> ScheduleError:
        return ScheduleError(f"{self.schedule.where(error.op)}: {error.why}", lines=self._lines(error.op))

    def _unreadable(self, error: Unreadable) -> ScheduleError:
        """The error for a value without a term; it names the statement, or a loop that does not cover whole blocks."""
        try:
            for op in statements(self.given_function):
                self._check_blocks(op)
        except IllegalLoop as refused:
            return self._refused(refused)
        except Unreadable:
            pass
        where = self.schedule.where(error.op or self.given_function)
        return ScheduleError(f"{where}: it cannot be proved that this computes the same: {error}")

    def _broken(self, error: Broken) -> ScheduleError:
        first, second = error.first, error.second
        name = f"%{error.value.name_hint}" if error.value.name_hint else self._label(error.value)
        lines = [
            f"{self.schedule.where(op)}   {self._model_of(op)}   {self.schedule.source(op)}" for op in (first, second)
        ]
        return ScheduleError(
            f"{self.schedule.where(second)}: {name} {error.how}: line {self.schedule.line(second)} "
            f"({self._model_of(second)}) depends on line {self.schedule.line(first)} ({self._model_of(first)})",
            lines=lines,
        )

    def _label(self, x: SSAValue) -> str:
        """The printed name of a value without a name hint."""
        owner = x.owner
        if isinstance(owner, Operation):
            text = self.schedule.source(owner)
            if text.startswith("%"):
                return text.split()[0].rstrip(":,")
        return "a value"

    def _model_of(self, op: Operation) -> str:
        for statement, record in records_of(self.given):
            if statement is op and (found := self.first.get(term_of(record, self.table))) is not None:
                return model_line(found)
        same = (other for other in walk(self.own_function) if isinstance(op, DoOp) and has_same_body(op, other))
        return model_line(next(same, None))

    def _lines(self, op: Operation) -> list[str]:
        held = [x for x in walk(op) if isinstance(x, DoOp)]
        return [self.schedule.source(op), *(f"the model: {self._model_of(x)}" for x in held[:1])]

    # --- memory and loops ----------------------------------------------------------------------------------------

    def _check_memory(self) -> None:
        mine, theirs = (outputs_of(m) for m in (self.own, self.given))
        if mine != theirs:
            where = self.schedule.where(self.given_function)
            raise ScheduleError(f"{where}: results are stored in other outputs than in the nest of the compiler")
        known = {(self._term(self.own, x), self._term(self.own, old)) for x, old in memory_reuses(self.own_function)}
        for x, old in memory_reuses(self.given_function):
            is_value = isinstance(root_of(old).owner, ValueOp)
            if x.type != old.type or (
                not is_value and (self._term(self.given, x), self._term(self.given, old)) not in known
            ):
                raise ScheduleError(f"{self.schedule.where(x.owner)}: it cannot share the memory of that value")  # type: ignore[arg-type]

    def _term(self, meaning: Meaning, x: SSAValue) -> Hashable:
        x = root_of(x)
        return meaning.definition(x).closed.term if isinstance(x.owner, ValueOp) else meaning.scalar(x)

    def _check_loops(self) -> None:
        balances = {n.args[1:] for n in balances_of(self.own)}
        trusted = {(words_of(op), shape_of(op, self.own)) for op in loops_of(self.own_function)}
        for op in loops_of(self.given_function):
            if (words_of(op), shape_of(op, self.given)) not in trusted:
                check_words(op, self.given, self.target)
        for node in balances_of(self.given):
            if (node.args[1], *node.args[3:]) not in {(b[0], *b[2:]) for b in balances}:
                raise ScheduleError(
                    f"{self.schedule.where(self.given_function)}: nest.balance divides the loop by the entries of "
                    "another matrix"
                )
        check_extents(walk(self.given_function), self.given, extent_keys(self.own))
        for value in (x for x in walk(self.given_function) if isinstance(x, ValueOp) and x.first is not None):
            around = value.parent_op()
            if not isinstance(around, LoopOp) or not around.schedule.cores:
                raise IllegalLoop(value, "only a loop over chunks on several cores may have `first`")

    def _locate(self) -> None:
        """Copy source locations from the compiler's nest to the operations of the schedule."""
        for op, record in records_of(self.given):
            found = self.first.get(term_of(record, self.table))
            if found is not None:
                for inner in walk(op):
                    inner.location = found.location
        for one in walk(self.given_function):
            if isinstance(one, LoopOp | ValueOp):
                one.location = next(
                    (x.location for x in statements_touching(one) if x.location is not UNKNOWN_LOC), UNKNOWN_LOC
                )
        own = self.own_function.location
        self.given_function.location = own
        locate(self.given_function, next((op.location for op in walk(self.own_function) if is_located(op)), own))
