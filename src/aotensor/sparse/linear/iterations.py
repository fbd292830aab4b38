"""Iterations that solve A·x = b by products with A: conjugate gradients, and BiCGSTAB for a general A.

Every column of b has scalars of its own and rests once it is done; the loop ends when all are, or after maxiter steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.graph.variable import Variable, constant
from aotensor.ops.create import zeros_like
from aotensor.ops.elementwise.arithmetic import abs, maximum, minimum
from aotensor.ops.elementwise.compare import cast, eq, gt, invert, le, switch
from aotensor.ops.elementwise.elementary import sin, sqrt
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.sums import all as all_of
from aotensor.ops.reduce.sums import sum as sum_of
from aotensor.ops.scan.frontend import Loop
from aotensor.ops.scan.step import until
from aotensor.ops.shape.axes import dimshuffle
from aotensor.sparse.compressed_axes import major_of_entries, sum_major
from aotensor.sparse.linear.convergence import Converged
from aotensor.sparse.op import Compressed
from aotensor.sparse.product.dots import times

ROUNDINGS = 100
"""So many of them are allowed in what a tolerance and a residual are measured by."""


@frozen_dataclass
class Equations:
    """A·x = b for a square A, from x0.   b, x0: (n,) or (n, k), all of one floating dtype

    tol: of |b − A·x| relative to |b|, not below 100 roundings of the dtype. is_scaled: is the diagonal of A the
    preconditioner? on_error: if x does not converge, "raise", or "nan" for that column.
    """

    parts: Compressed
    b: Variable
    x0: Variable
    tol: float
    maxiter: int | None
    is_scaled: bool
    on_error: str

    @property
    def tolerance(self) -> float:
        """`tol`, but not below 100 roundings of the dtype, so that it can be reached."""
        return max(self.tol, ROUNDINGS * float(np.finfo(self.b.dtype).eps))

    def product(self, x: Variable) -> Variable:
        """A·x"""
        return times(self.parts, x)

    def scaling(self) -> Callable[[Variable], Variable]:
        """A function r ↦ r/M for the diagonal M of A (1 where M is 0); the identity without a preconditioner."""
        if not self.is_scaled:
            return lambda r: r
        p = self.parts
        on_diagonal = switch(eq(p.indices, major_of_entries(p)), p.data, self._number(0))
        diagonal = sum_major(p, on_diagonal)
        factors = 1 / switch(eq(diagonal, 0), self._number(1), diagonal)
        factors = factors if self.b.ndim == 1 else dimshuffle(factors, [0, None])
        return lambda r: factors * r

    def steps(self) -> Variable:
        """The largest number of iterations: `maxiter`, or 10·n."""
        if self.maxiter is not None:
            return constant(self.maxiter, dtype="int64")
        return maximum(10 * self.b.shape[0], constant(1, dtype="int64"))

    def is_open(self, r: Variable) -> Variable:
        """Mask of the columns that have not converged and whose residual is finite."""
        return gt(inner(r, r), self.tolerance**2 * inner(self.b, self.b))

    def checked(self, x: Variable, name: str, hint: str) -> Variable:
        """x, after a check of its true residual; nan or an error where that is too large.

        Rounding errors of |A|·|x| are not counted as residual, as long as they leave half of the digits that were asked
        for.
        """
        p = self.parts
        residual = self.b - self.product(x)
        rounding = float(ROUNDINGS * np.finfo(self.b.dtype).eps) * norm(times(replace(p, data=abs(p.data)), abs(x)))
        length = norm(self.b)
        allowed = 10 * self.tolerance * length + minimum(rounding, self.tolerance**0.5 * length)
        is_done = le(norm(residual), allowed)
        if self.on_error == "nan":
            return switch(is_done, x, constant(np.nan, dtype=x.dtype))
        return Converged(f"{name} did not converge: {hint}")(x, all_of(is_done))  # type: ignore[no-any-return]

    def _number(self, value: int) -> Variable:
        return constant(value, dtype=self.b.dtype)


def inner(x: Variable, y: Variable) -> Variable:
    """Σ_i x[i]·y[i] for every column."""
    return sum_of(x * y, axis=0)


def norm(x: Variable) -> Variable:
    """The Euclidean norm of every column."""
    return sqrt(inner(x, x))


def conjugate_gradients(equations: Equations) -> Variable:
    """x by preconditioned conjugate gradients (Hestenes & Stiefel 1952), for a symmetric positive definite A."""
    scaled, b = equations.scaling(), equations.b
    r = b - equations.product(equations.x0)
    z = scaled(r)

    def step(x: Variable, r: Variable, p: Variable, rz: Variable) -> tuple[list[Variable], until]:
        zero = zeros_like(rz)
        q = equations.product(p)
        is_open = equations.is_open(r)
        alpha = switch(is_open, rz / inner(p, q), zero)
        x, r = x + alpha * p, r - alpha * q
        z = scaled(r)
        following = inner(r, z)
        beta = switch(is_open, following / rz, zero)
        return [x, r, z + beta * p, following], until(invert(equations.is_open(r).any()))

    (x, *_), _ = Loop(step, None, [equations.x0, r, z, inner(r, z)], None, equations.steps()).run(
        -1, "cg", keep_last=True
    )
    return equations.checked(x, "cg", "is the matrix symmetric and positive definite, and maxiter large enough?")


def stabilized_biconjugate_gradients(equations: Equations) -> Variable:
    """x by BiCGSTAB (van der Vorst 1992) with the preconditioner at the right, for a general A."""
    scaled, b = equations.scaling(), equations.b
    residual = b - equations.product(equations.x0)
    shadow = _shadow(residual)
    ones = zeros_like(inner(b, b)) + 1
    zeros = zeros_like(residual)

    def step(*states: Variable) -> tuple[list[Variable], until]:
        x, r, p, v, rho, alpha, omega = states
        following = inner(shadow, r)
        new_p = r + following / rho * (alpha / omega) * (p - omega * v)
        y = scaled(new_p)
        new_v = equations.product(y)
        new_alpha = following / inner(shadow, new_v)
        s = r - new_alpha * new_v
        z = scaled(s)
        t = equations.product(z)
        square = inner(t, t)
        new_omega = switch(eq(square, 0), zeros_like(square), inner(t, s) / square)
        new = [x + new_alpha * y + new_omega * z, s - new_omega * t, new_p, new_v, following, new_alpha, new_omega]
        is_open = equations.is_open(r)
        kept = [switch(is_open, now, before) for now, before in zip(new, states, strict=True)]
        return kept, until(invert(equations.is_open(kept[1]).any()))

    states = [equations.x0, residual, zeros, zeros, ones, ones, ones]
    (x, *_), _ = Loop(step, None, states, None, equations.steps()).run(-1, "bicgstab", keep_last=True)
    return equations.checked(x, "bicgstab", "is the matrix regular, and maxiter large enough?")


def _shadow(r: Variable) -> Variable:
    """The shadow residual of BiCGSTAB: r plus a vector of sines of equal norm, which is orthogonal to few residuals.

    r alone is one to which a later residual may well be orthogonal, as where r is a column of the identity.
    """
    waves = cast(sin(arange(r.shape[0], dtype="float64") + 1), r.dtype)
    height = norm(r) / sqrt(maximum(inner(waves, waves), constant(1, dtype=r.dtype)))
    return r + 0.75 * height * (waves if r.ndim == 1 else dimshuffle(waves, [0, None]))
