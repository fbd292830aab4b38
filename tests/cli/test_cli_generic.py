"""`--generic`: nests of models and libraries as other tools read them."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Call

from aotensor.ir.context import parse_module
from aotensor.ir.text import text_of


def test_nests_of_models_and_libraries(model: Path, library: Path, call: Call) -> None:
    custom = call("inspect", model, "--stage", "nest").out
    for command in (("inspect", model, "--stage", "nest"), ("compile", model, "--emit", "nest")):
        generic = call(*command, "--generic").out
        assert '"nest.for"(' in generic and "nest.for %" not in generic
        assert text_of(parse_module(generic)) == custom
    kept = call("inspect", library, "--stage", "nest", "--function", "doubled", "--generic")
    assert kept.code == 0
    assert '"nest.for"(' in kept.out and "@doubled(" in kept.out and "@logistic(" not in kept.out


@pytest.mark.parametrize(
    ("arguments", "title"),
    [
        (("inspect", "--stage", "graph"), "--generic needs a stage that is MLIR"),
        (("inspect",), "--generic needs a stage that is MLIR"),
        (("compile", "--emit", "lib"), "--generic is about texts of MLIR"),
    ],
)
def test_where_there_is_no_mlir(small: Path, call: Call, arguments: tuple[str, ...], title: str) -> None:
    answer = call(*arguments, small, "--generic")
    assert answer.code == 2
    assert title in answer.err and "tensor-opt" in answer.err
