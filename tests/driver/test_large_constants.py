"""Weights that a library holds: once, and not in each of its texts."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import DenseResourceAttr

import aotensor as aot
import aotensor.tensor as at
import aotensor_runtime as art
from aotensor.ir.context import parse_module
from aotensor.ir.upstream import walk
from aotensor_runtime.container import Container

STAGES = ("tensor", "tensor-opt", "nest", "loops")


def compiled(weights: np.ndarray, folder: Path) -> Path:
    x = at.tensor("x", dtype=str(weights.dtype), shape=("n", weights.shape[0]))
    return aot.compile(aot.function([x], x @ weights, name="layer"), folder).library


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_a_library_has_them_once(dtype: str, tmp_path: Path, rng: np.random.Generator) -> None:
    weights = (100 * rng.normal(size=(90, 70))).astype(dtype)
    path = compiled(weights, tmp_path)
    container = Container(path.read_bytes())
    for stage in STAGES:
        text = container.extra(f"ir.{stage}").decode()
        assert "dense_resource<__elided__>" in text
        assert '"0x' not in text
        attributes = [x for op in walk(parse_module(text)) for x in (*op.properties.values(), *op.attributes.values())]
        assert any(isinstance(x, DenseResourceAttr) for x in attributes), "xDSL reads what MLIR writes"
    assert path.read_bytes().count(weights[:20].tobytes()) == 1
    x = rng.normal(size=(3, 90)).astype(dtype)
    np.testing.assert_allclose(art.load(path).layer(x), x @ weights, rtol=1e-4 if dtype == "float32" else 1e-12)


def test_small_ones_are_in_the_texts(tmp_path: Path, rng: np.random.Generator) -> None:
    text = Container(compiled(rng.normal(size=(20, 20)), tmp_path).read_bytes()).extra("ir.tensor").decode()
    assert "elided" not in text
    assert "dense<" in text


def test_a_text_that_is_too_long_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aotensor.driver.snapshots.MAX_SECTION_BYTES", 300)
    container = Container(compiled(np.ones((9, 7)), tmp_path).read_bytes())
    said = {stage: container.extra(f"ir.{stage}").decode() for stage in ("graph", *STAGES)}
    assert len(said["graph"]) <= 300 and not said["graph"].startswith("//")
    for stage in ("nest", "loops"):
        assert re.fullmatch(
            rf"// {stage} is left out: \d+ bytes of text are more than the 300 that a library keeps of a stage; "
            rf"`aotensor compile --emit {stage}` writes it to a file\n",
            said[stage],
        )
