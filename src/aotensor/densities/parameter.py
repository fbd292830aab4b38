"""Parameter: the options of a named part of a density's argument."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from math import log, prod
from typing import Final

from aotensor.core.frozen import frozen_dataclass
from aotensor.densities import simplex
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.elementary import exp
from aotensor.ops.elementwise.elementary import log as elementwise_log
from aotensor.ops.elementwise.special import logit, sigmoid, softplus
from aotensor.ops.reduce.cumulate import cumsum
from aotensor.ops.shape.join import concatenate

_CONSTRAINTS: Final = ("ordered", "simplex")


@frozen_dataclass
class Parameter:
    """A named part of a log density's argument, for `aot.function(..., parameters={"sigma": Parameter(lower=0)})`.

    shape: its extents, numbers; an int is one extent. lower, upper: bounds of every element. constraint: "ordered" for
    an increasing vector, "simplex" for a vector of positive elements whose sum is 1.

    Samplers move on all real numbers. The transforms are those of Stan's reference manual: log for one bound, logit for
    two, logs of differences for "ordered", and for "simplex" isometric log ratios, one less than elements, as Stan has
    them since its version 2.37.

    Raises: GraphTypeError for a shape that is none, GraphValueError for bounds that exclude everything or a constraint
    that does not exist or fit.
    """

    shape: int | tuple[int, ...] = ()
    lower: float | None = None
    upper: float | None = None
    constraint: str | None = None

    def __post_init__(self) -> None:
        given = self.shape if isinstance(self.shape, tuple | list) else (self.shape,)
        if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in given):
            raise GraphTypeError(f"Parameter: shape must be a number or numbers, not {self.shape!r:.60}")
        object.__setattr__(self, "shape", tuple(given))
        for name in ("lower", "upper"):
            bound = getattr(self, name)
            if bound is not None and not _is_finite(bound):
                raise GraphValueError(f"Parameter: {name} must be a finite number or None, not {bound!r:.60}")
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise GraphValueError(f"Parameter: lower = {self.lower} is not below upper = {self.upper}")
        if self.constraint is not None:
            if not isinstance(self.constraint, str) or self.constraint not in _CONSTRAINTS:
                known = ", ".join(map(repr, _CONSTRAINTS))
                raise GraphValueError(f"Parameter: constraint must be {known} or None, not {self.constraint!r:.60}")
            if len(given) != 1 or given[0] < 1 or self.lower is not None or self.upper is not None:
                raise GraphValueError(
                    f"Parameter: constraint {self.constraint} needs a shape of one axis, and excludes lower and upper"
                )

    @property
    def extents(self) -> tuple[int, ...]:
        """The shape as a tuple."""
        assert isinstance(self.shape, tuple)
        return self.shape

    @property
    def free_extents(self) -> tuple[int, ...]:
        """The shape of the unconstrained values."""
        return (self.extents[0] - 1,) if self.constraint == "simplex" else self.extents

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.extents)

    @property
    def has_jacobian(self) -> bool:
        """Does the transform change volumes?"""
        return self.lower is not None or self.upper is not None or self.constraint is not None

    def constrained(self, q: Variable) -> Variable:
        """The constrained value for unconstrained q.   q: free_extents → extents"""
        if self.constraint == "ordered":
            return cumsum(concatenate([q[:1], exp(q[1:])]))
        if self.constraint == "simplex":
            return simplex.constrained(q)
        if self.lower is not None and self.upper is not None:
            return self.lower + (self.upper - self.lower) * sigmoid(q)
        if self.lower is not None:
            return self.lower + exp(q)
        return self.upper - exp(q) if self.upper is not None else q

    def log_jacobian(self, q: Variable) -> Variable:
        """log |det dx/dq| of the transform, a scalar."""
        if self.constraint == "ordered":
            return q[1:].sum()
        if self.constraint == "simplex":
            return simplex.log_jacobian(q)
        if self.lower is not None and self.upper is not None:
            return (log(self.upper - self.lower) - softplus(q) - softplus(-q)).sum()
        return q.sum()

    def unconstrained(self, x: Variable) -> Variable:
        """The inverse of `constrained`; not finite for an x outside of the support."""
        if self.constraint == "ordered":
            return concatenate([x[:1], elementwise_log(x[1:] - x[:-1])])
        if self.constraint == "simplex":
            return simplex.unconstrained(x)
        if self.lower is not None and self.upper is not None:
            return logit((x - self.lower) / (self.upper - self.lower))
        if self.lower is not None:
            return elementwise_log(x - self.lower)
        return elementwise_log(self.upper - x) if self.upper is not None else x


def _is_finite(bound: object) -> bool:
    """Is a bound a finite number that float64 can represent? False for a bool."""
    if isinstance(bound, bool) or not isinstance(bound, int | float):
        return False
    return abs(bound) <= sys.float_info.max


def checked_parameters(parameters: Mapping[str, Parameter] | None) -> dict[str, Parameter]:
    """Check parameters by name.   Raises: GraphTypeError unless all are `Parameter`s, GraphValueError for a comma in
    a name
    """
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping):
        raise GraphTypeError(f"parameters must be a dict of Parameters by name, not {parameters!r:.60}")
    for name, one in parameters.items():
        if not isinstance(name, str) or not isinstance(one, Parameter):
            raise GraphTypeError(f"parameters: {name!r:.40} is {one!r:.60}, not a Parameter with a name")
        if not name or "," in name or not name.isprintable():
            raise GraphValueError(
                f"parameters: {name!r:.60} is not a name of a parameter",
                hint="a name must not be empty or contain commas",
            )
    return dict(parameters)
