"""`--record-reach` and `--affected`: what a change reaches, on a small project with its own history."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import changes
import pytest
from affected import planned
from changes import Change, Search
from reach import Reach, packed, read, write
from sources import ROOT
from test_suite import PLUGINS
from units import Units, changed

MODEL = """
import functools

RATES = {"high": 3, "low": 1}

@functools.cache
def rate(name):
    return RATES[name]

def price(n):
    return n * rate("high")

class Basket:
    limit = 9
    def total(self):
        return price(2)
    def size(self):
        return 2

def unused():
    return 0

if __name__ == "__main__":
    print(price(1))
"""
TESTS = """
import subprocess, sys
from pathlib import Path
import pytest
import model

def test_price(): assert model.price(1) == 3

def test_rate(): assert model.rate("high") == 3

@pytest.mark.parametrize("name", ["total", "size"])
def test_basket(name): assert getattr(model.Basket(), name)()

def test_data(): assert Path("data.txt").read_text() == "x"

def test_process():
    assert subprocess.check_output([sys.executable, "-c", "import model; print(model.price(1))"], text=True) == "3\\n"
"""


# --- units -----------------------------------------------------------------------------------------------------------


def test_units_are_named_by_what_they_define() -> None:
    units = Units(MODEL)
    names = ["import", "RATES", "rate", "price", "Basket", "Basket.total", "Basket.size", "unused", "If"]
    assert [unit.name for unit in units.all if "[" not in unit.name] == names
    assert [units.at(4), units.at(6), units.at(7), units.at(14), units.at(16)] == [
        "RATES['low']", "rate", "rate", "Basket", "Basket.total",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "units"),
    [
        ("return n * rate", "return 2 * n * rate", {"price"}),
        ("def price(n):", "# why\n\ndef price(n):\n    '''A docstring.'''", set()),
        ('"low": 1', '"low": 2', {"RATES['low']"}),
        ("limit = 9", "limit = 8", {"Basket"}),
        ("def size", "def extent", {"Basket.size", "Basket.extent"}),
        ("import functools", "import functools, os", {"import"}),
    ],
)
def test_changed_units(old: str, new: str, units: set[str]) -> None:
    assert changed(MODEL, MODEL.replace(old, new)) == units


# --- the search ------------------------------------------------------------------------------------------------------

SMALL = {
    "tests/test_a.py::test_one[price]": {"src/model.py::price", "src/model.py::rate", "docs/page.md"},
    "tests/test_a.py::test_one[size]": {"src/model.py::Basket.size", "docs/"},
    "tests/test_b.py::test_two": {"src/model.py::Basket.total", "src/model.py::price", "src/model.py::rate"},
    "tests/test_b.py::test_three": {"src/**"},
}


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Search:
    """A search in a small record."""
    for name, text in {"src/model.py": MODEL, "tests/test_a.py": "def test_one(): ...", "tests/test_b.py": ""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(changes, "ROOT", tmp_path)
    texts = changes._texts.__wrapped__()
    monkeypatch.setattr(changes, "_texts", lambda: texts)
    monkeypatch.setattr(changes, "_parsed", lambda path: Units(texts.get(path, "")))
    monkeypatch.setattr(changes, "_naming", changes._naming.__wrapped__)
    return Search(Reach(packed({name: frozenset(units) for name, units in SMALL.items()})))


@pytest.mark.parametrize(
    ("unit", "tests"),
    [
        ("price", ["one[price]", "two"]),
        ("Basket", ["one[size]", "two"]),  # fields: what runs any method
        ("Basket.extent", ["one[size]", "two"]),  # a new method
        ("RATES['high']", ["one[price]", "two"]),  # a row: what runs a function that names the table
        ("unused", ["one[price]", "one[size]", "two"]),  # nothing has run it: what runs the module
    ],
)
def test_what_a_unit_reaches(unit: str, tests: Sequence[str], search: Search) -> None:
    found = search.tests_of([Change("src/model.py", frozenset({unit}))])
    assert sorted(search.reach.tests[k].partition("test_")[2].partition("test_")[2] for k in found.tests) == tests
    assert {search.reach.tests[k] for k in found.readers} == {"tests/test_b.py::test_three"}


def test_files_without_a_record_are_found_by_their_imports(search: Search) -> None:
    changes._texts()["tests/test_c.py"] = "from model import price\n"
    changes._texts()["tests/test_model.py"] = changes._texts()["tests/test_d.py"] = ""
    assert search.tests_of([Change("src/model.py", frozenset({"price"}))]).guessed == {
        "tests/test_c.py",
        "tests/test_model.py",
    }


@pytest.mark.parametrize(("is_moved", "n"), [(False, 1), (True, 2)])
def test_what_a_page_reaches(is_moved: bool, n: int, search: Search) -> None:
    assert len(search.tests_of([Change("docs/page.md", is_moved=is_moved)]).readers) == n


def test_the_budget_takes_the_nearest_first(search: Search) -> None:
    plan = planned([Change("src/model.py", frozenset({"price", "rate"}))], search, 0.125)
    assert [*plan.ids] == ["tests/test_a.py::test_one[price]"], "the case that has its name"
    assert "2 reach them too and are left to `pytest`" in plan.lines[1]


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    many = {f"test_{k}": frozenset(f"a.py::f{n}" for n in range(k, 30, k % 5 + 1)) for k in range(30)}
    write(many, tmp_path / "reach.xz")
    found = read(tmp_path / "reach.xz")
    assert dict(zip(found.tests, map(frozenset, found.sets()), strict=True)) == many
    assert found.sizes() == [len(units) for units in found.sets()]


# --- from end to end -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in git whose tests are recorded."""
    folder = tmp_path_factory.mktemp("project")
    texts = {"src/model.py": MODEL, "tests/test_model.py": TESTS, "data.txt": "x", ".gitignore": "__pycache__/\n"}
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for name in PLUGINS:
        shutil.copy(ROOT / "tests" / f"{name}.py", folder / "tests")
    _git(folder, "init")
    (folder / "tests" / "test_gone.py").write_text("def test_gone(): assert True\n", encoding="utf-8")
    assert "1 tests recorded" in _pytest(folder, "--record-reach", "tests/test_gone.py")
    (folder / "tests" / "test_gone.py").unlink()
    assert "6 tests recorded" in _pytest(folder, "--record-reach")
    assert len(read(folder / "tests" / "reach.xz").tests) == 6
    _git(folder, "add", ".")
    _git(folder, "commit", "-m", "all")
    return folder


def _git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def _pytest(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "pytest", "-v", "-n", "0", "-p", "no:cacheprovider", f"--rootdir={folder}"]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    variables["PYTHONPATH"] = str(folder / "src")
    done = subprocess.run([*command, *options], cwd=folder, env=variables, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


PRICE = ["basket[total]", "price", "process"]


@pytest.mark.needs("git")
@pytest.mark.parametrize(
    ("name", "old", "new", "tests"),
    [
        ("src/model.py", "return n * rate", "return n + 2 * rate", PRICE),
        ("src/model.py", "return RATES[name]", "return int(RATES[name])", [*PRICE, "rate"]),  # cached by the first
        ("data.txt", "x", "y", ["data"]),
        ("tests/test_model.py", '("high") == 3', '("high") == 4', ["rate"]),
    ],
)
def test_affected(name: str, old: str, new: str, tests: Sequence[str], project: Path) -> None:
    path = project / name
    before = path.read_text(encoding="utf-8")
    path.write_text(before.replace(old, new), encoding="utf-8")
    try:
        printed = _pytest(project, "--affected")
    finally:
        path.write_text(before, encoding="utf-8")
    assert sorted(re.findall(r"::test_(\S+) (?:PASSED|FAILED)", printed)) == tests, printed
    assert re.search(r"affected: 1 files changed since \w{10}, the last commit", printed), printed


@pytest.mark.needs("git")
def test_what_git_does_not_know_is_an_error(project: Path) -> None:
    assert "ERROR: --affected: fatal: Needed a single revision" in _pytest(project, "--affected-by", "nothing")
    assert "affected: 0 files changed since" in (printed := _pytest(project, "--affected-by", "HEAD")), printed
