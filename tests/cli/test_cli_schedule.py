"""`aotensor compile --schedule`: an edited nest is compiled, or refused with both lines and a code of the contract."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
from command_line import LOGISTIC, Call

from aotensor.ir.context import parse_module
from aotensor.ir.text import text_of
from aotensor_runtime import load


def nest_of(call: Call, folder: Path) -> tuple[Path, Path]:
    """A model, and the file of its nest."""
    model = folder / "model.py"
    model.write_text(LOGISTIC.replace('twice = aot.function([w], 2 * w, name="doubled")\n', ""))
    assert call("compile", model, "--emit", "nest", "-o", folder).code == 0
    return model, folder / "logistic.nest.mlir"


def test_an_edited_nest_is_compiled(spawn: Call, tmp_path: Path) -> None:
    model, nest = nest_of(spawn, tmp_path)
    nest.write_text(nest.read_text().replace(" jam 8", " jam 16"))
    answer = spawn("compile", model, "--schedule", nest, "-o", tmp_path, "--depfile", tmp_path / "model.d")
    assert answer.code == 0 and re.fullmatch(r"said while loading\nnote: for CPUs [^\n]*\n", answer.err), answer.err
    assert str(nest) in (tmp_path / "model.d").read_text()
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(70, 5)), np.sign(rng.normal(size=70)), rng.normal(size=5)
    found = load(tmp_path / "liblogistic.so").logistic(X, y, w)["loss"]
    np.testing.assert_allclose(found, np.logaddexp(0, -y * (X @ w)).mean(), rtol=1e-13)
    shown = spawn("inspect", tmp_path / "liblogistic.so").out
    assert re.search(r"schedule +logistic\.nest\.mlir sha256:", shown)
    again = spawn("compile", model, "--schedule", nest, "--emit", "nest")
    assert again.out.count(" jam 16") == nest.read_text().count(" jam 16") > 0


def test_a_broken_dependence_is_named_with_both_lines(call: Call, tmp_path: Path) -> None:
    model, nest = nest_of(call, tmp_path)
    lines = text_of(parse_module(nest.read_text())).splitlines(keepends=True)
    first = next(k for k, line in enumerate(lines) if "%y[" in line)
    middle, last = (
        next(k for k in range(at, len(lines)) if lines[k].strip() == "}") + 1 for at in (first, first + 4)
    )  # fmt: skip
    while "nest.do" not in lines[middle]:
        middle += 1
    last = next(k for k in range(middle, len(lines)) if lines[k].strip() == "}") + 1
    nest.write_text("".join([*lines[:first], *lines[middle:last], *lines[first:middle], *lines[last:]]))
    answer = call("compile", model, "--schedule", nest, "-o", tmp_path / "made")
    assert answer.code == 3
    assert answer.out == ""
    title = r"error: logistic\.nest\.mlir:(\d+): %\d+ is read before it is written: "
    title += r"line \1 \(model\.py:8\) depends on line (\d+) \(model\.py:8\)"
    found = re.search(title, answer.err)
    assert found is not None, answer.err
    assert (int(found[1]), int(found[2])) == (first + 1, first + 1 + last - middle)
    assert not (tmp_path / "made").exists()


def test_files_that_are_no_schedule(call: Call, tmp_path: Path) -> None:
    model, nest = nest_of(call, tmp_path)
    assert call("compile", model, "--schedule", tmp_path / "none").code == 2
    assert call("compile", model, "--schedule", tmp_path).code == 2
    nest.write_bytes(b"\xff\xfe\x00")
    answer = call("compile", model, "--schedule", nest)
    assert (answer.code, "this is not text" in answer.err) == (2, True)
    nest.write_text("builtin.module {\n  nonsense\n}\n")
    answer = call("compile", model, "--schedule", nest)
    assert answer.code == 3
    assert "error: logistic.nest.mlir:2: " in answer.err
    json_answer = call("compile", model, "--schedule", nest, "--json")
    assert json.loads(json_answer.out)["error"]["title"].startswith("logistic.nest.mlir:2: ")
