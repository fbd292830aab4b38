"""GMRES: x with A·x = b from products with A alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from aotensor.graph.variable import Variable, constant
from aotensor.ops.contract import dot
from aotensor.ops.create import zeros, zeros_like
from aotensor.ops.elementwise.arithmetic import maximum, minimum
from aotensor.ops.elementwise.compare import and_, eq, gt, isfinite, le, lt, or_, switch
from aotensor.ops.elementwise.elementary import sqrt
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.sums import sum as sum_of
from aotensor.ops.shape.axes import expand_dims
from aotensor.ops.shape.extents import extent_of
from aotensor.solutions.formulas import ending, first, iterate, number, rounding, started
from aotensor.solutions.results import Ending

RESTART: Final = 30
"""Directions that are kept; then the search starts again from the solution so far."""
PRODUCTS: Final = 1000
"""The largest number of products with A."""
EXPONENT: Final = 2 / 3
"""The residual is ε to this power, relative to b."""
ALLOWED: Final = 100
"""Roundings of |A|·|x| that the residual at the end may have."""


def gmres(product: Callable[[Variable], Variable], b: Variable) -> Variable:
    """x with A·x = b, nan if it is not found.   product: v → A·v, (n,) → (n,). b: (n,)

    Simpler GMRES (Walker & Zhou 1994), which needs no Hessenberg matrix: images A·pₖ are orthonormal, and the residual
    loses its parts along them. A new direction is the residual if the last step made that shorter, else the last image
    (Jiránek & Rozložník 2010): so the search goes on where the residual stays, as for a skew-symmetric A.
    """
    length = _norm(b)
    tolerance = number(float(np.finfo(b.dtype).eps) ** EXPONENT, b) * length
    places = arange(constant(RESTART, dtype="int64"))

    def step(
        x: Variable, r: Variable, directions: Variable, images: Variable, last: Variable, before: Variable,
        count: Variable, scale: Variable,
    ) -> tuple[list[Variable], Variable]:  # fmt: skip
        place = count % RESTART
        is_new = eq(place, 0)
        directions, images = (switch(is_new, zeros_like(y), y) for y in (directions, images))
        size = _norm(r)
        is_shorter = or_(is_new, lt(size, number(0.9, r) * before))
        p = switch(is_shorter, r / size, last)
        q = product(p)
        scale = maximum(scale, _norm(q))
        for _ in range(2):  # once more removes what rounding has left
            shares = dot(images, q)
            p, q = p - dot(shares, directions), q - dot(shares, images)
        height = _norm(q)
        p, q = p / height, q / height
        share = dot(q, r)
        x, new_r = x + share * p, r - share * q
        is_here = expand_dims(eq(places, place), 1)
        kept = [switch(is_here, new, old) for new, old in ((p, directions), (q, images))]
        rest = _norm(new_r)
        status = first(
            (le(rest, tolerance), ending(Ending.CONVERGED)),
            (and_(isfinite(rest), gt(height, rounding(r) * scale)), ending(Ending.RUNNING)),
            otherwise=ending(Ending.SINGULAR),
        )
        return [x, new_r, *kept, q, size, count + constant(1, dtype="int64"), scale], status

    none, zero = zeros([RESTART, extent_of(b, 0)], b.dtype), zeros_like(b)
    states = [zero, b, none, none, zero, length, constant(0, dtype="int64"), number(0, b)]
    (x, *_, scale), _, status = iterate("gmres", step, states, started(b), PRODUCTS)
    allowed = minimum(rounding(b, ALLOWED) * scale * _norm(x), sqrt(tolerance * length))
    is_found = le(_norm(b - product(x)), number(10, b) * tolerance + allowed)
    return switch(and_(eq(status, ending(Ending.CONVERGED)), is_found), x, number(float("nan"), b))


def _norm(x: Variable) -> Variable:
    return sqrt(sum_of(x * x))
