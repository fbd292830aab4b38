"""Frozen dataclasses whose methods are compiled for their first object."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import Field, FrozenInstanceError, dataclass, field
from threading import RLock
from typing import Any, Final, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")

_FIELDS: Final = "__dataclass_fields__"
_PARAMS: Final = "__dataclass_params__"
_FACTS: Final = ("__match_args__", _PARAMS, _FIELDS)
_LOCK: Final = RLock()


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen_dataclass(cls: type[T]) -> type[T]:
    """Decorate a class as `dataclasses.dataclass(frozen=True)` does, but compile its methods when they are needed.

    That is for the first object, or when its fields are asked for. Compiling them takes 0.4 ms, which for 250 classes
    is a fifth of the time to import aotensor, and a program needs few of them.
    """
    own = vars(cls)
    methods = [name for name in ("__init__", "__repr__", "__eq__", "__hash__") if own.get(name) is None]
    for name in methods:
        setattr(cls, name, _stub(cls, name, methods))
    for name in _FACTS:
        setattr(cls, name, _Fact(cls, name, methods))
    for name, method in {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}.items():
        setattr(cls, name, method)
    return cls


class _Fact:
    """What `dataclasses` keeps about a class; reading it completes the class."""

    def __init__(self, cls: type, name: str, methods: Collection[str]) -> None:
        self.cls, self.name, self.methods = cls, name, methods

    def __get__(self, instance: object, owner: type) -> Any:
        _complete(self.cls, self.methods)
        return vars(self.cls)[self.name]


def _stub(cls: type, name: str, methods: Collection[str]) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        _complete(cls, methods)
        return getattr(cls, name)(self, *args, **kwargs)

    return call


def _complete(cls: type, methods: Collection[str]) -> None:
    """Give the class the methods that `dataclass` gives to a model with its fields.

    Each is complete when it takes the place of its stub: other threads may call it meanwhile.
    """
    with _LOCK:
        if not isinstance(vars(cls)[_FIELDS], _Fact):
            return
        model: type = dataclass(frozen=True)(_model(cls))
        for name, value in [*vars(cls).items()]:
            if isinstance(value, Field):
                delattr(cls, name)
                if name in vars(model):
                    setattr(cls, name, vars(model)[name])  # the default
        for name in (*methods, *_FACTS):
            setattr(cls, name, vars(model)[name])


def _model(cls: type) -> type:
    """A class with the fields of `cls` and those that it inherits.

    It has none of the bases, whose `__init_subclass__` would take it for one more op.
    """
    facts: dict[str, Any] = {}
    for base in cls.__mro__[:0:-1]:
        if hasattr(base, _FIELDS):
            facts = {_FIELDS: facts.get(_FIELDS, {}) | getattr(base, _FIELDS), _PARAMS: getattr(base, _PARAMS)}
    annotations = vars(cls).get("__annotations__", {})
    own = {name: value for name, value in vars(cls).items() if name in {"__annotations__", *annotations}}
    given = ("__module__", "__qualname__", "__doc__", "__post_init__")
    own |= {name: getattr(cls, name) for name in given if hasattr(cls, name)}
    return type(cls.__name__, (type("Fields", (), facts),), own)


def _refuse_to_set(self: object, name: str, value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")
