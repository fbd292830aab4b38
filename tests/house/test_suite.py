"""The suite itself: what waits for `--all` runs with it, and the CI can say so."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from sources import ROOT

TESTS = """
import pytest

def test_always(): ...

@pytest.mark.again
def test_once_more(): ...
"""


@pytest.mark.parametrize(("options", "outcome"), [([], "1 passed, 1 deselected"), (["--all"], "2 passed")])
def test_what_is_shown_again_waits_for_all(options: list[str], outcome: str, tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_two.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", *options]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=False)
    assert outcome in done.stdout, done.stdout + done.stderr


def test_modules_have_names_of_their_own() -> None:
    """Folders of tests are no packages: pytest takes two modules of one name for one module, and stops."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("*.py") if path.name != "conftest.py")
    assert [name for name, n in names.items() if n > 1] == []


def test_the_ci_hands_its_options_on() -> None:
    """`.ci/run --all` is `pytest --all` behind everything else, here and where the frameworks are."""
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith('"$venv/bin/python" -m pytest')] == [
        '"$venv/bin/python" -m pytest "$@"'
    ]
    assert '  doors "$@"' in lines
    *_, last = (ROOT / ".ci" / "doors").read_text(encoding="utf-8").splitlines()
    assert last.startswith('exec "$venv/bin/python" -m pytest tests/importers ') and last.endswith(' "$@"')
