"""Models that packages ship, beside onnxruntime: a sample where the wheels are, and how results become a page."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tools.judges.onnx import command
from tools.judges.onnx.command import verdict
from tools.judges.onnx.models import MODELS, WITHOUT, inputs_of
from tools.judges.onnx.page import NOISE, page

FOUND = {
    "real": 2, "error": 1e-6, "error_theirs": 0.0, "bytes": 2e6, "file": 1e6, "compile": 3.0, "first": 4.0,
    "first_theirs": 0.1, "call1": 2e-3, "theirs1": 1e-3, "call2": 1e-3, "theirs2": 1e-3, "wrt": "x",
    "error_gradient": 2e-2, "error_double": 1e-9, "compile_gradient": 5.0, "bytes_gradient": 3e6, "gradient1": 6e-3,
    "gradient2": 4e-3,
}  # fmt: skip


@pytest.mark.needs("shipped models")
@pytest.mark.parametrize("name", ["silero_vad_half", "silero_vad_16k_sequence"])
def test_values_and_gradients_of_shipped_models(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tools.judges.onnx import worker
    from tools.judges.onnx.models import wheel_of

    [model] = [model for model in MODELS if model.name == name]
    wheel = wheel_of(Path(os.environ["AOTENSOR_JUDGES"], "onnx"), model.package)
    assert wheel is not None
    monkeypatch.setattr(worker, "TIMING", 0.01)
    one = worker.Measured(model, wheel, tmp_path)
    one.compare()
    one.differentiate()
    assert verdict(one.facts) == "right", one.facts


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (FOUND, "right"),
        ({**FOUND, "error": 1e-3}, "wrong"),
        ({**FOUND, "error": 1e-3, "error_theirs": 2e-3}, "right"),
        ({**FOUND, "error_double": 1.0}, "wrong"),
        ({**FOUND, "error": float("nan")}, "wrong"),
        ({"failed": "no rule"}, "failed"),
    ],
)
def test_verdicts(facts: dict[str, Any], expected: str) -> None:
    assert verdict(facts) == expected


def test_the_page_has_a_row_for_each_model_and_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.judges.onnx.page.version", lambda _: "1.2")
    given, refused = {**FOUND, "open": "NoCounterpart: Squeeze"}, {"failed": "no rule of Bernoulli"}
    rows = [(MODELS[0], "right", FOUND), (MODELS[1], "wrong", given), (MODELS[2], "failed", refused)]
    lines = page(rows).splitlines()
    assert "2 of 3 models compile, 1 are right, 2 have a gradient." in lines
    assert set(page(rows, is_noisy=True).splitlines()) - set(lines) == {NOISE.strip()}
    starts = ("| package | model |", *(f"| {model.package} | {model.name}" for model, _, _ in rows))
    assert [line.count("|") for line in lines if line.startswith(starts)] == [18] * 4
    assert f"- {MODELS[1].name}: NoCounterpart: Squeeze" in lines
    assert f"- {MODELS[2].name}: no rule of Bernoulli" in lines
    assert all(any(line.startswith(f"- {name}: ") for line in lines) for name in WITHOUT)


def test_gradients_of_earlier_runs_have_no_ratio_to_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.judges.onnx.page.version", lambda _: "1.2")
    for earlier, ratio in (("new", "3.0"), ("old", "")):
        found = {**FOUND, "origin": "new", "origin_gradient": earlier}
        *_, line = (
            x for x in page([(MODELS[0], "right", found)]).splitlines() if x.startswith(f"| {MODELS[0].name} |")
        )
        assert line.split("|")[-2].strip() == ratio


def test_values_are_measured_again_and_gradients_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def run_worker(module: str, arguments: list[str], seconds: float) -> dict[str, Any]:
        asked.append(arguments[2])
        return {**FOUND, "call1": 9.0} if arguments[2] == "values" else {"error_gradient": 0.5}

    monkeypatch.setattr(command, "run_worker", run_worker)
    monkeypatch.setattr(command, "origin", lambda: "new")
    options = argparse.Namespace(data=tmp_path, seconds=1.0)
    before = {**FOUND, "origin": "old", "origin_gradient": "older", "failed_gradient": None}
    found = command._found(MODELS[0], options, before)
    assert asked == ["values"] and found["call1"] == 9.0 and found["error_double"] == 1e-9
    assert (found["origin"], found["origin_gradient"]) == ("new", "older")
    found = command._found(MODELS[0], options, {})
    assert asked[1:] == ["values", "gradient"] and found["origin_gradient"] == "new"


def test_inputs_are_those_of_the_model() -> None:
    for model in MODELS:
        inputs = inputs_of(model, np.random.default_rng(0))
        shapes = {name: x.shape or int(x) for name, x in inputs.items()}
        assert shapes == dict(model.inputs)
