"""Nests of models and libraries are printed as people read them, and with `--generic` as other tools do."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Call

from aotensor.ir.context import parse_module
from aotensor.ir.text import text_of


def test_nests_of_models_and_libraries(model: Path, library: Path, call: Call) -> None:
    short = call("inspect", model, "--stage", "nest").out
    assert "nest.for %" in short and "nest.sizes {" in short
    assert call("inspect", model, "--stage", "nest", "--short").out == short
    assert call("compile", model, "--emit", "nest").out == short
    for command in (("inspect", model, "--stage", "nest"), ("compile", model, "--emit", "nest")):
        generic = call(*command, "--generic").out
        assert '"nest.for"(' in generic and "nest.for %" not in generic
        assert text_of(parse_module(generic), brief=True) == short
    for option, loop in ((("--generic",), '"nest.for"('), ((), "nest.for %")):
        kept = call("inspect", library, "--stage", "nest", "--function", "doubled", *option)
        assert kept.code == 0
        assert loop in kept.out and "@doubled(" in kept.out and "@logistic(" not in kept.out


def test_what_a_pass_left(model: Path, call: Call) -> None:
    assert '"nest.for"(' in call("inspect", model, "--stage", "fuse", "--generic").out
    assert "nest.for %" in call("inspect", model, "--stage", "fuse").out
    assert "nest.for %" in call("inspect", model, "--stage", "fuse", "--diff", "before", "--generic").out


@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", "--stage", "loops"), ("inspect", "--stage", "expand"), ("inspect", "--remarks"), ("inspect",),
        ("compile", "--emit", "lib"),
    ],
)  # fmt: skip
def test_where_there_are_no_nests(small: Path, call: Call, arguments: tuple[str, ...]) -> None:
    answer = call(*arguments, small, "--generic")
    assert answer.code == 2
    assert "--generic needs the text of stage nest" in answer.err and "nest" in answer.err.splitlines()[1]
