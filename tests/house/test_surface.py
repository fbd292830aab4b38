"""docs/surface: every promise has a test, every mark names a promise, and the pages are current."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sources import ROOT


@pytest.fixture(scope="module")
def surface() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")
        return importlib.import_module("surface_pages")


def finished(surface: ModuleType) -> list[Any]:
    """The rows of the lists that are complete."""
    return [row for row in surface.rows() if row.id.partition("/")[0] not in surface.unfinished()]


def test_every_mark_names_a_row(surface: ModuleType) -> None:
    known = {row.id for row in surface.rows()}
    assert [mark for mark in surface.marks() if mark.row not in known] == []
    assert [x.id for x in surface.exercises() if not known.issuperset(x.shows)] == []


def test_every_row_is_shown(surface: ModuleType) -> None:
    marked = {mark.row for mark in surface.marks()}
    bare = [row.id for row in finished(surface) if row.id not in marked and not surface.exercises_of(row)]
    assert bare == [], "rows that no test shows"


def test_every_name_of_a_row_is_known(surface: ModuleType) -> None:
    """A class of ops or a beginning of case ids that nothing has any more is a mistake."""
    classes = {name for x in surface.exercises() for name in x.classes}
    assert {name for row in surface.rows() for name in row.ops} - classes == set()
    starts = {start for row in surface.rows() for start in row.cases}
    assert {s for s in starts if not any(f"{x.id}-".startswith(f"{s}-") for x in surface.exercises())} == set()


def test_ops_are_shown_in_both_modes_and_compiled(surface: ModuleType) -> None:
    """A row about an op needs a row of the op tables that is compiled, and differentiated unless it is discrete.

    Unless a test is marked for it.
    """
    marked = {mark.row for mark in surface.marks()}
    for row in finished(surface):
        found = surface.exercises_of(row) if row.id not in marked else []
        if found:
            assert any((x.is_differentiated or row.is_discrete) and x.is_compiled for x in found), row.id


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("import pytest\n@pytest.mark.shows('a/1-b', 'a/1-c')\ndef test_x(): ...\n", True),
        ("import pytest\n@pytest.mark.shows('a/1-b')\ndef helper(): ...\n", False),
        ("import pytest\nmarks = [pytest.mark.shows('a/1-b')]\n", False),
        ("import pytest\n@pytest.mark.shows(*ROWS)\ndef test_x(): ...\n", False),
    ],
)
def test_marks_are_read_from_the_source(
    surface: ModuleType, text: str, is_found: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surface, "TESTS", tmp_path)
    path = tmp_path / "test_some.py"
    path.write_text(text)
    if is_found:
        found = [(mark.row, mark.path, mark.test) for mark in surface.marks_in(path)]
        assert found == [("a/1-b", "test_some.py", "test_x"), ("a/1-c", "test_some.py", "test_x")]
    else:
        with pytest.raises(ValueError, match=r"decorates tests, and its arguments are literal strings"):
            list(surface.marks_in(path))


def test_the_pages_are_current(surface: ModuleType) -> None:
    for path, text in surface.pages().items():
        assert path.exists(), "run python docs/build.py"
        if path.stem in surface.unfinished():
            continue
        assert path.read_text(encoding="utf-8") == text, "run python docs/build.py"
