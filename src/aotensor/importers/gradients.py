"""Append gradients of the first result of an imported program to its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.extension import dtypes


def with_gradients(
    results: Any,
    known: Mapping[str, at.Variable],
    grad: str | Sequence[str],
    is_of: Callable[[str, str], bool] = str.__eq__,
    hint: str = "take the sum or the mean",
) -> Any:
    """The results by name, behind them `grad_<label>`, the gradients of the first one; without `grad` as they are.

    results: a variable, a list or a dict. known: what may be asked for, by label. grad: names, each of the labels that
    `is_of(label, name)` says. hint: how to make one number of the first result.

    Raises: GraphTypeError for names that are not text, for a first result that is not one real floating number and for
    what is discrete; GraphValueError without results and for a name of nothing.
    """
    names = [grad] if isinstance(grad, str) else list(grad)
    for one in names:
        if not isinstance(one, str):
            raise GraphTypeError(f"grad: expected names, found {one!r:.60}")
    if not names:
        return results
    if isinstance(results, list):
        results = {f"out{k}": x for k, x in enumerate(results)}
    outputs: dict[str, at.Variable] = dict(results) if isinstance(results, dict) else {"out": results}
    if not outputs:
        raise GraphValueError("grad: the model has no outputs")
    label, cost = next(iter(outputs.items()))
    extents = cost.static_shape
    if None in extents or prod(n or 0 for n in extents) != 1 or not dtypes.is_float(cost.dtype):
        title = f"grad: the first output {label!r} is {cost.type}, not a floating scalar"
        raise GraphTypeError(title, hint=hint)
    chosen: dict[str, at.Variable] = {}
    for one in names:
        found = {label: x for label, x in known.items() if is_of(label, one)}
        if not found:
            raise GraphValueError(f"grad: {one!r} is not an input", hint=f"inputs: {', '.join(known)}")
        chosen.update(found)
    for label, x in chosen.items():
        if dtypes.is_discrete(x.dtype):
            raise GraphTypeError(f"grad: {label!r} has dtype {x.dtype}, and only floating inputs have gradients")
    slopes = aot.grad(at.reshape(cost, ()), list(chosen.values()), disconnected_inputs="ignore")
    return outputs | {f"grad_{label}": slope for label, slope in zip(chosen, slopes, strict=True)}
