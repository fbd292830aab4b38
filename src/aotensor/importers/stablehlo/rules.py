"""Rules without a primitive of lax: LAPACK's routines as JAX calls them, extents, elementwise bodies. Elements that JAX
does not read are nan here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

import aotensor.tensor as at
from aotensor.importers.lax.rules import RULES
from aotensor.importers.lax.shapes import extent
from aotensor.importers.lax.table import Context, Convert
from aotensor.importers.stablehlo.table import Equation


def _nothing(context: Context, equation: Equation, number: int, x: at.Variable) -> at.Variable:
    """A result that JAX does not read: nan. number: of the result; x: has the same leading axes"""
    aval = equation.outvars[number].aval
    shape = [extent(x, d) if n is None else n for d, n in enumerate(aval.shape)]
    return at.broadcast_to(at.constant(np.asarray(np.nan, aval.dtype)), shape)


def _success(x: at.Variable) -> at.Variable:
    """The LAPACK status of each matrix: 0."""
    return at.zeros([extent(x, d) for d in range(x.ndim - 2)], dtype="int32")


def _potrf(context: Context, equation: Equation, x: at.Variable) -> list[at.Variable]:
    """The Cholesky factor in the lower triangle, x above it; nan if x is not positive definite."""
    return [at.tril(at.cholesky(x, on_error="nan")) + at.triu(x, 1), _success(x)]


def _getrf(context: Context, equation: Equation, x: at.Variable) -> list[at.Variable]:
    factors, pivots = at.lu_factor(x)
    return [factors, pivots + 1, _success(x)]


def _geqrf(context: Context, equation: Equation, x: at.Variable) -> list[at.Variable]:
    """The triangular factor; the reflections below are not stored, `orgqr` recomputes them."""
    _, r = at.qr(x)
    rows, columns = x.static_shape[-2:]
    assert rows is not None and columns is not None
    below = max(rows - columns, 0)
    if below:
        blank = at.broadcast_to(_nan(x), [*(extent(x, d) for d in range(x.ndim - 2)), below, columns])
        r = at.concatenate([r, blank], axis=-2)
    is_inside = at.constant(np.triu(np.ones((rows, columns), bool)))
    return [at.switch(is_inside, r, _nan(x)), _nothing(context, equation, 1, x)]


def _nan(x: at.Variable) -> at.Variable:
    return at.constant(np.asarray(np.nan, x.dtype))


def _orgqr(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
    """The orthogonal factor of the matrix that `geqrf` was given."""
    found: at.Variable = at.qr(x, mode="complete" if equation.params["full_matrices"] else "reduced")[0]
    return found


def _gesdd(context: Context, equation: Equation, x: at.Variable) -> list[at.Variable]:
    s, *vectors = RULES["svd"].convert(context, equation, x)
    found = vectors or [_nothing(context, equation, number, x) for number in (2, 3)]
    return [_nothing(context, equation, 0, x), s, *found, _success(x)]


def _syevd(context: Context, equation: Equation, x: at.Variable) -> list[at.Variable]:
    return [*RULES["eigh"].convert(context, equation, x), _success(x)]


def _map(context: Context, equation: Equation, *inputs: at.Variable) -> at.Variable:
    """Translate the body for one element of each operand, then vectorise it over all elements."""
    count = equation.params["outer"]
    operands = inputs[count:]
    elements = [at.tensor(dtype=x.dtype, shape=()) for x in operands]
    (made,) = context.run(equation.params["body"], [*inputs[:count], *elements])
    found = at.vectorize_graph([made], dict(zip(elements, operands, strict=True)))[0]
    return found if found.ndim else at.fill(operands[0], found)


OWN: Final[Mapping[str, Convert]] = {
    "lapack potrf": _potrf, "lapack getrf": _getrf, "lapack geqrf": _geqrf, "lapack orgqr": _orgqr,
    "lapack gesdd": _gesdd, "lapack syevd": _syevd, "map": _map,
}  # fmt: skip
"""Names of steps that the importer has rules of its own for."""
