"""Python protocols that symbols do not support: each error says what to write instead."""

from __future__ import annotations

from typing import Any, NoReturn

from aotensor.errors import GraphTypeError

_EVALUATE = "x.eval({...}) gives the value, as calling a Function does"


class Refusals:
    """Base class of symbols that refuses conversion to a number, item assignment and `in` with a GraphTypeError."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise GraphTypeError(
            "the truth value of a symbolic variable is not known",
            hint="use switch(condition, a, b) to choose, eq(a, b) to compare",
        )

    def __float__(self) -> NoReturn:
        self._refuse("a float", f"{_EVALUATE}; functions of aotensor.tensor replace those of math")

    def __int__(self) -> NoReturn:
        self._refuse("an int", f"{_EVALUATE}; x.astype('int64') is the symbol")

    def __complex__(self) -> NoReturn:
        self._refuse("a complex", _EVALUATE)

    def __index__(self) -> NoReturn:  # noqa: PLE0305
        self._refuse("an int", f"{_EVALUATE}; arange(n) and scan replace range(n)")

    def __format__(self, spec: str) -> str:
        if spec:
            self._refuse("a number to format", _EVALUATE)
        return str(self)

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise GraphTypeError(
            f"{self} is symbolic: its elements cannot be assigned",
            hint="x = set_subtensor(x[index], value) is a changed copy, inc_subtensor adds to it",
        )

    def __delitem__(self, index: Any) -> NoReturn:
        raise GraphTypeError(f"{self} is symbolic: its elements cannot be deleted", hint="join the slices to keep")

    def __contains__(self, value: Any) -> NoReturn:
        raise GraphTypeError(
            f"`in` cannot be answered for the symbolic variable {self}: its values are not known",
            hint="eq(x, value).any() is the symbolic answer",
        )

    def _refuse(self, what: str, hint: str) -> NoReturn:
        raise GraphTypeError(f"the symbolic variable {self} is not {what}", hint=hint)
