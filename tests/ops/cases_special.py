"""Functions with parameters: values, derivatives in all operands, second derivatives, and the edges of domains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from case import INF, NAN, Case

import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.gradient import grad
from aotensor.graph.variable import Variable


@dataclass(frozen=True)
class Row:
    """One function.   intervals: one per operand, inside the domain; edges: operands at special points, by columns"""

    name: str
    intervals: Sequence[tuple[float, float]]
    edges: Sequence[Sequence[float]]
    reason: str
    rtol: float = 1e-10
    wrt: Sequence[int] = field(default=())

    @property
    def build(self) -> Callable[..., Variable]:
        found: Callable[..., Variable] = getattr(at, self.name)
        return found

    @property
    def differentiable(self) -> Sequence[int]:
        return self.wrt or range(len(self.intervals))

    def draw(self, rng: np.random.Generator) -> list[Array]:
        shapes = [(3, 4), (1, 4), (3, 1), (3, 4)]
        return [rng.uniform(*interval, shape) for interval, shape in zip(self.intervals, shapes, strict=False)]

    def second(self, *xs: Variable) -> Variable:
        """The derivatives of a sum of squares, together: what this row differentiates again."""
        wrt = [xs[k] for k in self.differentiable]
        first = grad((self.build(*xs) ** 2).sum(), wrt)
        total: Any = sum(((k + 1.0) * g.sum() for k, g in enumerate(first)), start=0.0)
        return total  # type: ignore[no-any-return]

    def cases(self) -> list[Case]:
        """The rows of the op tables."""
        options: dict[str, Any] = {"rtol": self.rtol, "reason": self.reason}
        single = [np.float32(np.mean(interval)) * np.ones(3, "float32") for interval in self.intervals]
        empty = [np.zeros(0) for _ in self.intervals]
        edges = [np.array(column, dtype=np.float64) for column in self.edges]
        wrt = tuple(self.differentiable)
        return [
            Case(id=self.name, build=self.build, inputs=self.draw, wrt=wrt, **options),
            Case(id=f"{self.name}-second", build=self.second, inputs=self.draw, wrt=wrt, **options),
            Case(id=f"{self.name}-edges", build=self.build, inputs=edges, wrt=(), **options),
            Case(id=f"{self.name}-float32", build=self.build, inputs=single, wrt=(), **options),
            Case(id=f"{self.name}-empty", build=self.build, inputs=empty, wrt=(), **options),
        ]


SHAPES_AND_POINTS = [
    [0.0, 0.0, 1.0, 2.0, 0.5, -1.0, 1.0, 3.0, INF, INF, 1e-8, 500.0, 5.0, NAN, 1.0, 1e300],
    [0.0, 1.0, 0.0, 0.0, 0.0, 1.0, -1.0, INF, 2.0, INF, 1e-3, 500.0, 5.0, 1.0, NAN, 1.0],
]
BETA_EDGES = [
    [0.0, 1.0, 0.0, 0.0, 1.0, -1.0, INF, 1.0, INF, 2.0, 2.0, 1.0, 1.0, NAN, 500.0, 1.0, 1e-8],
    [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, INF, INF, 2.0, 2.0, 2.0, 2.0, 1.0, 500.0, 1.0, 2.0],
    [0.5, 0.5, 0.5, 1.0, 0.0, 0.5, 0.5, 0.5, 0.5, 0.0, 1.0, -0.1, 1.1, 0.5, 0.5, 0.25, 0.5],
]
QUANTILES = [
    [0.0, 0.0, 0.0, 1.0, 1.0, -1.0, INF, 1.0, 1.0, NAN, 1e-3],
    [0.5, 0.0, 1.0, 0.0, 1.0, 0.5, 0.5, -0.1, 1.1, 0.5, 0.5],
]
BETA_QUANTILES = [
    [0.0, 1.0, 1.0, 1.0, -1.0, INF, 1.0, 1.0, 1.0, NAN, 0.01],
    [1.0, 0.0, 1.0, 1.0, 1.0, 1.0, INF, 1.0, 1.0, 1.0, 2.0],
    [0.5, 0.5, 0.0, 1.0, 0.5, 0.5, 0.5, -0.1, 1.1, 0.5, 0.5],
]
POLES = [
    [0.0, 0.0, -2.0, -2.0, -2.0, -2.0, 1.0, 1.0, 2.5, -0.5, 200.0, -2.0, -2.5, 3.0, 0.0, INF, NAN],
    [0.0, 1.0, 1.0, 2.0, 3.0, -1.0, -1.0, -2.0, -1.0, 2.0, 3.0, 0.5, 0.5, -3.0, -1.0, 1.0, 1.0],
]
ORDERS = [
    [0.0, 1.0, 0.5, -1.0, 0.0, 0.5, 2.0, 3.0, 0.5, -2.0, -0.5, -2.5, -3.0, NAN, 1.0, 100.0, 0.0, 30.0],
    [0.0, 0.0, 0.0, 0.0, INF, INF, -1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 2.0, 1.0, NAN, 1.0, 300.0, 35.0],
]
BESSEL = "series, expansions and recurrences; the reference has derivatives in the order by differences"
HYPERGEOMETRIC = [
    [1.0, 1.0, 1.0, -2.0, 1.0, -1.0, -3.0, 1.0, 1.0, NAN, 1.0, 0.5, 2.0, -2.0, 1.5],
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 0.5, 0.5, 1.0, -0.5],
    [2.0, 3.0, 2.0, 3.0, -1.0, -2.0, -2.0, 0.0, 3.0, 1.0, 2.0, -1.0, 3.5, 3.0, 2.0],
    [1.0, 1.0, 1.5, 5.0, 0.5, 0.5, 0.5, 0.0, 0.0, 0.5, NAN, -2.0, -1e4, 1.0, 0.9999],
]
GAUSS = "series and Taylor steps; the reference has derivatives in parameters by differences"
LIMITS = "series and continued fractions; the reference has derivatives in parameters by quadrature"
ROWS = [
    Row("gammainc", [(0.3, 6), (0.2, 6)], SHAPES_AND_POINTS, LIMITS),
    Row("gammaincc", [(0.3, 6), (0.2, 6)], SHAPES_AND_POINTS, LIMITS),
    Row("gammaincinv", [(0.5, 6), (0.05, 0.95)], QUANTILES, LIMITS),
    Row("gammainccinv", [(0.5, 6), (0.05, 0.95)], QUANTILES, LIMITS),
    Row("betaincinv", [(0.5, 6), (0.5, 6), (0.05, 0.95)], BETA_QUANTILES, LIMITS),
    Row(
        "owens_t", [(-2, 2), (-3, 3)], [[0, 1, 1, INF, 1, -1, NAN, 1, 30], [1, 0, INF, 1, -2, -3, 1, NAN, 0.5]], LIMITS
    ),
    Row("poch", [(0.5, 6), (-0.4, 3)], POLES, LIMITS),
    Row("hyp2f1", [(0.3, 2), (0.3, 2), (1.5, 3), (-0.8, 0.8)], HYPERGEOMETRIC, GAUSS),
    Row("log_ndtr", [(-6, 4)], [[-INF, INF, NAN, 0, -1, 1, -40, 40, -1e10, 1e-300]], LIMITS),
    Row("ndtri", [(0.01, 0.99)], [[0, 1, -0.1, 1.1, NAN, 0.5, 1e-300, 1e-16, 0.9999]], LIMITS),
    Row("chi2sf", [(0.5, 9), (0.5, 9)], [[0, 1, -1, INF, 3], [1, 0, 1, 2, NAN]], LIMITS),
    Row("factorial", [(0.1, 9)], [[0, 1, 5, -0.5, 170, 200]], LIMITS),
    Row("gammal", [(0.5, 6), (0.5, 6)], SHAPES_AND_POINTS, LIMITS),
    Row("gammau", [(0.5, 6), (0.5, 6)], SHAPES_AND_POINTS, LIMITS),
    Row("betainc", [(0.5, 6), (0.5, 6), (0.1, 0.9)], BETA_EDGES, LIMITS),
]

CASES: list[Case] = [case for row in ROWS for case in row.cases()]
