"""`pytest --affected`: the tests that a change reaches, the nearest ones first, within a budget of seconds.

    pytest --affected              what is not upstream yet, or not committed yet
    pytest --affected-by HEAD~3    what changed since a commit
    pytest --affected --ci         in 10 minutes instead of 2;  --all: everything that the change reaches

`changes.py` finds the tests, by the record of reach.py. What most tests reach, as a pass of every compilation, does not
run all of them: first those that have its name, then those that have a rare word of the changed lines, then of each
test function the case that reaches least, and so on, until the seconds of times.txt fill the budget. The first lines of
the run say how many are left to `pytest`.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
import reach
from budgets import ALL, CI, DEFAULT, LONGEST, function_of, recorded
from changes import Affected, Change, NoHistory, Search, base_of, changes_since
from processes import start_pool

SECONDS: Final = {DEFAULT: 120.0, CI: 600.0, ALL: float("inf")}
"""Of one processor, for the tests of a change."""
SHORT: Final = 0.1
"""Seconds of a case of a test whose time is not recorded."""
SHARE: Final = 0.2
"""Of the seconds: for tests that read the changed files as texts, such as those of the house."""
RARE: Final = 40
"""Tests that have a word in their names: a word of more tests tells nothing."""
POOLED: Final = 30.0
"""Seconds. More of them run in a pool of processes."""


@dataclass
class Plan:
    """Tests that run: recorded ones by their ids, the nearest first, changed ones by file or function.

    guessed: files without a record. rows: file → cases that have the name of what changed, also of tests that are not
    recorded. recorded: functions.
    """

    ids: dict[str, None] = field(default_factory=dict)
    new: set[str] = field(default_factory=set)
    guessed: set[str] = field(default_factory=set)
    rows: dict[str, set[str]] = field(default_factory=dict)
    recorded: set[str] = field(default_factory=set)
    seconds: float = 0.0
    left: float = 0.0
    lines: list[str] = field(default_factory=list)

    @property
    def files(self) -> list[str]:
        """The files that hold the tests."""
        return sorted({id.partition("::")[0] for id in [*self.ids, *self.new, *self.guessed]})

    def is_new(self, id: str) -> bool:
        """Is a test changed, or its whole file?"""
        return not {function_of(id), id.partition("::")[0]}.isdisjoint(self.new)

    def has(self, function: str, case: str) -> bool:
        """May a case of a test run?   case: "" for a test without parameters"""
        file = function.partition("::")[0]
        if (f"{function}[{case}]" if case else function) in self.ids or self.is_new(function):
            return True
        return function not in self.recorded or case in self.rows.get(file, ())


KEY: Final = pytest.StashKey[Plan]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--affected", action="store_true", help="tests that what is not upstream, or committed, reaches")
    parser.addoption("--affected-by", metavar="REV", help="tests that what changed since a commit reaches")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Collect nothing but the files that hold tests to run."""
    if not config.getoption("--affected") and config.getoption("--affected-by") is None:
        return
    given = getattr(config, "workerinput", {}).get("affected")
    plan: Plan = pickle.loads(given) if given is not None else _plan_of(config)
    config.stash[KEY] = plan
    config.args[:] = [str(reach.ROOT / file) for file in plan.files if (reach.ROOT / file).exists()]
    if not config.args:
        pytest.exit("\n".join(plan.lines), returncode=0)
    if plan.seconds > POOLED:
        start_pool(config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    if KEY in node.config.stash:
        node.workerinput["affected"] = pickle.dumps(node.config.stash[KEY])


def pytest_report_header(config: pytest.Config) -> list[str]:
    return config.stash[KEY].lines if KEY in config.stash else []


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Generator[None, object, object]:
    """Do not make thousands of cases that will not run: of each test those of the plan, or one."""
    result = yield
    plan = metafunc.config.stash.get(KEY, None)
    calls: list[Any] | None = getattr(metafunc, "_calls", None)
    if plan is not None and calls:
        function = metafunc.definition.nodeid
        calls[:] = [call for call in calls if plan.has(function, call.id)] or calls[:1]
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is not in the plan; changed tests, and those that are not recorded, run while seconds are left."""
    plan = config.stash.get(KEY, None)
    if plan is None:
        return
    kept = {item for item in items if item.nodeid in plan.ids}
    left = plan.left
    for item in sorted(items, key=lambda item: not plan.is_new(item.nodeid)):
        longest = left if plan.is_new(item.nodeid) else min(left, LONGEST[DEFAULT])
        seconds = _seconds(item.nodeid)
        if item not in kept and plan.has(*_names(item.nodeid)) and seconds <= longest:
            kept.add(item)
            left -= seconds
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = _nearest_first([item for item in items if item in kept], plan)


def _nearest_first(items: list[pytest.Item], plan: Plan) -> list[pytest.Item]:
    """File by file, as modules share fixtures: the file with the nearest test first, and its nearest test first."""
    turns = {id: turn for turn, id in enumerate(plan.ids)}
    own = {item: -1 if plan.is_new(item.nodeid) else turns.get(item.nodeid, len(turns)) for item in items}
    first = dict[str, int]()
    for item in items:
        file = item.nodeid.partition("::")[0]
        first[file] = min(own[item], first.get(file, len(turns)))
    return sorted(items, key=lambda item: (first[file := item.nodeid.partition("::")[0]], file, own[item]))


def _names(id: str) -> tuple[str, str]:
    """The function of a test, and its case."""
    function, _, case = id.partition("[")
    return function, case.removesuffix("]")


def _seconds(id: str) -> float:
    return recorded().get(function_of(id), SHORT)


# --- the plan --------------------------------------------------------------------------------------------------------


def _plan_of(config: pytest.Config) -> Plan:
    """The tests of this change.   Raises: UsageError"""
    try:
        base, called = base_of(config.getoption("--affected-by"))
        changes = changes_since(base)
    except NoHistory as error:
        raise pytest.UsageError(f"--affected: {error}") from error
    except SyntaxError as error:
        raise pytest.UsageError(f"--affected: {error}") from error
    level = ALL if config.getoption("--all") else CI if config.getoption("--ci") else DEFAULT
    plan = planned(changes, Search(reach.read()), SECONDS[level])
    plan.lines.insert(0, f"affected: {len(changes)} files changed since {base[:10]}, {called}")
    return plan


def planned(changes: Sequence[Change], search: Search, seconds: float) -> Plan:
    """The nearest tests of some changes, within a budget of seconds."""
    found = search.tests_of(changes)
    tests = search.reach.tests
    plan = Plan(new=found.new, guessed=found.guessed - found.new, recorded={function_of(test) for test in tests})
    spent = _take(plan, [tests[k] for k in _by_nearness(changes, found, search)], seconds * (1 - SHARE))
    readers = sorted(found.readers - found.tests, key=lambda k: (_seconds(tests[k]), k))
    spent += _take(plan, [tests[k] for k in readers], seconds * SHARE)
    for id in plan.ids.keys() & {tests[k] for k in _named(changes, search)}:
        function, case = _names(id)
        if case:
            plan.rows.setdefault(function.partition("::")[0], set()).add(case)
    plan.seconds, plan.left = spent, max(seconds - spent, 0.0)
    plan.lines += _report(plan, found)
    return plan


def _take(plan: Plan, ids: Iterable[str], seconds: float) -> float:
    """Put tests into the plan while their seconds fit; the seconds that they take."""
    spent = 0.0
    for id in ids:
        own = _seconds(id)
        if spent + own <= seconds:
            plan.ids[id] = None
            spent += own
    return spent


def _by_nearness(changes: Sequence[Change], found: Affected, search: Search) -> list[int]:
    """Named tests first, then those with a word of the changed lines, then the case of each test function that reaches
    least, then the second one, and so on."""
    sizes = search.sizes
    named = found.tests & _named(changes, search)
    worded = found.tests & search.with_words({word for change in changes for word in change.words}, RARE)
    turns: defaultdict[str, int] = defaultdict(int)
    order = list[tuple[int, int, int, int]]()
    ranks = {test: 0 if test in named else 1 if test in worded else 2 for test in found.tests}
    for test in sorted(found.tests, key=lambda k: (ranks[k], sizes[k], k)):
        function = function_of(search.reach.tests[test])
        order.append((ranks[test], turns[function], sizes[test], test))
        turns[function] += 1
    return [test for *_, test in sorted(order)]


def _named(changes: Sequence[Change], search: Search) -> set[int]:
    """The tests that have the name of a changed module, class, function or statement."""
    words = {name for change in changes for name in _words(change)}
    return {test for word in words for test in search.named(word)}


def _words(change: Change) -> Iterator[str]:
    if change.path.endswith(".py") and not change.path.startswith("tests/"):
        yield change.path.rpartition("/")[2].removesuffix(".py")
        for unit in change.units:
            yield from (one.strip("_") for one in unit.partition("[")[0].partition(".")[0].split(","))


def _report(plan: Plan, found: Affected) -> Iterator[str]:
    reached = found.tests | found.readers
    n = len(plan.ids)
    yield f"affected: {len(reached)} recorded tests reach them; {n} of these run, about {plan.seconds:.0f} s"
    if n < len(reached):
        yield f"affected: {len(reached) - n} reach them too and are left to `pytest`, `--affected --ci` or `--all`"
    if found.new:
        yield f"affected: new or changed tests: {_some(found.new)}"
    if plan.guessed:
        yield f"affected: not recorded, but of its name or importing it: {_some(plan.guessed)}"
    if found.unreached:
        yield f"affected: no recorded test reaches {_some(found.unreached)}"


def _some(names: Iterable[str]) -> str:
    """Up to six names."""
    known = sorted(names)
    return ", ".join(known[:6] + ["…"] * (len(known) > 6))
