"""Which tests run by default, which with `--ci`, as `.ci/run` asks, and which with `--all`.

A change waits for a few minutes, so each test function has a budget of seconds, by the times in `times.txt`:

1. By default it has 0.25 s. Of a parametrised test that takes longer, cases run until it is spent: those of float64 and
   CSR first, evenly spread over the rest. A test whose single case takes more than 0.5 s waits for `--ci`.
2. With `--ci` it has 0.4 s, and at least one case runs unless that takes more than 3 s.
3. With `--all` everything runs, compiled with LLVM's optimiser.

Exceptions give a reason: `unlimited(reason)` has no budget, `unlimited(reason, "ci")` has none either, but waits for
`--ci`, and `level("ci" or "all", reason)` waits. What needs emulators, browsers or other languages (`Need.is_heavy` in
needs.py) waits for `--ci`. A test that is named by its id always runs. `--record-times` writes how long the tests of
the level took; a test that is not recorded is taken to be short.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final

import numpy as np
import pytest
from _pytest.terminal import TerminalReporter
from needs import NEEDS

TIMES: Final = Path(__file__).with_name("times.txt")
RECORDED: Final = 0.3
"""Seconds. Tests that are shorter in all their cases are not recorded."""

DEFAULT, CI, ALL = LEVELS = ("default", "ci", "all")
BUDGET: Final = {DEFAULT: 0.25, CI: 0.4}
"""Seconds of a test function."""
LONGEST: Final = {DEFAULT: 0.5, CI: 3.0}
"""Seconds that a single case may take."""
OTHERS: Final = ("complex128", "float32", "complex64", "float16", "bfloat16", "csc")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--ci", action="store_true", help="what .ci/run promises: more cases, emulators, browsers")
    parser.addoption("--all", action="store_true", help="every case, compiled with LLVM's optimiser")
    parser.addoption("--record-times", action="store_true", help="write the times of what runs into tests/times.txt")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--record-times") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Recorder(level_of_run(config)))


def is_affected(config: pytest.Config) -> bool:
    """Does affected.py say which tests run?"""
    return bool(config.getoption("--affected") or config.getoption("--affected-by"))


def level_of_run(config: pytest.Config) -> str:
    """The level that the options ask for; tests that are named by their ids or affected.py have the highest."""
    is_named = all("::" in argument for argument in config.args) or is_affected(config)
    if is_named or config.getoption("--all"):
        return ALL
    return CI if config.getoption("--ci") else DEFAULT


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what waits for a higher level; skip what this machine cannot run."""
    level = level_of_run(config)
    allowed = [item for item in items if LEVELS.index(_marked(item)) <= LEVELS.index(level)]
    kept = set(allowed) if level == ALL else {x for group in _functions(allowed) for x in _within(group, level)}
    waiting = [item for item in items if item not in kept]
    items[:] = [item for item in items if item in kept]
    if waiting:
        config.hook.pytest_deselected(items=waiting)


def _marked(item: pytest.Item) -> str:
    """The level of a test by its marks, which skip it where something is missing."""
    found = [DEFAULT]
    for mark in item.iter_markers("level"):
        level, reason = mark.args
        assert level in (CI, ALL) and reason, f"{item.nodeid}: level('ci' or 'all', reason)"
        found.append(level)
    found += [level for mark in item.iter_markers("unlimited") for level in mark.args[1:]]
    for need in (NEEDS[name] for mark in item.iter_markers("needs") for name in mark.args):
        found += [CI] * need.is_heavy
        if need.missing:
            item.add_marker(pytest.mark.skip(reason=need.reason))
    return max(found, key=LEVELS.index)


# --- budgets ---------------------------------------------------------------------------------------------------------


@cache
def recorded() -> Mapping[str, float]:
    """Test function → seconds of one of its cases, on average."""
    lines = TIMES.read_text(encoding="utf-8").splitlines() if TIMES.exists() else []
    pairs = (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    return {name: float(seconds) for seconds, name in pairs}


def function_of(nodeid: str) -> str:
    """The id without parameters, from `tests` on."""
    return nodeid.partition("[")[0]


def _functions(items: Sequence[pytest.Item]) -> Iterator[list[pytest.Item]]:
    """Cases by function."""
    found: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        found[function_of(item.nodeid)].append(item)
    yield from found.values()


def _within(cases: list[pytest.Item], level: str) -> list[pytest.Item]:
    """The cases of one function that its budget allows at a level."""
    each = recorded().get(function_of(cases[0].nodeid), 0.0)
    if each * len(cases) <= BUDGET[level] or cases[0].get_closest_marker("unlimited"):
        return cases
    n = max(int(BUDGET[level] / each + 1e-6), int(each <= LONGEST[level]))
    preferred = [case for case in cases if not _is_of_other_kind(case)]
    rest = [case for case in cases if _is_of_other_kind(case)]
    return _spread(preferred, n) + _spread(rest, n - len(preferred))


def _spread(cases: list[pytest.Item], n: int) -> list[pytest.Item]:
    """At most n cases, evenly spread."""
    return cases if n >= len(cases) else [cases[k * len(cases) // n] for k in range(n)]


def _is_of_other_kind(item: pytest.Item) -> bool:
    """True for another floating-point dtype than float64, and another format than CSR."""
    params: Mapping[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    return any(str(value) in OTHERS for value in params.values() if isinstance(value, str | np.dtype))


class _Recorder:
    """Writes what a run tells of the tests' times."""

    def __init__(self, level: str) -> None:
        self.level = level

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        seconds: defaultdict[str, float] = defaultdict(float)
        for reports in terminalreporter.stats.values():
            for report in reports:
                if isinstance(report, pytest.TestReport):
                    seconds[report.nodeid] += report.duration
        functions: defaultdict[str, list[float]] = defaultdict(list)
        for nodeid, time in seconds.items():
            functions[function_of(nodeid)].append(time)
        write_times(functions, self.level == ALL)


def write_times(found: Mapping[str, Sequence[float]], have_all_cases: bool) -> None:
    """Merge the seconds of the cases of functions that ran into the file.

    have_all_cases: did each run in all its cases? If not, recorded functions keep their times, and others get the
    median of their cases, as the fixtures of a module count for the case that comes first.
    """
    if have_all_cases:
        known = {name: each for name, each in recorded().items() if name not in found}
        known |= {name: fmean(times) for name, times in found.items() if sum(times) > RECORDED}
    else:
        known = {name: median(times) for name, times in found.items() if sum(times) > RECORDED} | {**recorded()}
    head = f"# Seconds of a case, on average, of tests that take more than {RECORDED} s in all: pytest --record-times\n"
    lines = (f"{each:.2g} {name}\n" for name, each in sorted(known.items()))
    TIMES.write_text(head + "".join(lines), encoding="utf-8")
