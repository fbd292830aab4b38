"""Check and convert options of functions by their annotations: NumPy's scalars become Python's, others are refused.

    def sum(x: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False)

    sum(x, np.int64(1))      axis = 1
    sum(x, np.array(1))      axis = 1
    tri(x.shape[0])          N = 3          where x has 3 rows
    sum(x, "rows")           GraphTypeError: sum: axis is an int, a sequence of ints or None, not 'rows'

Tensors are annotated `Any` and are left to the typing rules of ops.
"""

from __future__ import annotations

import inspect
import operator
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Final, TypeVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.types import checked_int
from aotensor.errors import GraphTypeError, GraphValueError

F = TypeVar("F", bound=Callable[..., Any])
Check = Callable[[Any], Any]


class _Refused(Exception):
    """Exception of a converter that does not accept the type of the value."""


def coerced(function: F, name: str | None = None) -> F:
    """Decorator: check and convert the arguments of a function or a class by its annotations.

    Raises: GraphTypeError at a call, with function, parameter and value.
    """
    if isinstance(function, type):
        made: Any = function
        made.__init__ = coerced(made.__init__, function.__name__)
        return function
    known: list[tuple[int | None, str, Check]] | None = None
    shown = name or function.__name__

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal known
        if known is None:
            known = _checks(function, shown)
        given: list[Any] | None = None
        for position, parameter, check in known:
            if position is not None and position < len(args):
                found = check(args[position])
                if found is not args[position]:
                    given = list(args) if given is None else given
                    given[position] = found
            elif parameter in kwargs:
                kwargs[parameter] = check(kwargs[parameter])
        return function(*(args if given is None else given), **kwargs)

    return typing.cast(F, call)


def check_choice(what: str, value: Any, known: Collection[Any]) -> Any:
    """Check an option with a fixed list of values, and return it.   Raises: GraphValueError that lists the values."""
    if isinstance(value, str | int | None) and value in known:
        return value
    raise GraphValueError(f"{what} must be one of {', '.join(map(repr, known))}, not {value!r:.60}")


def _checks(function: Callable[..., Any], shown: str) -> list[tuple[int | None, str, Check]]:
    """(position or None if keyword-only, name, check) of each parameter of `function` with a checkable annotation."""
    found: list[tuple[int | None, str, Check]] = []
    for position, one in enumerate(inspect.signature(function).parameters.values()):
        if isinstance(one.annotation, str) and "DTypeLike" in one.annotation:
            found.append((None if one.kind == one.KEYWORD_ONLY else position, one.name, _dtype))
            continue
        members = _members(one.annotation, function)
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) or not members or not all(map(_is_known, members)):
            continue
        if (
            isinstance(one.default, str) and one.default
        ):  # a parameter with a few words as values: `check_choice` checks it
            continue
        index = None if one.kind == one.KEYWORD_ONLY else position
        found.append((index, one.name, _check(f"{shown}: {one.name}", members)))
    return found


def _members(annotation: Any, function: Callable[..., Any]) -> list[Any]:
    """The members of a union, else the annotation itself; none for names that do not exist at run time."""
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, getattr(function, "__globals__", {}))  # as typing.get_type_hints does
        except NameError:
            return []
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return [member for part in typing.get_args(annotation) for member in _members(part, function)]
    return [type(None) if annotation is None else annotation]


def _check(what: str, members: Sequence[Any]) -> Check:
    """A function that converts a value by the first member of a union that accepts it."""
    converters = [_converter(member) for member in members]
    *others, last = dict.fromkeys(_words(member) for member in members)
    expected = f"{', '.join(others)} or {last}" if others else last

    def check(value: Any) -> Any:
        for convert in converters:
            try:
                return convert(value)
            except _Refused:
                continue
        if hasattr(value, "describe"):
            hint = "it must be known when the graph is built"
            raise GraphTypeError(f"{what} must be {expected}, not {value}", lines=[value.describe()], hint=hint)
        raise GraphTypeError(f"{what} must be {expected}, not {value!r:.60}")

    return check


def _is_known(member: Any) -> bool:
    return member in _SCALARS or typing.get_origin(member) in _GENERICS or _is_class(member)


def _is_class(member: Any) -> bool:
    return isinstance(member, type) and member is not object and member.__module__.startswith("aotensor")


def _words(member: Any) -> str:
    if member in _SCALARS:
        return _SCALARS[member][0]
    if typing.get_origin(member) in _GENERICS:
        words, _ = _GENERICS[typing.get_origin(member)]
        return f"{words} of ints" if _is_of_ints(member) else words
    return f"a {member.__name__}"


def _converter(member: Any) -> Check:
    if member in _SCALARS:
        return _SCALARS[member][1]
    origin = typing.get_origin(member)
    if origin in _GENERICS:
        return _ints if _is_of_ints(member) else _GENERICS[origin][1]

    def same(value: Any) -> Any:
        if not isinstance(value, member):
            raise _Refused
        return value

    return same


def _is_of_ints(member: Any) -> bool:
    return bool(typing.get_args(member)) and typing.get_args(member)[0] is int


def _dtype(value: Any) -> str | None:
    """Convert an option to the name of a dtype, or keep None, by which the function chooses the dtype."""
    return None if value is None else dtypes.canonical(value)


def _none(value: Any) -> None:
    if value is not None:
        raise _Refused


def _bool(value: Any) -> bool:
    """Convert True, False, NumPy's bools, 1 or 0 to a bool, as NumPy accepts them."""
    if isinstance(value, bool):
        return value
    if isinstance(value, np.bool_) or (isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype == bool):
        return bool(value)
    if isinstance(value, int | np.integer) and value in (0, 1):
        return bool(value)
    raise _Refused


def _int(value: Any) -> int:
    """Convert an integer of Python or NumPy, an array of rank 0, or a constant of the graph (a static extent) to an
    int.
    """
    if type(value) is int:
        return checked_int(value, "an option")
    if hasattr(value, "describe") and isinstance(getattr(value, "data", None), np.ndarray):
        value = value.data
    is_number = isinstance(value, np.integer | np.ndarray | int) and not isinstance(value, bool)
    if not is_number or (isinstance(value, np.ndarray) and (value.ndim or value.dtype.kind not in "iu")):
        raise _Refused
    return checked_int(operator.index(value), "an option")


def _float(value: Any) -> float:
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    is_scalar = isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iuf"
    if not (is_number or is_scalar):
        raise _Refused
    return value if isinstance(value, int | float) else float(value)


def _str(value: Any) -> str:
    if not isinstance(value, str):
        raise _Refused
    return value


def _items(value: Any) -> Any:
    """Return a sequence of the items of any iterable except a str or a mapping; symbols are returned unchanged."""
    if isinstance(value, list | tuple) or hasattr(value, "describe"):
        return value
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise _Refused
    if isinstance(value, np.ndarray) and value.ndim == 0:
        raise _Refused
    return list(value)


def _ints(value: Any) -> tuple[int, ...]:
    if hasattr(value, "describe") and not getattr(value, "ndim", 1):
        raise _Refused  # a symbolic scalar
    return tuple(_int(item) for item in _items(value))


def _mapping(value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise _Refused
    return value


def _callable(value: Any) -> Any:
    if not callable(value):
        raise _Refused
    return value


_SCALARS: Final[dict[Any, tuple[str, Check]]] = {
    bool: ("a bool", _bool),
    int: ("an int", _int),
    float: ("a number", _float),
    str: ("a str", _str),
    type(None): ("None", _none),
}
_GENERICS: Final[dict[Any, tuple[str, Check]]] = {
    Sequence: ("a sequence", _items),
    list: ("a list", _items),
    Iterable: ("an iterable", _items),
    Mapping: ("a mapping", _mapping),
    Callable: ("a function", _callable),
}
