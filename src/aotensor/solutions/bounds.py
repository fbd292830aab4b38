"""Bounds of the elements of an unknown, as users state them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from aotensor.core import dtypes
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.variable import Constant, Variable, as_tensor
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.shape.broadcast import broadcast_to
from aotensor.ops.shape.extents import extents_of
from aotensor.ops.shape.join import stack
from aotensor.ops.shape.reshape import reshape
from aotensor.solutions.problem import Unknown


class Bounds(NamedTuple):
    """lb ≤ x ≤ ub. Numbers, arrays or variables, like x or broadcast to it; infinite where there is no bound."""

    lb: Any = -np.inf
    ub: Any = np.inf


def bounds_or_pair(name: str, bounds: Any) -> Any:
    """An object with lb and ub, from such an object, a pair (lb, ub), or None.   Raises: GraphTypeError"""
    if bounds is None or hasattr(bounds, "lb"):
        return Bounds() if bounds is None else bounds
    if not isinstance(bounds, list | tuple) or len(bounds) != 2:
        raise GraphTypeError(f"{name}: bounds must be Bounds(lb, ub) or a pair (lb, ub), not {bounds!r:.60}")
    return Bounds(*bounds)


def bounds_of(name: str, bounds: Any, given: Unknown) -> tuple[Variable, Variable]:
    """The lower and the upper bounds of an unknown.   (n,) each

    Raises: GraphTypeError unless they are an object with lb and ub, or pairs for a vector; GraphValueError for
    another number or rank of them, or known ones that are nan or in the wrong order.
    """
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        ends = bounds.lb, bounds.ub
    elif isinstance(bounds, list | tuple):
        ends = _ends(name, bounds, given.given)
    else:
        hint = "Bounds(lb, ub), or [(min, max), …] for the elements of a vector"
        raise GraphTypeError(
            f"{name}: bounds must be Bounds or a list of pairs, not {type(bounds).__name__}", hint=hint
        )
    lower, upper = (_like(name, part, given.given) for part in ends)
    if isinstance(lower, Constant) and isinstance(upper, Constant):
        wrong = ~np.less_equal(lower.data, upper.data)
        if wrong.any():
            a, b = (x[wrong].ravel()[0] for x in np.broadcast_arrays(lower.data, upper.data))
            raise GraphValueError(f"{name}: bounds have the lower end {a:g} and the upper end {b:g}")
    parts = [broadcast_to(cast(part, given.given.dtype), extents_of(given.given)) for part in (lower, upper)]
    lower, upper = parts if given.given.ndim == 1 else (reshape(part, [-1]) for part in parts)
    return lower, upper


def _ends(name: str, pairs: list[Any] | tuple[Any, ...], x: Variable) -> tuple[Any, Any]:
    """The ends of pairs, one for each element of a vector."""
    count = x.tensor_type.shape[0] if x.ndim == 1 else None
    if x.ndim != 1 or (isinstance(count, int) and count != len(pairs)):
        title = f"{name}: bounds are {len(pairs)} pairs, and x0 is not a vector with as many elements"
        raise GraphValueError(title, lines=[x.describe()], hint="Bounds(lb, ub) has the shape of x0")
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise GraphTypeError(f"{name}: bounds must be pairs (min, max), not {pair!r:.60}")
    if not pairs:
        return np.zeros(0), np.zeros(0)
    return _concatenate_ends([pair[0] for pair in pairs], -np.inf), _concatenate_ends(
        [pair[1] for pair in pairs], np.inf
    )


def _concatenate_ends(ends: list[Any], none: float) -> Any:
    known = [none if end is None else end for end in ends]
    return stack(known) if any(isinstance(end, Variable) for end in known) else np.array(known, dtype=np.float64)


def _like(name: str, part: Any, x: Variable) -> Variable:
    """Raises: GraphTypeError for a complex bound, GraphValueError for one that does not broadcast to x."""
    found = as_tensor(part)
    if dtypes.is_complex(found.dtype):
        raise GraphTypeError(f"{name}: bounds must be real", lines=[found.describe()])
    ends = zip(reversed(found.tensor_type.shape), reversed(x.tensor_type.shape), strict=False)
    is_other = any(isinstance(m, int) and isinstance(n, int) and m not in (1, n) for m, n in ends)
    if found.ndim > x.ndim or is_other:
        raise GraphValueError(
            f"{name}: bounds must have the shape of x0 or broadcast to it", lines=[found.describe(), x.describe()]
        )
    return found
