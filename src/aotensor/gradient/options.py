"""Options of grad and its relatives: checks, and the behaviour that they select."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from aotensor.config import config
from aotensor.core import dtypes
from aotensor.errors import DisconnectedInputError, GraphTypeError, GraphValueError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.op import disconnected, has_value
from aotensor.graph.site import warn_user
from aotensor.graph.variable import Variable
from aotensor.ops.linear import zero_gradient


def on_disconnection(option: str, value: object) -> str:
    """Check the option `disconnected_inputs`: "ignore", "warn" or "raise".   Raises: GraphValueError"""
    return check_choice(option, value, ("ignore", "warn", "raise"))  # type: ignore[no-any-return]


def disconnected_value(value: object) -> str:
    """Check `return_disconnected`: "zero", "none" (None) or "disconnected", in any case.   Raises: GraphValueError"""
    spelling = "none" if value is None else value.lower() if isinstance(value, str) else value
    return check_choice("return_disconnected", spelling, ("zero", "none", "disconnected"))  # type: ignore[no-any-return]


def report_disconnection(policy: str, message: str, x: Variable, lines: Sequence[str] = ()) -> None:
    """Raise, warn or ignore that a derivative does not exist, as `policy` says.   Raises: DisconnectedInputError"""
    error = DisconnectedInputError(
        message,
        lines=[x.describe(), *lines],
        hint="pass disconnected_inputs='ignore' to get zeros, if that is meant" if "input" in message else None,
    )
    if policy == "raise":
        raise error
    if policy == "warn":
        warn_user(str(error))


def disconnected_result(kind: str, x: Variable) -> Variable | None:
    """The result for a disconnected x: zeros like x, None, or a variable of DisconnectedType.

    Raises: GraphTypeError if zeros are requested and x has no zero.
    """
    if kind == "none":
        return None
    if kind == "zero" and not has_value(x):
        raise GraphTypeError(
            f"{x} has no value, so its gradient cannot be zero",
            lines=[x.describe()],
            hint="pass return_disconnected='none'",
        )
    return zero_gradient(x) if kind == "zero" else disconnected()


@coerced
def as_list_or_tuple(use_list: bool, use_tuple: bool, outputs: Any) -> Any:
    """`outputs` as a list, a tuple, or, by default, the single variable that it is or contains.

    Raises: GraphValueError if both are requested, or if neither is and `outputs` does not contain exactly one.
    """
    is_sequence = isinstance(outputs, list | tuple)
    if use_list and use_tuple:
        raise GraphValueError("use_list and use_tuple cannot both be True")
    if use_list:
        return list(outputs) if is_sequence else [outputs]
    if use_tuple:
        return tuple(outputs) if is_sequence else (outputs,)
    if not is_sequence:
        return outputs
    if len(outputs) != 1:
        raise GraphValueError(f"expected one output, found {len(outputs)}")
    return outputs[0]


format_as = as_list_or_tuple


def like(pattern: Any, results: Sequence[Any]) -> Any:
    """Results in the container of `pattern`: single for single, tuple for tuple, else a list."""
    if isinstance(pattern, Variable):
        return results[0]
    return tuple(results) if isinstance(pattern, tuple) else list(results)


def as_variables(value: Any, what: str) -> list[Variable]:
    """One variable or a sequence of them, as a list.   Raises: GraphTypeError for sets, generators and other things."""
    if isinstance(value, Variable):
        return [value]
    if isinstance(value, set | frozenset):
        raise GraphTypeError(f"{what} is a set: its elements have no defined order", hint="pass a list")
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise GraphTypeError(f"{what} must be a variable or a list of them, not {type(value).__name__}")
    for x in value:
        if not isinstance(x, Variable):
            raise GraphTypeError(f"{what} holds {type(x).__name__} {x!r:.40}, which is not a variable")
    return list(value)


def as_constants(value: Any) -> tuple[Variable, ...]:
    """The variables of `consider_constant`, from any iterable.   Raises: GraphTypeError"""
    if value is None:
        return ()
    if isinstance(value, Variable) or not isinstance(value, Iterable):
        raise GraphTypeError(f"consider_constant must be an iterable of variables, not {value!r:.40}")
    constants = tuple(value)
    for x in constants:
        if not isinstance(x, Variable):
            raise GraphTypeError(f"consider_constant holds {type(x).__name__} {x!r:.40}, which is not a variable")
    return constants


def check_like(found: Variable, x: Variable, what: str) -> None:
    """Check rank and static extents of a cotangent or tangent against its variable.   Raises: GraphValueError"""
    fits = found.ndim == x.ndim and all(
        one == other or one is None or other is None
        for one, other in zip(found.static_shape, x.static_shape, strict=True)
    )
    if not fits:
        raise GraphValueError(
            f"{what} must have the shape of its variable, {x.type}", lines=[found.describe(), x.describe()]
        )


def is_float(x: Variable) -> bool:
    """Does x have floating or complex elements?"""
    return dtypes.is_inexact(x.dtype)


def float_of(x: Variable) -> str:
    """The dtype of cotangents and tangents of x: the dtype of x if it is floating, else floatX."""
    return x.dtype if is_float(x) else config.floatX
