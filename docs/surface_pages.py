"""The documented features and the tests that show them: docs/surface/<name>.toml → <name>.md, from marks and op tables.

A test shows rows by `@pytest.mark.shows("<name>/<row>", …)`, a row of the op tables by `Case(shows=…)`, and rows about
ops name the classes of ops, or beginnings of case ids. Marks are read from the source: no test module is imported.
"""

from __future__ import annotations

import ast
import importlib
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

DOCS: Final = Path(__file__).parent
SURFACE: Final = DOCS / "surface"
TESTS: Final = DOCS.parent / "tests"
_SHOWN: Final = 5
"""Case ids that a cell names at most."""


@dataclass(frozen=True)
class Row:
    """One documented feature. id: "gradient/3.1-set"; ops, cases: what of the op tables shows it

    is_discrete: values alone show it, since no small change of an operand changes them
    """

    id: str
    holds: str
    ops: frozenset[str] = frozenset()
    cases: tuple[str, ...] = ()
    is_discrete: bool = False


@dataclass(frozen=True)
class Mark:
    """One test that shows one row.   path: relative to tests"""

    row: str
    path: str
    test: str


@dataclass(frozen=True)
class Exercise:
    """One row of the op tables: the classes of its ops with their bases, and what is checked of it.   size: in ops"""

    id: str
    size: int
    classes: frozenset[str]
    is_differentiated: bool
    is_compiled: bool
    shows: tuple[str, ...]


def tables() -> dict[str, dict[str, Any]]:
    """The lists of features by name."""
    return {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(SURFACE.glob("*.toml"))}


def unfinished() -> set[str]:
    """Names of the lists marked as having rows without a test."""
    return {name for name, table in tables().items() if table.get("is_unfinished")}


def rows() -> list[Row]:
    """The rows of all lists."""
    return [
        _row(f"{name}/{section['id']}-{slug}", value)
        for name, table in tables().items()
        for section in table["section"]
        for slug, value in section["rows"].items()
    ]


def _row(id: str, value: str | dict[str, Any]) -> Row:
    if isinstance(value, str):
        return Row(id, value)
    ops, cases = frozenset(value.get("ops", ())), tuple(value.get("cases", ()))
    return Row(id, value["holds"], ops, cases, value.get("is_discrete", False))


# --- marks ---------------------------------------------------------------------------------------------------------


@cache
def marks() -> tuple[Mark, ...]:
    """All marks of all tests, in the order of files and lines.   Raises: ValueError for one that belongs to no test"""
    return tuple(mark for path in sorted(TESTS.rglob("test_*.py")) for mark in marks_in(path))


def marks_in(path: Path) -> Iterator[Mark]:
    """The marks of one file.   Raises: ValueError for one that belongs to no test, or whose rows are no strings"""
    text = path.read_text(encoding="utf-8")
    if "mark.shows(" not in text:
        return
    tree, where = ast.parse(text), path.relative_to(TESTS).as_posix()
    tests = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    found = [Mark(row, where, test.name) for test in tests for row in _shown(test.decorator_list) if row is not None]
    if len(found) != len(list(_shown([tree]))):
        raise ValueError(f"{where}: mark.shows decorates tests, and its arguments are literal strings")
    yield from found


def _shown(nodes: Iterable[ast.AST]) -> Iterator[str | None]:
    """The arguments of `pytest.mark.shows(…)` anywhere inside, None for one that is no literal string."""
    for inner in (inner for node in nodes for inner in ast.walk(node)):
        if isinstance(inner, ast.Call) and ast.unparse(inner.func).endswith("mark.shows"):
            for argument in inner.args:
                yield argument.value if isinstance(argument, ast.Constant) else None


# --- op tables -----------------------------------------------------------------------------------------------------


@cache
def exercises() -> tuple[Exercise, ...]:
    """All rows of the op tables, built once at their own inputs."""
    folder = TESTS / "ops"
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    modules = [importlib.import_module(path.stem) for path in sorted(folder.glob("cases_*.py"))]
    return tuple(_exercise(case) for module in modules for case in module.CASES)


def _exercise(case: Any) -> Exercise:
    import numpy as np

    from aotensor.graph.walk import toposort

    arrays = case.draw(np.random.default_rng(0))
    nodes = toposort(case.outputs(case.variables(arrays)))
    classes = frozenset(base.__name__ for node in nodes for base in type(node.op).__mro__)
    return Exercise(case.id, len(nodes), classes, bool(case.differentiable(arrays)), case.compiles, tuple(case.shows))


def exercises_of(row: Row) -> list[Exercise]:
    """The rows of the op tables that show a feature: first those that name it, then the simplest ones."""
    named = row.id.rpartition("/")[2].partition("-")[2]
    starts = (f"op-{named}", *row.cases)
    found = [
        (not any(f"{x.id}-".startswith(f"{start}-") for start in starts), x.size, place, x)
        for place, x in enumerate(exercises())
        if row.id in x.shows or row.ops & x.classes or any(f"{x.id}-".startswith(f"{s}-") for s in row.cases)
    ]
    return [x for *_, x in sorted(found, key=lambda item: item[:3])]


# --- pages ---------------------------------------------------------------------------------------------------------


def pages() -> dict[Path, str]:
    """Path → text of every page."""
    return {SURFACE / f"{name}.md": _page(name, table) for name, table in tables().items()}


def _page(name: str, table: dict[str, Any]) -> str:
    lines = [
        f"# {table['title']}: properties, and the tests that show them",
        "",
        f"Generated by `python docs/build.py` from `{name}.toml`, the marks of the tests and the op tables.",
    ]
    by_row: dict[str, list[Mark]] = {}
    for mark in marks():
        by_row.setdefault(mark.row, []).append(mark)
    for section in table["section"]:
        lines += ["", f"## {section['id']} {section['title']}", "", "| name | property | tests |", "|---|---|---|"]
        for slug, value in section["rows"].items():
            row = _row(f"{name}/{section['id']}-{slug}", value)
            shown = [*map(_link, by_row.get(row.id, ())), *_cells(row)]
            lines.append(f"| {slug} | {row.holds} | {', '.join(dict.fromkeys(shown))} |")
    return "\n".join(lines) + "\n"


def _link(mark: Mark) -> str:
    title = mark.test.removeprefix("test_").replace("_", " ")
    return f"[{title}](../../tests/{mark.path})"


def _cells(row: Row) -> Iterator[str]:
    """The cells of a row: whether the op tables show both modes and compiled code."""
    groups: dict[str, list[str]] = {}
    for x in exercises_of(row):
        modes = ["reverse", "forward"] * x.is_differentiated + ["compiled"] * x.is_compiled
        groups.setdefault(", ".join(modes) or "value", []).append(x.id)
    for what in sorted(groups, key=len, reverse=True)[:1]:
        rest = ", …" if len(groups[what]) > _SHOWN else ""
        yield f"{what}: {', '.join(f'`{id}`' for id in groups[what][:_SHOWN])}{rest}"
