"""The case tables hold every op, so that every rule of it is tested; what waits for --all is met without it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import numpy as np
import pytest
from tables import CASES, MET_AGAIN, MET_AGAIN_FILE, all_lowerings, cover

from aotensor.graph.op import Op
from aotensor.graph.subgraph import all_nodes

# Ops whose two derivative rules are no transposes of each other, on purpose: tests/gradient/test_control*.py.
CONTROLS = {"ConsiderConstant", "GradClip", "ViewOp", "ZeroGrad"}
MADE_FOR_COMPILING = {"Branch", "Fused", "Lapack"}
"""Ops that `prepare` puts in place of others, behind all derivatives: test_loops.py, test_elementwise_fusion.py, what
cases_general.py compiles."""
COMPLEX = {"AsPairs", "Dft", "OfHalf", "OfPairs", "RealDft"}
"""Ops on complex values that have tables of their own: tests/complex."""

IN_HALF = {"Rounded"}
"""What float16 and bfloat16 need: test_rules.py compiles rows in them."""


def test_every_op_has_a_row(rng: np.random.Generator) -> None:
    used: set[str] = set()
    for case in CASES:
        nodes = all_nodes(case.outputs(case.variables(case.draw(rng))))
        used.update(type(node.op).__name__ for node in nodes)
    known = [op for op in _ops(Op) if op.__module__.startswith(("aotensor.ops.", "aotensor.gradient."))]
    concrete = {op.__name__ for op in known if not inspect.isabstract(op)}
    assert concrete - used == CONTROLS | MADE_FOR_COMPILING | COMPLEX | IN_HALF
    assert len(CASES) > 1000


def test_every_run_meets_every_lowering(request: pytest.FixtureRequest) -> None:
    """What `met_again.txt` lists has no lowering that the other rows lack.

    --update-golden takes rows off the list where that does not hold; a list that is empty is made anew.
    """
    found = all_lowerings()
    listed = MET_AGAIN & set(found)
    if request.config.getoption("--update-golden"):
        kept = set(found) - listed if listed else set()
        again = sorted(set(found) - cover(found, lambda id: 4 + len(found[id]), kept))
        MET_AGAIN_FILE.write_text("".join(f"{id}\n" for id in again), encoding="utf-8")
        return
    assert sorted(MET_AGAIN - listed) == [], "listed in met_again.txt, but no compiled row"
    met = frozenset[object]().union(*(found[id] for id in set(found) - listed))
    alone = {id: sorted(map(str, found[id] - met)) for id in sorted(listed) if not found[id] <= met}
    assert alone == {}, "lowerings of rows in met_again.txt that no other row has: pytest --update-golden adds rows"


def _ops(base: type[Op]) -> Iterator[type[Op]]:
    for op in base.__subclasses__():
        yield op
        yield from _ops(op)
