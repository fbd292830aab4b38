"""A browser, and pages to open in it, made by the command line as users make them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from chromium import Browser

ROOT = Path(__file__).parents[2]
Page: TypeAlias = Callable[..., Path]


@pytest.fixture(scope="session")
def command() -> Callable[..., str]:
    """The command line in a process of its own; gives what it prints, and fails as it fails."""

    def call(*arguments: object, cwd: Path | None = None) -> str:
        line = [sys.executable, "-m", "aotensor_cli", *map(str, arguments)]
        done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=cwd, env={**os.environ})
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium with one page."""
    with Browser() as found:
        found.scheme("light")
        yield found


@pytest.fixture(scope="session")
def logistic(command: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of examples/logistic.py, with measurements."""
    folder = tmp_path_factory.mktemp("page")
    model = ROOT / "examples" / "logistic.py"
    measured = folder / "bench.json"
    measured.write_text(command("bench", model, "--json", "--seconds", "0.05", "--sizes", "n=10000,p=100"))
    page = folder / "logistic.html"
    command("inspect", model, "--format", "html", "--bench", measured, "-o", page)
    return page
