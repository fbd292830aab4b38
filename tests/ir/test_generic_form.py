"""Operations of our own dialects in MLIR's generic form: upstream's mlir-opt reads every level."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
from corpus import CORPUS, texts_of
from levels import levels
from upstream import MLIR_OPT

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.recipe import Options, lower
from aotensor.errors import GraphValueError, InternalError
from aotensor.ir.build import Program
from aotensor.ir.context import generic_text, parse_module
from aotensor.ir.text import text_of

needs_mlir = pytest.mark.needs("mlir-opt")


def refused(text: str, *options: str) -> str:
    """What mlir-opt says against a text with operations that it does not know."""
    command = [str(MLIR_OPT), "--allow-unregistered-dialect", "-o", "/dev/null", *options]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


@needs_mlir
@texts_of()
def test_mlir_opt_reads_every_level(make: Callable[[], Program]) -> None:
    texts = levels(make)
    modules = [*(texts[name] for name in ("tensor", "tensor-opt", "loops")), generic_text(texts["nest"])]
    assert refused("// -----\n".join(modules), "--split-input-file") == ""


@needs_mlir
def test_mlir_opt_needs_the_generic_form() -> None:
    """Without it this file would show nothing."""
    nest = levels(CORPUS["logistic"])["nest"]
    assert "Dialect `nest' not found" in refused(nest)
    assert "Dialect `nest' not found" in refused(f"builtin.module {{\n}}\n// -----\n{nest}", "--split-input-file")


def programs() -> list[aot.Function]:
    A, b = at.tensor3("A", dtype="float64", shape=("k", 3, 3)), at.matrix("b", dtype="float64", shape=("k", 3))
    x = at.vector("x", dtype="float64", shape=("n",))
    return [
        aot.function([A, b], at.linalg.solve(A, b[:, :, None]), name="solve"),  # compares vectors, chooses lanes
        aot.function([x], at.softplus(at.sort(x)), name="sorts"),  # calls in nests
    ]


@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("locations", [False, True])
def test_texts_are_read_back(number: int, locations: bool) -> None:
    options = Options(target="x86_64-linux-gnu", cpu="sapphirerapids")
    stages = ("tensor", "tensor-opt", "nest", "loops")
    texts = lower([programs()[number]], options, stages, locations).texts
    for stage in stages:
        text = texts[stage]
        generic = generic_text(text, locations)
        for one in (text, generic):
            assert text_of(parse_module(one), locations, brief=True) == text
        assert ("loc(" in generic) is locations
        if MLIR_OPT is not None:
            assert refused(generic) == ""


def test_comparisons_of_vectors_are_read_back() -> None:
    text = lower([programs()[0]], Options(cpu="sapphirerapids", target="x86_64-linux-gnu"), ["loops"]).texts["loops"]
    for name in ("arith.cmpf", "arith.select"):
        assert f'"{name}"(' in text, name
    assert text_of(parse_module(text)) == text


def test_the_form_is_asked_for() -> None:
    f = programs()[1]
    short, generic = f.ir("nest"), f.ir("nest", generic=True)
    assert "nest.for %" in short and "nest.call" not in short
    assert '"nest.for"(' in generic and '"nest.call"(' in generic
    assert f.ir("nest", short=True) == text_of(parse_module(generic), brief=True) == short
    assert '"aot.sort"(' in f.ir("tensor")
    with pytest.raises(GraphValueError, match="stage graph has no generic form"):
        f.ir("graph", generic=True)
    with pytest.raises(InternalError, match="a text of IR cannot be read"):
        generic_text("nonsense")
