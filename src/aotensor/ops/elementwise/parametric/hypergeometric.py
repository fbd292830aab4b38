"""Gauss's hypergeometric function, with derivatives in all four operands."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from aotensor.core.types import Array
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row, elementwise
from aotensor.ops.elementwise.parametric.hypergeometric_reference import hypergeometric
from aotensor.ops.elementwise.parametric.quadrature import emitter_of_orders
from aotensor.ops.elementwise.scipy_reference import scipy_special

_OWN = 20.0
"""Largest parameter for which the reference of F beyond z = −½ is not SciPy's, which has 1e-12 there."""


def _reference(i: int, j: int, k: int, order_z: int) -> Callable[..., Array]:
    """NumPy reference of derivatives of ₂F₁."""
    function = scipy_special("hyp2f1")

    def reference(a: Array, b: Array, c: Array, z: Array) -> Array:
        p, q, r, point = np.broadcast_arrays(*(v.astype(np.float64) for v in (a, b, c, z)))
        with np.errstate(all="ignore"):
            if i or j or k:
                return np.asarray(hypergeometric((i, j, k, order_z), p, q, r, point), z.dtype)
            found = function(p + order_z, q + order_z, r + order_z, point)
            for n in range(order_z):  # DLMF 15.5.2
                found = found * (p + n) * (q + n) / (r + n)
            if order_z:
                found = np.where(point < 1, found, np.nan)
            size = np.maximum(np.maximum(np.abs(p), np.abs(q)), np.abs(r))
            is_own = (point < -0.5) & (size + order_z <= _OWN) & (r > 0)
            if is_own.any():
                own = hypergeometric((0, 0, 0, order_z), p[is_own], q[is_own], r[is_own], point[is_own])
                found = np.array(found)
                found[is_own] = own
            return np.asarray(found, z.dtype)

    return reference


def _partials(*orders: int) -> Any:
    def partial(position: int) -> Any:
        following = [n + (p == position) for p, n in enumerate(orders)]

        def scaled(g: Variable, *operands_and_y: Variable) -> Variable:
            return g * _derivative_op(*following)(*operands_and_y[:-1])

        return scaled

    return tuple(partial(position) for position in range(4))


@cache
def _derivative_op(*orders: int) -> Elementwise:
    return Elementwise(
        Row(
            "hyp2f1",
            "a derivative of F(a, b; c; z)",
            _reference(*orders),
            emitter_of_orders("hyp2f1", *orders),
            _partials(*orders),
            parameters=tuple(zip(("order_a", "order_b", "order_c", "order_z"), orders, strict=True)),
        )
    )


MAKERS["hyp2f1"] = _derivative_op

hyp2f1 = elementwise(
    "hyp2f1",
    "Gauss's F(a, b; c; z) for z ≤ 1; ∞ beyond, unless a or b is a whole number ≤ 0. Differentiable in all four to any "
    "order.",
    _reference(0, 0, 0, 0),
    emitter_of_orders("hyp2f1"),
    _partials(0, 0, 0, 0),
    scipy="hyp2f1",
)
