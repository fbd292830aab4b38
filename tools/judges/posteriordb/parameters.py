"""Parameters of a Stan program, read one after the other from its vector of unconstrained values."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from tools.judges.posteriordb.symbols import at, is_symbolic

import aotensor as aot
from aotensor.densities import simplex
from aotensor.graph.variable import Variable


class Parameters:
    """The parameters block of a Stan program. A model asks for its parameters in the order in which Stan declares them.

    q: float64, the unconstrained vector. Each method takes the next values of it, returns the constrained parameter,
    and adds the log Jacobian of its transform to `terms`. Arrays come row by row.
    """

    def __init__(self, q: Variable) -> None:
        self._q, self._start, self.terms = q, 0, list[Variable]()

    @property
    def count(self) -> int:
        """The number of unconstrained values used so far."""
        return self._start

    def real(self, *shape: int) -> Variable:
        """Unbounded values; of shape () one number."""
        stop = self._start + prod(shape)
        x, self._start = self._q[self._start : stop], stop
        return x.reshape(shape)

    def matrix(self, rows: int, columns: int) -> Variable:
        """An unbounded matrix, which Stan stores column by column."""
        return self.real(columns, rows).T

    def above(self, lower: float, *shape: int) -> Variable:
        """Values above a bound."""
        return self._known(aot.Parameter(shape, lower=lower), shape)

    def positive(self, *shape: int) -> Variable:
        """Values above 0."""
        return self.above(0.0, *shape)

    def between(self, lower: float, upper: Any, *shape: int) -> Variable:
        """Values between two bounds. upper: may depend on other parameters"""
        if not is_symbolic(upper):
            return self._known(aot.Parameter(shape, lower=lower, upper=upper), shape)
        q = self.real(*shape)
        self.terms.append((at.log(upper - lower) - at.softplus(q) - at.softplus(-q)).sum())
        return lower + (upper - lower) * at.sigmoid(q)

    def ordered(self, n: int) -> Variable:
        """An increasing vector.   → (n,)"""
        return self._known(aot.Parameter(n, constraint="ordered"), (n,))

    def positive_ordered(self, n: int) -> Variable:
        """An increasing vector of positive values.   → (n,)"""
        q = self.real(n)
        self.terms.append(q.sum())
        return at.cumsum(at.exp(q))

    def simplex(self, n: int, *shape: int) -> Variable:
        """Positive values whose sum is 1, along the last axis.   → (*shape, n)"""
        q = self.real(*shape, n - 1)
        self.terms.append(simplex.log_jacobian(q))
        return simplex.constrained(q)

    def correlation_factor(self, n: int) -> Variable:
        """The Cholesky factor of a correlation matrix, by partial correlations.   → (n, n)"""
        rows, columns = np.tril_indices(n, -1)
        z = at.set_subtensor(at.zeros((n, n))[rows, columns], at.tanh(self.real(n * (n - 1) // 2)))
        each = at.log1p(-z * z)
        left = at.cumsum(each, axis=1) - each  # log of 1 − Σ of the squares before this entry
        below = np.tril(np.ones((n, n)), -1)
        self.terms.append((below * (each + 0.5 * left)).sum())
        return (z + np.eye(n)) * at.exp(0.5 * left)

    def _known(self, kind: aot.Parameter, shape: tuple[int, ...]) -> Variable:
        q = self.real(*shape)
        self.terms.append(kind.log_jacobian(q))
        return kind.constrained(q)
