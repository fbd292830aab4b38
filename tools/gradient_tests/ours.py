"""Derivatives of a program by aotensor, by order, computed by the reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import AotensorError, InternalError
from aotensor.gradient import pushforward

Results = dict[str, list[Any]]


def differentiated(
    inputs: Sequence[Any], results: Sequence[Any], xs: Sequence[Any], weights: Any, directions: Any, orders: set[str]
) -> tuple[Results, dict[str, str]]:
    """The value and the requested derivatives at xs, and the reason for each order that is missing.

    first: of the sum of results times weights, by the inputs. forward: of the results along the directions. second:
    of the first derivatives times directions, by the inputs.
    Raises: InternalError
    """
    terms: Results = {"value": list(results)}
    refused: dict[str, str] = {}

    def total(ys: Sequence[Any], ws: Sequence[Any]) -> Any:
        parts = [at.sum(y * at.constant(w.astype(y.dtype))) for y, w in zip(ys, ws, strict=True)]
        return sum(parts[1:], parts[0])

    def slopes(cost: Any) -> list[Any]:
        return list(aot.grad(cost, list(inputs), disconnected_inputs="ignore"))

    tangents = [at.constant(v.astype(x.dtype)) for v, x in zip(directions, inputs, strict=True)]
    steps: dict[str, Callable[[], list[Any]]] = {
        "first": lambda: slopes(total(results, weights)),
        "forward": lambda: [pushforward(y, inputs, tangents, disconnected_outputs="ignore") for y in results],
        "second": lambda: slopes(total(terms["first"], directions)),
    }
    for order, step in steps.items():
        if order in orders:
            try:
                terms[order] = step()
            except InternalError:
                raise
            except (AotensorError, KeyError) as error:
                refused[order] = line_of(error)
    flat = [x for found in terms.values() for x in found]
    with np.errstate(all="ignore"):
        answers = iter(aot.function(list(inputs), flat, on_unused_input="ignore").reference(*map(np.asarray, xs)))
    return {order: [next(answers) for _ in found] for order, found in terms.items()}, refused


def listed(results: Any) -> list[Any]:
    """The results of an imported program as a list."""
    return list(results.values()) if isinstance(results, dict) else results if isinstance(results, list) else [results]


def line_of(error: BaseException) -> str:
    """The first line of an error, at most 160 characters of it."""
    return str(error).partition("\n")[0][:160]
