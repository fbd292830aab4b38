"""The inputs of a node: checks of number and kind, and errors that list them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from aotensor.core import dtypes
from aotensor.core.types import TensorType
from aotensor.errors import GraphError, GraphTypeError
from aotensor.graph.variable import Variable


def is_complex(x: Variable) -> bool:
    """Is the variable complex? False for gradient terms without values."""
    return isinstance(x.type, TensorType) and dtypes.is_complex(x.type.dtype)


def is_half(x: Variable) -> bool:
    """Is it a float16 or bfloat16 tensor?"""
    return isinstance(x.type, TensorType) and dtypes.is_half(x.type.dtype)


def check_count(name: str, infer_type: Callable[..., Any], inputs: Sequence[Variable]) -> None:
    """Raises: GraphTypeError for another number of inputs than the typing rule accepts."""
    least, most = _counts(infer_type)
    if len(inputs) < least or (most is not None and len(inputs) > most):
        expected = f"{least}" if most == least else f"{least} or more" if most is None else f"{least} to {most}"
        noun = "input" if expected == "1" else "inputs"
        raise GraphTypeError(
            f"{name}: expected {expected} {noun}, found {len(inputs)}", lines=[x.describe() for x in inputs]
        )


@cache
def _counts(infer_type: Callable[..., Any]) -> tuple[int, int | None]:
    """(least, most) number of inputs of a typing rule; None for any number."""
    parameters = list(inspect.signature(infer_type).parameters.values())[1:]
    named = [one for one in parameters if one.kind != one.VAR_POSITIONAL]
    least = sum(one.default is one.empty for one in named)
    return least, len(named) if len(named) == len(parameters) else None


def with_operands(error: GraphError, name: str, variables: Sequence[Variable]) -> GraphError:
    """The same error, with the op's name before its message and the list of operands after it."""
    found = error.diagnostic
    title = found.title if found.title.startswith(name) else f"{name}: {found.title}"
    return type(error)(title, lines=[*found.lines, *(x.describe() for x in variables)], hint=found.hint)
