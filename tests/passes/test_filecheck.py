"""Every `*.mlir` beside this file: the passes of its first line run on it, filecheck compares with its CHECK lines.

    // RUN: canonicalize stabilize
    // RUN: canonicalize lower-to-nest..emit-loops

A range is a part of the way from tensor level to loop level.

Several RUN lines would be several files: there is one, and it stands first.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from aotensor.ir.context import parse_module
from aotensor.passes.pipeline import LOOP_RECIPE, NEST_RECIPE, TENSOR_RECIPE, PassRunner, library_recipe
from aotensor.passes.registry import Pass

FILES = sorted(Path(__file__).parent.glob("*.mlir"))
VECTOR_BITS = 256
PASSES = {step.name: step for step in (*TENSOR_RECIPE, *NEST_RECIPE, *LOOP_RECIPE, *library_recipe(VECTOR_BITS))}
RUN = "// RUN:"


def transformed(path: Path) -> str:
    """The module of a file after its passes, verified behind each and checked to print and parse unchanged."""
    text = path.read_text()
    command = text.splitlines()[0]
    assert command.startswith(RUN), f"{path.name}: the first line names the passes, `{RUN} canonicalize`"
    module = parse_module(text, path.name)
    module.verify()
    PassRunner(verify=True).run(module, [step for name in command.removeprefix(RUN).split() for step in steps(name)])
    result = str(module) + "\n"
    assert str(parse_module(result)) + "\n" == result
    return result


def steps(name: str) -> list[Pass]:
    """A pass by its name, or a range of them."""
    first, _, last = name.partition("..")
    if not last:
        return [PASSES[first]]
    recipe = (*NEST_RECIPE, *LOOP_RECIPE)
    numbers = [position for position, step in enumerate(recipe) if step.name in (first, last)]
    return list(recipe[numbers[0] : numbers[-1] + 1])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_passes_give_what_the_file_says(path: Path, filecheck: Callable[[str, str], None]) -> None:
    filecheck(path.read_text(), transformed(path))


def test_every_pass_has_a_file() -> None:
    used = {name for path in FILES for name in path.read_text().splitlines()[0].removeprefix(RUN).split()}
    assert sorted(set(PASSES) - used) == []
