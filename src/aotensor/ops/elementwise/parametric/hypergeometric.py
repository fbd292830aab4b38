"""Gauss's hypergeometric function, with derivatives in all four operands."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from math import factorial
from typing import Any

import numpy as np

from aotensor.core.types import Array
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.base import MAKERS, Elementwise, Row, elementwise
from aotensor.ops.elementwise.parametric.quadrature import emitter_of_orders
from aotensor.ops.elementwise.scipy_reference import scipy_special

_DISTANCE = 0.02
_POINTS = np.arange(-3, 4)


def _weights(order: int) -> list[tuple[int, float]]:
    """(offsets, weights) of a difference formula for a derivative, exact up to the sixth or seventh derivative."""
    if not order:
        return [(0, 1.0)]
    powers = _POINTS[None, :].astype(np.float64) ** np.arange(len(_POINTS))[:, None]
    wanted = np.zeros(len(_POINTS))
    wanted[order] = factorial(order)
    found = np.linalg.solve(powers, wanted) / _DISTANCE**order
    return [(int(k), float(w)) for k, w in zip(_POINTS, found, strict=True)]


def _reference(i: int, j: int, k: int, order_z: int) -> Callable[..., Array]:
    """NumPy reference of derivatives of ₂F₁: SciPy, and its differences for parameters (error 1e-8 at size 1)."""
    function = scipy_special("hyp2f1")
    if not (i or j or k or order_z):
        return function

    def reference(a: Array, b: Array, c: Array, z: Array) -> Array:
        wide = [v.astype(np.float64) for v in (a, b, c)]
        point, total = z.astype(np.float64), np.zeros(())
        with np.errstate(all="ignore"):
            for places in product(_weights(i), _weights(j), _weights(k)):
                p, q, r = (v + offset * _DISTANCE for v, (offset, _) in zip(wide, places, strict=True))
                factor: Any = np.prod([w for _, w in places])
                for n in range(order_z):
                    factor = factor * (p + n) * (q + n) / (r + n)
                total = total + factor * function(p + order_z, q + order_z, r + order_z, point)
        return np.asarray(np.where(point < 1, total, np.nan), z.dtype)

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
    scipy_special("hyp2f1"),
    emitter_of_orders("hyp2f1"),
    _partials(0, 0, 0, 0),
)
