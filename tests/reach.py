"""What each test reaches, for `--affected`: recorded by `pytest --record-reach`, kept in `reach.xz`.

A test reaches the units (units.py) of the files of the repository that run in it, in what its fixtures and cached
functions hold ready for it, and in the processes that it starts; and the other files that it reads, the folders that it
lists (`folder/`), and those that it hands to a program (`folder/**`). Cases of a test are recorded one by one.

    pytest --record-reach              what runs by default
    pytest --record-reach tests/ops    some tests; what is known of the others stays
"""

from __future__ import annotations

import lzma
import os
import pickle
import re
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import tracing
from _pytest.terminal import TerminalReporter
from units import Units

ROOT: Final = Path(__file__).parents[1]
FILE: Final = Path(__file__).with_name("reach.xz")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-reach", action="store_true", help="write what the tests reach into tests/reach.xz")


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--record-reach"):
        return
    given = getattr(config, "workerinput", {}).get("reach")
    folder = Path(given or tempfile.mkdtemp(prefix="reach-"))
    if given or not getattr(config.option, "numprocesses", None):
        config.pluginmanager.register(_Recorder(folder))
    if not given:
        config.pluginmanager.register(_Collector(folder))


class _Collector:
    """Merges what one or several processes recorded into the file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["reach"] = str(self.folder)

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        found: dict[str, frozenset[str]] = {}
        for path in self.folder.glob("*.pickle"):
            for test, (places, files) in pickle.loads(path.read_bytes()).items():
                found[test] = frozenset(({_unit(*place) for place in places} | files) - {""})
        shutil.rmtree(self.folder, ignore_errors=True)
        known = read()
        old = {test: frozenset(units) for test, units in zip(known.tests, known.sets(), strict=True)}
        write({test: units for test, units in {**old, **found}.items() if _is_defined(test)})
        terminalreporter.write_line(f"{len(found)} tests recorded in {FILE.name}, {FILE.stat().st_size / 1e3:.0f} kB")


class _Recorder:
    """Records the tests of this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.own = Path(tempfile.mkdtemp(prefix="processes-"))
        self.cache = Path(tempfile.mkdtemp(prefix="cache-"))
        self.found: dict[str, tuple[set[tuple[str, int]], set[str]]] = {}
        self.fixtures: defaultdict[object, list[tracing.Reached]] = defaultdict(list)
        os.environ.update(tracing.hook(self.own), AOTENSOR_CACHE_DIR=str(self.cache))
        tracing.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        shutil.rmtree(self.cache, ignore_errors=True)  # a function that another test has compiled is compiled again
        with tracing.reaching() as reached:
            result = yield
            for definitions in getattr(item, "_fixtureinfo").name2fixturedefs.values():  # noqa: B009
                for part in (part for one in definitions for part in self.fixtures[one]):
                    tracing.again(part)
        places, files = tracing.of_processes(self.own)
        self.found[item.nodeid] = places | reached.places(), files | reached.files
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        with tracing.reaching() as reached:
            result = yield
        self.fixtures[fixturedef].append(reached)
        return result

    def pytest_sessionfinish(self) -> None:
        (self.folder / f"{os.getpid()}.pickle").write_bytes(pickle.dumps(self.found))
        for folder in (self.own, self.cache):
            shutil.rmtree(folder, ignore_errors=True)


@cache
def _unit(file: str, line: int) -> str:
    """The unit that has a line, with its file."""
    units = _units(file)
    name = units.at(line) if units else ""
    return f"{file}::{name}" if name else ""


@cache
def _units(file: str) -> Units | None:
    try:
        return Units((ROOT / file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return None


# --- the file --------------------------------------------------------------------------------------------------------


class Reach:
    """What is recorded: which tests reach a unit or a file."""

    def __init__(self, text: str) -> None:
        head, _, body = text.partition("\n\n")
        columns, _, rows = body.partition("\n\n")
        self.tests: Final = head.splitlines()
        self._columns: Final = columns.splitlines()
        self._rows: Final = dict(_unpacked(rows.splitlines()))

    @property
    def units(self) -> Iterable[str]:
        """Units and files that some test reaches."""
        return self._rows

    def tests_of(self, unit: str) -> list[int]:
        """The positions in `tests` of those that reach a unit or file."""
        number = self._rows.get(unit)
        return [] if number is None else [*_numbers(self._columns[number])]

    def sizes(self) -> list[int]:
        """How many units each test reaches."""
        uses = Counter(self._rows.values())
        found = [0] * len(self.tests)
        for number, column in enumerate(self._columns):
            for test in _numbers(column):
                found[test] += uses[number]
        return found

    def sets(self) -> list[set[str]]:
        """The units of each test."""
        found = [set[str]() for _ in self.tests]
        columns = [[*_numbers(column)] for column in self._columns]
        for unit, number in self._rows.items():
            for test in columns[number]:
                found[test].add(unit)
        return found


def read(path: Path = FILE) -> Reach:
    """What is recorded; nothing if there is no file."""
    return Reach(lzma.decompress(path.read_bytes()).decode() if path.exists() else "\n\n\n\n")


def write(reached: Mapping[str, frozenset[str]], path: Path = FILE) -> None:
    """Write what tests reach."""
    path.write_bytes(lzma.compress(packed(reached).encode(), preset=9))


@cache
def _functions(file: str) -> frozenset[str]:
    """The names of the functions in a file of tests."""
    path = ROOT / file
    return frozenset(re.findall(r"\bdef (\w+)", path.read_text(encoding="utf-8")) if path.exists() else ())


def _is_defined(test: str) -> bool:
    """Is the function of a test still there?"""
    file, _, rest = test.partition("::")
    return rest.partition("[")[0].rpartition("::")[2] in _functions(file)


def packed(reached: Mapping[str, frozenset[str]]) -> str:
    """The text of the file: tests, distinct columns, units with the numbers of their columns."""
    tests = sorted(reached)
    columns: defaultdict[str, list[int]] = defaultdict(list)
    for number, test in enumerate(tests):
        for unit in reached[test]:
            columns[unit].append(number)
    texts = {unit: _ranges(column) for unit, column in columns.items()}
    numbers = {text: number for number, text in enumerate(sorted({*texts.values()}))}
    lines, file = [], ""
    for unit in sorted(texts):
        own, _, name = unit.partition("::")
        if own != file:
            lines.append(file := own)
        lines.append(f"\t{name}\t{numbers[texts[unit]]}")
    return "\n".join(tests) + "\n\n" + "\n".join(numbers) + "\n\n" + "\n".join(lines) + "\n"


def _unpacked(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    file = ""
    for line in lines:
        if line.startswith("\t"):
            _, name, number = line.split("\t")
            yield f"{file}::{name}" if name else file, int(number)
        else:
            file = line


def _ranges(numbers: Sequence[int]) -> str:
    """1 2 3 7 → "1-3 7", as differences: "1+2 4"."""
    parts, last, k = [], 0, 0
    while k < len(numbers):
        end = k
        while end + 1 < len(numbers) and numbers[end + 1] == numbers[end] + 1:
            end += 1
        parts.append(f"{numbers[k] - last}+{end - k}" if end > k else f"{numbers[k] - last}")
        last, k = numbers[end], end + 1
    return " ".join(parts)


def _numbers(text: str) -> Iterator[int]:
    last = 0
    for part in text.split():
        step, _, more = part.partition("+")
        first = last + int(step)
        last = first + int(more or 0)
        yield from range(first, last + 1)
