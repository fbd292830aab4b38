"""The case tables hold every op, so that every rule of it is tested."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import numpy as np
from tables import CASES, TABLES

from aotensor.graph.op import Op
from aotensor.graph.subgraph import all_nodes

# Ops whose two derivative rules are no transposes of each other, on purpose: tests/gradient/test_control*.py.
CONTROLS = {"ConsiderConstant", "GradClip", "ViewOp", "ZeroGrad"}
MADE_FOR_COMPILING = {"Branch", "Fused", "KernelCall", "Lapack"}
"""Ops that `prepare` puts in place of others, after all derivatives: test_loops.py, test_elementwise_fusion.py,
test_op_kernels.py, the programs of cases_general.py."""
COMPLEX = {"AsPairs", "Dft", "OfHalf", "OfPairs", "RealDft"}
"""Ops on complex values that have tables of their own: tests/complex."""

IN_HALF = {"Rounded"}
"""What float16 and bfloat16 need: test_rules.py compiles rows in them."""


WITHOUT_ORACLE = {"eigh-derivatives", "qr-derivatives", "svd-derivatives"}
"""Rows that depend on the signs of vectors, a convention: the identities of the vectors and differences check them."""


def test_every_row_of_linear_algebra_has_an_independent_value() -> None:
    """The sparse and dense linear tables compare each value with SciPy, a dense formula or an identity.

    The ops' own references alone would accept an error that reference and compiled code share.
    """
    linear = [name for name in TABLES if name.startswith("cases_sparse_")] + ["cases_linalg", "cases_decompositions"]
    assert {case.id for name in linear for case in TABLES[name] if not case.has_oracle} == WITHOUT_ORACLE


def test_every_op_has_a_row(rng: np.random.Generator) -> None:
    used: set[str] = set()
    for case in CASES:
        nodes = all_nodes(case.outputs(case.variables(case.draw(rng))))
        used.update(type(node.op).__name__ for node in nodes)
    known = [op for op in _ops(Op) if op.__module__.startswith(("aotensor.ops.", "aotensor.gradient."))]
    concrete = {op.__name__ for op in known if not inspect.isabstract(op)}
    assert concrete - used == CONTROLS | MADE_FOR_COMPILING | COMPLEX | IN_HALF
    assert len(CASES) > 1000


def _ops(base: type[Op]) -> Iterator[type[Op]]:
    for op in base.__subclasses__():
        yield op
        yield from _ops(op)
