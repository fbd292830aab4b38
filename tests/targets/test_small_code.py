"""Code for size: less of it, the same numbers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.gradient import grad
from aotensor_cli.main import run
from aotensor_runtime.elf import ElfFile


def _logistic() -> aot.Function:
    X, y, w = at.matrix("X", shape=("n", "p")), at.vector("y", shape=("n",)), at.vector("w", shape=("p",))
    loss = at.softplus(-y * (X @ w)).mean()
    return aot.function([X, y, w], {"loss": loss, "grad_w": grad(loss, w)}, name="logistic")


def test_is_smaller_and_gives_the_same(tmp_path: Path) -> None:
    f = _logistic()
    fast, small = (
        aot.compile(f, tmp_path / name, threads=False, fp="strict", opt_size=is_small)
        for name, is_small in (("fast", False), ("small", True))
    )
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(33, 7)), np.sign(rng.normal(size=33)), rng.normal(size=7)
    expected, found = fast.load().logistic(X, y, w), small.load().logistic(X, y, w)
    for key, value in expected.items():
        np.testing.assert_array_equal(found[key], value)
    assert _code_bytes(small.library) < 0.9 * _code_bytes(fast.library)


def _code_bytes(path: Path) -> int:
    code = ElfFile(path.read_bytes()).section(".text")
    assert code is not None
    return len(code)


@pytest.mark.parametrize("level", [0, 1])
def test_is_refused_without_optimisation(tmp_path: Path, level: int) -> None:
    with pytest.raises(GraphValueError, match=re.escape(f"opt_size is not supported at optimisation level {level}")):
        aot.compile(_logistic(), tmp_path, opt_size=True, opt_level=level)


def test_is_refused_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.py").write_text(
        "import aotensor as aot, aotensor.tensor as at\nx = at.vector('x')\nf = aot.function([x], x.sum())\n"
    )
    arguments = ["compile", str(tmp_path / "m.py"), "--opt-size", "-O", "1", "-o", str(tmp_path / "out")]
    assert run(arguments) == 2
    assert "opt_size is not supported at optimisation level 1" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
