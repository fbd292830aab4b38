"""What is tried on loops: everything fits, the hottest loops come first, and what was found goes together."""

from __future__ import annotations

import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.driver.hand import HandSchedule
from aotensor.driver.recipe import Options, lower, stage_text
from aotensor.errors import ScheduleError
from aotensor.ir.context import parse_module
from aotensor.passes.schedule.edit import Nest, apply_edits, described
from aotensor.passes.schedule.library_nest import replace_functions
from aotensor.passes.schedule.proposals import propose_edits


def logistic(name: str = "f") -> aot.Function:
    X = at.matrix("X", dtype="float64", shape=("n", "p"))
    w = at.vector("w", dtype="float64", shape=("p",))
    loss = at.softplus(X @ w).mean()
    return aot.function([X, w], [loss, aot.grad(loss, w)], name=name)


def test_hot_loops_first_and_every_edit_fits() -> None:
    text = stage_text([logistic()], "nest")
    found = propose_edits(Nest(parse_module(text)), {"n": 10_000, "p": 100}, 2)
    shares = [move.share for move in found]
    assert shares == sorted(shares, reverse=True) and shares[0] > 0.9 and shares[-1] >= 0.02
    kinds = {edit[0] for move in found for edit in move.edits}
    assert {"jam", "block", "vectorize", "tile"} <= kinds
    refused = 0
    for move in found:
        try:
            assert apply_edits(text, move.edits) != text
        except ScheduleError:
            refused += 1  # loops that are not fused, as they differ
    assert refused < len(found) / 4


def test_no_move_says_what_is_so_already() -> None:
    text = stage_text([logistic()], "nest")
    jams = {edit for move in propose_edits(Nest(parse_module(text)), {"n": 10_000, "p": 100}, 1) for edit in move.edits}
    assert ("jam", ("n", 4)) in jams and ("jam", ("n", 8)) not in jams


def test_chunks_are_whole_blocks_for_so_many_threads() -> None:
    nest = Nest(parse_module(stage_text([logistic()], "nest")))
    found = [move.edits for move in propose_edits(nest, {"n": 10_000, "p": 100}, 4)]
    pairs = [(one[0][1][1], one[1][1][1]) for one in found if len(one) == 2]
    assert pairs and all(int(chunk) % int(block) == 0 for block, chunk in pairs)


def test_nests_of_functions_become_that_of_a_library() -> None:
    functions = [logistic("f"), logistic("g")]
    fast = apply_edits(stage_text(functions[:1], "nest"), (("jam", ("n", 16)),))
    library = replace_functions(stage_text(functions, "nest"), {"f": fast})
    assert library.count("jam 16") == fast.count("jam 16") == 1
    assert library.count("func.func @f(") == library.count("func.func @g(") == 1
    lowered = lower(functions, Options(schedule=HandSchedule(library)), texts=("nest",))
    assert lowered.texts["nest"].count("jam 16") == 1
    with pytest.raises(ScheduleError, match="there is no loop 'q'"):
        apply_edits(fast, (("jam", ("q", 2)),))
    assert any("jam 16" in line for line in described(fast, ()))
