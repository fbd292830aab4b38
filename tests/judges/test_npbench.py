"""Kernels of NPBench beside their NumPy versions: a sample where a checkout is, and how results become a page."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tools.judges.__main__ import main
from tools.judges.npbench import command, ours, worker
from tools.judges.npbench.checkout import results_of
from tools.judges.npbench.command import verdict
from tools.judges.npbench.kernels import KERNELS
from tools.judges.npbench.page import page
from tools.judges.npbench.peers import differences

FOLDER = Path(os.environ.get("AOTENSOR_JUDGES", "."), "npbench")
FOUND: dict[str, Any] = {
    "name": "gemm", "size": "S", "error": 1e-15,
    "ours": {"compile": 0.5, "call": 2e-3, "bytes": 1, "compile_gradient": 0.7, "gradient": 4e-3},
    "numpy": {"call": 6e-3}, "jax": {"compile": 0.1, "call": 4e-3, "gradient": 2e-2},
    "error_gradient": 1e-14,
}  # fmt: skip


@pytest.mark.needs("npbench")
@pytest.mark.parametrize("name", ["trmm", "seidel_2d", "jacobi_1d"])
def test_values_and_gradients_are_those_of_numpy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "TIMING", 0.01)
    monkeypatch.setattr(worker, "TIMING", 0.01)
    found = worker.judged(FOLDER, name, "S", peers=())
    assert verdict(name, found) == "right", found
    assert found["error_differences"] < 1e-6


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, "right"),
        ({"error": 1e-3}, "wrong"),
        ({"error": float("nan")}, "wrong"),
        ({"error": 1e-3, "rounding": 2e-4}, "right"),
        ({"error_gradient": 1e-3}, "wrong"),
        ({"error_differences": 1e-3}, "wrong"),
        ({"failed": "no rule"}, "refused"),
        ({"failed_gradient": "no rule"}, "refused"),
    ],
)
def test_verdicts(facts: dict[str, Any], expected: str) -> None:
    assert verdict("gemm", {**FOUND, **facts}) == expected


def test_the_page_has_a_row_for_each_kernel_and_reasons() -> None:
    refused = {"name": "lu", "size": "S", "failed": "OutOfMemory: lu", "ours": {}}
    plain = {"name": "crc16", "size": "S", "error": 0.0, "ours": {"compile": 0.1, "call": 1e-3}, "numpy": {"call": 1.0}}
    other = {**FOUND, "name": "trmm", "jax_gradient_failed": "ValueError: loops"}
    text = page([("right", FOUND), ("refused", refused), ("right", plain), ("wrong", other)], is_noisy=True)
    assert "4 kernels: 2 right, 1 wrong, 1 refused." in text
    assert "JAX, gradients: faster than JAX on 2 of 2, 5.00 in the geometric mean." in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert "| gemm | 1e-15 | 0.50 | 2 | 3.00 | 2.00 | 1e-14 | 0.70 | 4 | 5.00 |" in rows
    assert "| trmm **wrong** |" in text
    assert {line.count("|") for line in rows} == {11}
    assert "- lu: OutOfMemory: lu" in text
    assert "- trmm: ValueError: loops" in text
    assert "no evidence" in text


def test_columns_of_numba_and_dace() -> None:
    other = {**FOUND, "numba": {"call": 1e-3}, "dace": {"call": 8e-3, "version": "1.0.2"}}
    failed = {**FOUND, "name": "lu", "dace_failed": "TypeError: loops"}
    text = page([("right", other), ("right", failed)])
    assert "dace 1.0.2" in text
    assert "| kernel | error | compile s | ms | NumPy | JAX | Numba | DaCe | gradient error |" in text
    assert "| gemm | 1e-15 | 0.50 | 2 | 3.00 | 2.00 | 0.50 | 4.00 | 1e-14 |" in text
    assert "Numba has been run on 1 of these kernels." in text
    assert "DaCe has been run" not in text
    assert "2 of the 54 kernels have been run at this size." in text
    assert "- lu: TypeError: loops" in text


def test_the_aims_name_what_is_behind() -> None:
    slow = {**FOUND, "jax": {"call": 1e-3, "gradient": 4e-3}}
    rows = [("right", {**(slow if name == "gemm" else FOUND), "name": name}) for name in KERNELS]
    text = page(rows)
    assert "faster than JAX on 50 kernels: 53, met (behind: gemm 0.50)" in text
    assert "in the geometric mean: 4.85, missed" in text


def test_a_value_of_dace_that_differs_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = argparse.Namespace(data=tmp_path, seconds=1.0, dace=Path("python"))
    for made, expected in (
        ({"error": 1e-3, "call": 1.0}, {"dace_failed": "its values differ from NumPy's by 1e-03"}),
        ({"error": float("nan"), "call": 1.0}, {"dace_failed": "its values differ from NumPy's by nan"}),
        ({"failed": "no dace"}, {"dace_failed": "no dace"}),
        ({"error": 1e-15, "call": 1.0}, {"dace": {"error": 1e-15, "call": 1.0}}),
    ):
        monkeypatch.setattr(command, "run_worker", lambda *_, made=made, **__: made)
        assert command._by_dace(options, "gemm", "S") == expected


def test_differences_of_a_gradient() -> None:
    """Of Re(z²) + y·y, whose gradient is 2z, in JAX's convention, and 2y."""
    values = {"z": np.array([1 + 2j, -0.5j]), "y": np.array([3.0, 4.0]), "n": 2}

    def loss(given: dict[str, Any]) -> complex:
        return complex((given["z"] ** 2).real.sum() + (given["y"] ** 2).sum())

    right = [2 * values["z"], 2 * values["y"]]
    assert differences(loss, values, ["z", "y"], right) < 1e-8
    assert differences(loss, values, ["z", "y"], [right[0], 1.001 * right[1]]) > 1e-5
    assert differences(loss, values, ["y"], right[1:]) < 1e-15  # by a step along the imaginary axis
    assert differences(lambda given: loss({**given, "y": np.abs(given["y"])}), values, ["y"], right[1:]) < 1e-8


def test_results_are_what_is_returned_and_changed() -> None:
    def kernel(x: Any, y: Any) -> Any:
        x += 1
        return y

    values = {"x": np.zeros(2), "y": np.ones(2)}
    returned, changed = results_of(kernel, values, ("x",))
    assert returned.tolist() == changed.tolist() == [1, 1]
    assert values["x"].tolist() == [0, 0]
    assert len(results_of(lambda x, y: x, values, ("x",))) == 1  # the changed argument itself


def test_errors_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["npbench", "--data", str(tmp_path)])
    assert "a checkout of NPBench" in capsys.readouterr().err
    (tmp_path / "bench_info").mkdir()
    with pytest.raises(SystemExit, match="there is no kernel gem: there are gemm"):
        main(["npbench", "--data", str(tmp_path), "--only", "gem"])
    assert len(KERNELS) == 54
