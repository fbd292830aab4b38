"""The programs of the corpus at every level, lowered once for all tests that look at them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from aotensor.ir.build import Program, build
from aotensor.ir.text import text_of
from aotensor.passes.pipeline import LOOP_RECIPE, NEST_RECIPE, TENSOR_RECIPE, PassRunner, library_recipe

RECIPES: Final = {
    "tensor": (),
    "tensor-opt": TENSOR_RECIPE,
    "nest": NEST_RECIPE,
    "loops": LOOP_RECIPE,
    "library": library_recipe(256),
}
"""Level → the passes that lead there from the one before."""


@cache
def levels(make: Callable[[], Program]) -> Mapping[str, str]:
    """The text of a program at every level; the IR and its form are verified after every pass."""
    module, _ = build([make()])
    runner = PassRunner(verify=True)
    texts: dict[str, str] = {}
    for level, recipe in RECIPES.items():
        runner.run(module, recipe)
        texts[level] = text_of(module)
    return texts
