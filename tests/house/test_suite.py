"""The suite itself: budgets, pools, needs, what a failure says; every test asserts something."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path

import pytest
from budgets import recorded
from needs import cores
from sources import ROOT, parsed

TESTS = """
import pytest

@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", range(10))
def test_long(dtype, n): ...

@pytest.mark.unlimited("a reason")
def test_kept(): ...

@pytest.mark.unlimited("a reason", "ci")
def test_kept_later(): ...

def test_longer(): ...

def test_longest(): ...

@pytest.mark.level("all", "a reason")
def test_rare(): ...

@pytest.mark.needs("nothing")
def test_elsewhere(): ...

def test_failing():
    assert False
"""
TIMES = """
0.08 test_many.py::test_long
9 test_many.py::test_kept
9 test_many.py::test_kept_later
9 test_many.py::test_longer
99 test_many.py::test_longest
"""
PLUGINS = ("conftest", "needs", "budgets", "processes", "reach", "tracing", "units", "affected", "changes")


@pytest.fixture
def suite(tmp_path: Path) -> Callable[..., str]:
    """Runs pytest on a small suite with the plugins of this one, and returns what it prints."""
    for name in PLUGINS:
        shutil.copy(ROOT / "tests" / f"{name}.py", tmp_path)
    needs = tmp_path / "needs.py"
    needs.write_text(
        needs.read_text("utf-8") + 'NEEDS["nothing"] = Need("magic", "there is none", ("magic",))\n', "utf-8"
    )
    (tmp_path / "times.txt").write_text(TIMES, encoding="utf-8")
    (tmp_path / "test_many.py").write_text(TESTS, encoding="utf-8")

    def run(*options: str, where: str = ".") -> str:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-v",
            "-ra",
            "-p",
            "no:cacheprovider",
            f"--rootdir={tmp_path}",
            *options,
        ]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        done = subprocess.run(
            [*command, where], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    return run


@pytest.mark.parametrize(
    ("option", "outcome"),
    [
        ("-v", "1 failed, 4 passed, 1 skipped, 21 deselected"),
        ("--ci", "1 failed, 7 passed, 1 skipped, 18 deselected"),
        ("--all", "1 failed, 25 passed, 1 skipped"),
    ],
)
def test_budgets(option: str, outcome: str, suite: Callable[..., str]) -> None:
    assert outcome in (printed := suite("-n", "0", option)), printed


def test_cases_of_float64_run_first_and_are_spread_out(suite: Callable[..., str]) -> None:
    found = re.findall(r"test_long\[(\d)-float(\d\d)\] PASSED", suite("-n", "0"))
    assert found == [("0", "64"), ("3", "64"), ("6", "64")]


def test_a_test_that_is_named_runs(suite: Callable[..., str]) -> None:
    printed = suite(where="test_many.py::test_rare")
    assert "1 passed" in printed and "workers" not in printed, printed


def test_folders_run_in_a_pool_and_say_what_is_missing(suite: Callable[..., str]) -> None:
    assert "skips magic: no magic: there is none" in (printed := suite())
    assert ("created: " in printed) == (cores() > 1), printed
    assert "SKIPPED [1] test_many.py" in printed and "no magic: there is none" in printed


def test_a_checkout_that_is_read_only(suite: Callable[..., str], tmp_path: Path) -> None:
    """Neither pytest nor Hypothesis stops where it cannot write; here a folder that is not there cannot be written."""
    needs = tmp_path / "needs.py"
    needs.write_text(needs.read_text("utf-8") + f"ROOT = Path({str(tmp_path / 'gone')!r})\n", encoding="utf-8")
    printed = suite("-n", "0", "-p", "cacheprovider", "-k", "test_rare or test_failing")
    assert "the checkout is read-only" in printed and "1 failed" in printed, printed
    assert not (tmp_path / ".pytest_cache").exists()


def test_a_failure_says_how_to_repeat_it(suite: Callable[..., str]) -> None:
    assert "pytest test_many.py::test_failing" in (printed := suite("--ci")), printed


def test_times_are_recorded(suite: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("import time\ndef test_waits(): time.sleep(1.2)\n", encoding="utf-8")
    suite("-n", "0", "--record-times")
    lines = (tmp_path / "times.txt").read_text(encoding="utf-8").splitlines()
    assert "1.2 test_one.py::test_waits" in lines
    assert any("test_longest" in line for line in lines), "a test that did not run keeps its time"
    suite("-n", "0", "--record-times", "--all")
    lines = (tmp_path / "times.txt").read_text(encoding="utf-8").splitlines()
    assert lines[1:] == ["1.2 test_one.py::test_waits"], "tests that are short in all their cases are taken off"


def test_recorded_tests_exist() -> None:
    defined = {
        f"{path.relative_to(ROOT)}::{node.name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in parsed(path).body
        if isinstance(node, ast.FunctionDef)
    }
    assert set(recorded()) - defined == set()


def test_modules_have_names_of_their_own() -> None:
    """Folders of tests are no packages: pytest takes two modules of one name for one module, and stops."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("*.py") if path.name != "conftest.py")
    assert [name for name, n in names.items() if n > 1] == []


def test_the_ci_hands_its_options_on() -> None:
    """`.ci/run --all` runs `pytest --all` after everything else, here and where the frameworks are."""
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith('"$venv/bin/python" -m pytest')] == [
        '"$venv/bin/python" -m pytest --ci "$@"'
    ]
    assert '  doors "$@"' in lines
    *_, last = (ROOT / ".ci" / "doors").read_text(encoding="utf-8").splitlines()
    assert last.startswith('exec "$venv/bin/python" -m pytest tests/importers ') and last.endswith(' --ci "$@"')


ASSERTING = {"raises", "warns", "fail", "check_call", "check_output"}
"""Calls that assert, beside NumPy's `assert_…` and subprocesses with `check=True`."""


def test_every_test_asserts_something() -> None:
    """By itself, or by a function of the tests that it calls."""
    functions = [
        (path, node)
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef)
    ]
    asserting = set(ASSERTING)
    while True:
        found = {node.name for _, node in functions if not node.name.startswith("test_") and _asserts(node, asserting)}
        if found <= asserting:
            break
        asserting |= found
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path, node in functions
        if node.name.startswith("test_") and path.name.startswith("test_") and not _asserts(node, asserting)
    ]
    assert wrong == []


def _asserts(function: ast.FunctionDef, asserting: Collection[str]) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            has_check = any(x.arg == "check" and getattr(x.value, "value", None) is True for x in node.keywords)
            if name in asserting or name.startswith("assert_") or has_check:
                return True
    return False
