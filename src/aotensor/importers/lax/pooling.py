"""Windows that move over an array, each reduced: sums, products, extrema."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import reduce
from math import prod
from typing import Any, Final

import numpy as np

import aotensor.tensor as at
from aotensor.importers.lax.reductions import bound
from aotensor.importers.lax.shapes import extent, padded, span
from aotensor.importers.lax.table import Context, Convert, Equation, body_of, enter, rule

_MOST_TERMS: Final = 16
"""Elements of a window that are combined at once, and not axis by axis."""

_LARGEST: Final = 4096
"""Elements of a window: each is a slice of the array."""

Combine = Callable[..., at.Variable]


def _neutral(combine: Combine, dtype: str) -> Any:
    """What changes nothing."""
    if combine in (at.maximum, at.minimum):
        return bound(dtype, combine is at.minimum)
    return int(combine is at.mul)


def pooled(x: at.Variable, params: Mapping[str, Any], combine: Combine) -> at.Variable:
    """Each window of x combined, in C order; what is outside of x changes nothing."""
    sizes, strides = ([int(n) for n in params[key]] for key in ("window_dimensions", "window_strides"))
    dilations, spread = (
        [int(n) for n in params.get(key) or [1] * x.ndim] for key in ("window_dilation", "base_dilation")
    )
    widths = [(int(low), int(high), n - 1) for (low, high), n in zip(params["padding"], spread, strict=True)]
    x = padded(x, widths, at.constant(np.asarray(_neutral(combine, x.dtype), x.dtype)))
    axes = [d for d in range(x.ndim) if (sizes[d], strides[d]) != (1, 1)]
    counts = {d: (extent(x, d) - (sizes[d] - 1) * dilations[d] - 1) // strides[d] + 1 for d in axes}
    groups = [axes] if prod(sizes) <= _MOST_TERMS else [[d] for d in reversed(axes)]
    for group in groups:  # the last axis first, so that of equal elements the first in C order is taken
        parts = []
        for place in itertools.product(*(range(sizes[d]) for d in group)):
            index = [slice(None)] * x.ndim
            for d, k in zip(group, place, strict=True):
                first = k * dilations[d]
                index[d] = slice(first, first + span(counts[d], strides[d]), strides[d])
            parts.append(x[tuple(index)])
        x = reduce(combine, parts)
    return x


def _is_too_large(equation: Equation) -> str:
    params = equation.params
    if not all(isinstance(n, int | np.integer) for pair in params["padding"] for n in pair):
        return "with symbolic padding"
    sizes = params["window_dimensions"]
    if not all(isinstance(n, int | np.integer) for n in sizes) or prod(sizes) > _LARGEST:
        return f"of windows of more than {_LARGEST} elements"
    is_empty = any(n == 0 for n in (*equation.invars[0].aval.shape, *equation.outvars[0].aval.shape))
    return "of no elements, or with no windows" if is_empty else ""


def _windows(combine: Combine) -> Convert:
    return lambda context, equation, x: pooled(x, equation.params, combine)


for _name, _combine in (
    ("reduce_window_sum", at.add), ("reduce_window_max", at.maximum), ("reduce_window_min", at.minimum),
    ("reduce_window_prod", at.mul),
):  # fmt: skip
    enter(_name, _windows(_combine), check=_is_too_large, note=f"windows of up to {_LARGEST} elements")


_COMBINED: Final[Mapping[str, Combine]] = {"add": at.add, "mul": at.mul, "max": at.maximum, "min": at.minimum}


def _of_one_operation(equation: Equation) -> Combine | None:
    """The combination that a program of two numbers is, None where it is another."""
    body = body_of(equation.params["jaxpr"])
    if len(body.eqns) != 1 or list(body.eqns[0].outvars) != list(body.outvars):
        return None
    if set(body.eqns[0].invars) != set(body.invars) or len(body.invars) != 2:
        return None
    return _COMBINED.get(body.eqns[0].primitive.name)


def _is_no_monoid(equation: Equation) -> str:
    if len(equation.invars) != 2 or _of_one_operation(equation) is None:
        return "by another function than a sum, product, maximum or minimum"
    return _is_too_large(equation)


@rule("reduce_window", check=_is_no_monoid, inner=lambda equation: (), note="by a sum, product, maximum or minimum")
def _reduce_window(context: Context, equation: Equation, x: at.Variable, start: at.Variable) -> at.Variable:
    combine = _of_one_operation(equation)
    assert combine is not None, equation
    return combine(start, pooled(x, equation.params, combine))
