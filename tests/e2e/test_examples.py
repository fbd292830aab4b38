"""The examples run on the real data and give the numbers that they promise."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from programs import EXAMPLES, Runner


def test_hello_writes_a_library(run: Runner, tmp_path: Path) -> None:
    text = run(EXAMPLES / "hello.py", cwd=tmp_path)
    assert "'y': array(0.68293" in text
    assert (tmp_path / "build" / "libhello.so").exists()
    assert (tmp_path / "build" / "hello.h").exists()


def test_logistic_fits_as_scipy_does(run: Runner) -> None:
    text = run(EXAMPLES / "logistic.py")
    rows = re.findall(r"(\w+): loss ([\d.]+), accuracy ([\d.]+) on train, ([\d.]+) on test; \d+ evaluations", text)
    assert [who for who, *_ in rows] == ["aotensor", "scipy"], text
    for _, loss, train, test in rows:
        assert float(loss) == pytest.approx(0.095551, abs=2e-6)
        assert float(train) > 0.98
        assert float(test) > 0.965
    difference = re.search(r"largest difference of the weights: (\S+)", text)
    assert difference and float(difference[1]) < 1e-4  # the stopping rule of L-BFGS-B sees the last bits


def test_mlp_learns(run: Runner) -> None:
    text = run(EXAMPLES / "mlp.py")
    losses = [float(x) for x in re.findall(r"epoch +\d+: loss ([\d.]+)", text)]
    assert len(losses) == 20
    assert losses[-1] < 0.06 < 0.5 < losses[0]
    before, after = (float(x) for x in re.findall(r"accuracy \w+: ([\d.]+)", text))
    assert before < 0.5
    assert after > 0.97


@pytest.mark.slow
@pytest.mark.parametrize("example", ["hello", "logistic", "mlp"])
def test_every_example_verifies(run: Runner, example: str) -> None:
    run("-m", "aotensor_cli", "verify", EXAMPLES / f"{example}.py")
