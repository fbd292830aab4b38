"""A model, its library, and two ways to call the command line: in this process, and as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import LOGISTIC, SMALL, Answer, Call

from aotensor_cli.main import run


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model file with two functions, one of them named by its variable."""
    path = tmp_path_factory.mktemp("model") / "model.py"
    path.write_text(LOGISTIC)
    return path


@pytest.fixture(scope="session")
def library(model: Path, spawn: Call) -> Path:
    """The model, compiled with gradient and Hessian product of `logistic`."""
    folder = model.parent / "build"
    answer = spawn("compile", model, "-o", folder, "--grad", "w", "--hvp", "w", "--depfile", folder / "model.d")
    assert answer.code == 0, answer.err
    return folder / "liblogistic.so"


@pytest.fixture(scope="session")
def spawn() -> Call:
    """The command line in a process of its own."""

    def call(*arguments: object, cwd: Path | None = None, **environment: str) -> Answer:
        command = [sys.executable, "-m", "aotensor_cli", *map(str, arguments)]
        variables = {**os.environ, **environment}
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=variables)
        return Answer(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """The command line in this process, which saves the time of its imports."""

    def call(*arguments: object, cwd: Path | None = None, **environment: str) -> Answer:
        with monkeypatch.context() as patch:
            if cwd is not None:
                patch.chdir(cwd)
            for name, value in environment.items():
                patch.setenv(name, value)
            capfd.readouterr()
            code = run([*map(str, arguments)])
            out, err = capfd.readouterr()
        return Answer(code, out, err)

    return call


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A model that compiles fast, in a folder of its own."""
    path = tmp_path / "small.py"
    path.write_text(SMALL)
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with X.npy, and y and w in data.npz."""
    rng = np.random.default_rng(1)
    np.save(tmp_path / "X.npy", rng.normal(size=(6, 3)))
    np.savez(tmp_path / "data.npz", y=np.sign(rng.normal(size=6)), w=rng.normal(size=3))
    return tmp_path
