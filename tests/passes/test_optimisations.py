"""Every optimisation shows in a program, and is gone when it is switched off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from optimisations import LOWERINGS, ROWS
from switches import Row

import aotensor as aot
import aotensor.tensor as at
import aotensor_runtime.call
from aotensor.driver.prepare import GRAPH_RECIPE
from aotensor.passes import stabilize
from aotensor.passes.pipeline import LOOP_RECIPE, NEST_RECIPE, TENSOR_RECIPE, library_recipe
from aotensor.sparse import rewrites
from aotensor_runtime.fast import no_fast_call

ABOUT = {row.switch.about for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name.replace(" ", "-"))
def test_the_property_holds_with_it_and_fails_without(row: Row) -> None:
    assert row.shows()
    assert not row.shows_without()


def test_every_pass_has_a_row() -> None:
    passes = {step.name for step in (*GRAPH_RECIPE, *TENSOR_RECIPE, *NEST_RECIPE, *LOOP_RECIPE, *library_recipe(512))}
    assert passes - ABOUT == set(LOWERINGS)


def test_every_rule_has_a_row() -> None:
    assert {key.__name__ for rules in (rewrites.RULES, stabilize.RULES) for key in rules} <= ABOUT


@pytest.mark.parametrize("is_short", [True, False])
def test_calls_go_the_short_way(is_short: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = at.vector("x", dtype="float64", shape=("n",))
    library = aot.compile(aot.function([x], 2 * x, name="f"), tmp_path).load()
    long = []
    monkeypatch.setattr("aotensor_runtime.arrays.poison._is_on", False)
    invoke = aotensor_runtime.call.invoke_values
    if not is_short:
        monkeypatch.setattr("aotensor_runtime.call.fast_call", lambda *_: no_fast_call)

    def noted(*args: Any) -> Any:
        long.append(args)
        return invoke(*args)

    monkeypatch.setattr("aotensor_runtime.call.invoke_values", noted)
    assert library.f(np.ones(3)).tolist() == [2, 2, 2]
    assert (not long) == is_short
