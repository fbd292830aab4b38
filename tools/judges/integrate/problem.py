"""The statement of an initial value problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.integrate import solve_ivp

Rates: TypeAlias = Callable[[Any, Any, Any], list[Any]]


@dataclass(frozen=True)
class Problem:
    """dy/dt = rates(t, y, p), y(0) = start, up to `end`.

    scale: a component of y at the end counts with the error |y − exact| / (|exact| + scale), and atol = scale · rtol.
    published: y at the end, as its source prints it, or none. is_stiff: which methods are compared. close: the error
    of the gradient that each of our methods must reach.
    """

    name: str
    source: str
    rates: Rates
    start: tuple[float, ...]
    parameters: tuple[float, ...]
    end: float
    scale: float
    is_stiff: bool
    published: tuple[float, ...] = ()
    close: float = 1e-5

    def exact(self) -> Any:
        """y at the end: published, or by SciPy's DOP853 at a tolerance of 1e-13.   (n,)"""
        if self.published:
            return np.array(self.published)
        return solve_ivp(
            lambda t, y: self.rates(t, y, self.parameters), (0.0, self.end), self.start, method="DOP853", rtol=1e-13,
            atol=1e-14,
        ).y[:, -1]  # fmt: skip

    def weights(self) -> Any:
        """The weights of the sum of y at the end whose gradient is compared.   (n,)"""
        return 1 / (abs(self.exact()) + self.scale)
