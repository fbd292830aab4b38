"""Extents without values: of all that the tables compute, from the extents of their floating inputs alone."""

from __future__ import annotations

from typing import Final

import numpy as np
import pytest
from tables import CASES

from aotensor.core.dtypes import is_discrete
from aotensor.core.types import Array
from aotensor.errors import GraphError
from aotensor.graph.expansion import without_sparse
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import compute_all, evaluated, leaves, toposort
from aotensor.ops.scan.op import Scan
from aotensor.ops.shape.inference import Inference, LeafFacts

DECIDED_BY_VALUES: Final = {"nonzero", "union", "intersection", "sparse_product", "product_pattern", "other_format"}
"""Ops whose results have as many entries as values say; so do loops that may stop early."""


@pytest.mark.parametrize("stride", [5, 1])
def test_extents_follow_from_extents(stride: int) -> None:
    """Of every op: what is known is right, and unknown only behind an op that values decide."""
    met: set[str] = set()
    for case in CASES[::stride]:
        arrays = case.draw(np.random.default_rng(7))
        variables = case.variables(arrays)
        outputs = without_sparse(case.outputs(variables), variables)
        nodes = toposort(outputs, stop=variables)
        kinds = {node.op.name for node in nodes}
        if kinds <= met:
            continue
        met |= kinds
        check({x: np.asarray(a, x.dtype) for x, a in zip(variables, arrays, strict=True)}, outputs, case.id)


def check(values: dict[Variable, Array], outputs: list[Variable], id: str) -> None:
    known = {**values, **{x: x.data for x in leaves(outputs, stop=values) if isinstance(x, Constant)}}
    try:
        compute_all(outputs, known, evaluated)
    except GraphError:
        return  # a row about an error
    inference = Inference(
        {x: LeafFacts.known(a) if is_discrete(x.dtype) else LeafFacts(a.shape) for x, a in values.items()}
    )
    inference.run(outputs)
    open_ones: set[Variable] = set()
    for node in toposort(outputs, stop=values):
        is_open = node.op.name in DECIDED_BY_VALUES or not open_ones.isdisjoint(node.inputs)
        is_open |= isinstance(node.op, Scan) and node.op.has_condition
        open_ones |= set(node.outputs) if is_open else set()
        for x in node.outputs:
            if x not in known:
                continue  # on a side that was not taken
            shape, real = inference.extents_of(x), np.shape(known[x])
            assert all(n in (None, m) for n, m in zip(shape, real, strict=True)), (id, x, shape, real)
            assert None not in shape or is_open, (id, x, shape)
