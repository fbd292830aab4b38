"""Every op is in the case tables, so that every rule of it is tested."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import numpy as np
from test_rules import CASES

from aotensor.graph.op import Op
from aotensor.graph.subgraph import all_nodes

# Ops whose two derivative rules are no transposes of each other, on purpose: tests/gradient/test_control*.py.
CONTROLS = {"ConsiderConstant", "GradClip", "ViewOp", "ZeroGrad"}
MADE_FOR_COMPILING = {"Branch"}
"""Ops that `prepare` puts in place of others, behind all derivatives: tests/driver/test_loops.py."""


def test_every_op_has_a_row(rng: np.random.Generator) -> None:
    used: set[str] = set()
    for case in CASES:
        nodes = all_nodes(case.outputs(case.variables(case.draw(rng))))
        used.update(type(node.op).__name__ for node in nodes)
    known = [op for op in _ops(Op) if op.__module__.startswith(("aotensor.ops.", "aotensor.gradient."))]
    concrete = {op.__name__ for op in known if not inspect.isabstract(op)}
    assert concrete - used == CONTROLS | MADE_FOR_COMPILING
    assert len(CASES) > 1000


def _ops(base: type[Op]) -> Iterator[type[Op]]:
    for op in base.__subclasses__():
        yield op
        yield from _ops(op)
