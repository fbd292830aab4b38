"""Sensitivity to rounding: the reference evaluated again, with every number changed by one ulp."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np

from aotensor.core.dtypes import epsilon, is_discrete, is_float, kind_of
from aotensor.core.types import Array, TensorType
from aotensor.graph.op import Apply, Op
from aotensor.graph.sparse_type import is_matrix
from aotensor.graph.subgraph import Subgraph, with_bodies
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import compute_all, evaluated, leaves, toposort


def nearby(
    targets: Sequence[Variable], values: Mapping[Variable, Array], rng: np.random.Generator, only_leaves: bool = False
) -> list[Array]:
    """Values of `targets` with every leaf, and every intermediate value, off by one ulp.   Raises: as the reference

    Operands of comparisons are not changed: a maximum must equal one of its elements.
    """
    known: dict[Variable, Array] = {x: perturb_by_ulp(value, rng) for x, value in values.items()}
    if not only_leaves:
        targets = with_bodies(targets, known, partial(_noisy, rng=rng))
    known.update((x, x.data) for x in leaves(targets, stop=known) if isinstance(x, Constant))
    compared = _comparison_operands(toposort(targets, stop=known))

    def off_by_one(node: Apply, inputs: list[Array]) -> list[Array]:
        results = zip(node.outputs, evaluated(node, inputs), strict=True)
        return [value if only_leaves or x in compared else perturb_by_ulp(value, rng) for x, value in results]

    with np.errstate(all="ignore"):
        compute_all(targets, known, off_by_one)
    return [known[x] for x in targets]


@dataclass(frozen=True)
class Nudged(Op):
    """x changed by one ulp, up or down, in the reference only: replaces values in the bodies of loops and branches."""

    rng: np.random.Generator = field(compare=False, repr=False)

    def infer_type(self, x: TensorType) -> TensorType:
        return x

    def reference(self, x: Array) -> Array:
        moved: Array = perturb_by_ulp(x, self.rng)
        return moved


def _noisy(body: Subgraph, rng: np.random.Generator) -> list[Variable]:
    """A body with every computed value changed by one ulp: its outputs."""
    outputs = with_bodies(body.outputs, body.inputs, partial(_noisy, rng=rng))
    nodes = toposort(outputs, stop=body.inputs)
    compared, nudge = _comparison_operands(nodes), Nudged(rng)
    known: dict[Variable, Variable] = {}
    for node in nodes:
        made = node.op.apply(*(known.get(x, x) for x in node.inputs)).outputs
        for old, new in zip(node.outputs, made, strict=True):
            known[old] = nudge(new) if is_float(old.dtype) and not old.is_sparse and old not in compared else new
    return [known.get(x, x) for x in outputs]


def _comparison_operands(nodes: Iterable[Apply]) -> set[Variable]:
    """The operands of ops with discrete results, such as comparisons."""
    return {x for node in nodes if any(is_discrete(y.dtype) for y in node.outputs) for x in node.inputs}


def perturb_by_ulp(x: Any, rng: np.random.Generator) -> Any:
    """x with every float changed by one ulp, up or down; integers and sparsity patterns are unchanged."""
    if is_matrix(x):
        moved = x.copy()
        moved.data = perturb_by_ulp(x.data, rng)
        return moved
    if kind_of(x.dtype) not in "fc":
        return x
    return np.asarray(x * _factors(x.dtype)[rng.integers(2, size=x.shape or None)], dtype=x.dtype)


@cache
def _factors(dtype: np.dtype[Any]) -> Array:
    """The factors that change a float down and up by one ulp."""
    return 1 + epsilon(dtype.name) * np.array([-1.0, 1.0])
