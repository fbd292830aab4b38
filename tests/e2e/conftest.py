"""Programs run in processes of their own, as a user runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from programs import EXAMPLES, ROOT, Runner


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder of this run's own: nothing compiled by an earlier version is found."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def run(cache: Path) -> Runner:
    """Runs Python in a process of its own."""

    def run_python(*arguments: str | Path, cwd: Path = ROOT) -> str:
        environment = os.environ | {"AOTENSOR_CACHE_DIR": str(cache), "NO_COLOR": "1"}
        command = [sys.executable, *map(str, arguments)]
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{' '.join(command)}\nstatus {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    return run_python


@pytest.fixture(scope="session")
def logistic_folder(run: Runner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Library and header of examples/logistic.py, built by the command line."""
    folder = tmp_path_factory.mktemp("logistic")
    run("-m", "aotensor_cli", "compile", EXAMPLES / "logistic.py", "-o", folder)
    return folder
