"""`--short`: nests of models and libraries as people read them, and without it as other tools do."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Call

from aotensor.ir.context import parse_module
from aotensor.ir.text import text_of


def test_nests_of_models_and_libraries(model: Path, library: Path, call: Call) -> None:
    short = call("inspect", model, "--stage", "nest", "--short").out
    assert "nest.for %" in short
    assert call("compile", model, "--emit", "nest", "--short").out == short
    for command in (("inspect", model, "--stage", "nest"), ("compile", model, "--emit", "nest")):
        generic = call(*command).out
        assert '"nest.for"(' in generic and "nest.for %" not in generic
        assert text_of(parse_module(generic)) == short
    for option, loop in (((), '"nest.for"('), (("--short",), "nest.for %")):
        kept = call("inspect", library, "--stage", "nest", "--function", "doubled", *option)
        assert kept.code == 0
        assert loop in kept.out and "@doubled(" in kept.out and "@logistic(" not in kept.out


def test_what_a_pass_left(model: Path, call: Call) -> None:
    assert '"nest.for"(' in call("inspect", model, "--stage", "fuse").out
    assert "nest.for %" in call("inspect", model, "--stage", "fuse", "--short").out
    assert "nest.for %" in call("inspect", model, "--stage", "fuse", "--diff", "before").out


@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", "--stage", "loops"), ("inspect", "--stage", "expand"), ("inspect", "--remarks"), ("inspect",),
        ("compile", "--emit", "lib"),
    ],
)  # fmt: skip
def test_where_there_are_no_nests(small: Path, call: Call, arguments: tuple[str, ...]) -> None:
    answer = call(*arguments, small, "--short")
    assert answer.code == 2
    assert "--short is about the text of nests" in answer.err and "nest" in answer.err.splitlines()[1]
