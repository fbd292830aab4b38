"""Checked calls: compiled values are compared with the reference, and arguments must stay unchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from aotensor.core.dtypes import kind_of
from aotensor.core.types import Array
from aotensor.driver.definition import Definition
from aotensor.errors import AotensorError, DisagreementError
from aotensor.graph.variable import SharedVariable, Variable
from aotensor.sampling.agreement import disagreements
from aotensor.sampling.dense_view import arrays_of, dense_value
from aotensor.sampling.samples import nearby_values, reference_values


def checked_call(f: Definition, bound: Sequence[tuple[Variable, Array]], run: Callable[[list[Array]], Any]) -> Any:
    """The results of a compiled call, after comparison with the reference.

    bound: an array for each input. run: performs the call, and updates shared variables.

    Raises: DisagreementError if results or updates differ, an argument was changed, or the reference refuses what
    compiled code accepts; the errors of compiled code.
    """
    given = {f.names[x]: array for x, array in bound}
    before = {key: [part.copy() for part in arrays_of(array)] for key, array in given.items()}
    values = {key: x.get_value() if isinstance(x, SharedVariable) else given[key] for key, x in f.arguments.items()}
    refusal: Exception | None = None
    expected: list[Array] = []
    try:
        expected = reference_values(f, values)
    except (AotensorError, ValueError, IndexError, ArithmeticError) as error:
        refusal = error
    result = run(list(given.values()))
    if refusal is not None:
        raise DisagreementError(f"{f.name}: compiled code accepts what the reference refuses: {refusal}") from refusal
    for key, array in given.items():
        pairs = zip(arrays_of(array), before[key], strict=True)
        if not all(np.array_equal(x, y, equal_nan=kind_of(x.dtype) == "f") for x, y in pairs):
            raise DisagreementError(f"{f.name}: the call has changed its argument {key}")
    rng = np.random.default_rng(0)
    found = [dense_value(x) for x in (*_listed(result), *(f.state[key].get_value() for key in f.updates))]
    problem = disagreements(
        list(f.results),
        found,
        [dense_value(x) for x in expected],
        None,
        lambda: [dense_value(x) for x in nearby_values(f, values, rng)],
    )
    if problem is not None:
        raise DisagreementError(f"{f.name}: compiled code and reference disagree: {problem}")
    return result


def _listed(result: Any) -> list[Array]:
    if isinstance(result, dict):
        return list(result.values())
    return result if isinstance(result, list) else [result]
