"""Types of variables that represent a missing gradient: disconnected, or null."""

from __future__ import annotations

from typing import NoReturn


class DisconnectedType:
    """Type of a gradient term whose input does not influence the output at all."""

    def filter(self, data: object, strict: bool = False, allow_downcast: bool | None = None) -> NoReturn:
        """Refuse any value: a disconnected variable has none.   Raises: AssertionError"""
        raise AssertionError("a disconnected variable has no value: it may not be used in a computation")

    def filter_variable(self, other: object) -> NoReturn:
        """Refuse any assignment to a disconnected variable.   Raises: AssertionError"""
        raise AssertionError("a disconnected variable may not be assigned to")

    def value_eq(self, a: object, b: object) -> NoReturn:
        """Refuse to compare values: disconnected variables have none.   Raises: AssertionError"""
        raise AssertionError("disconnected variables have no values to compare")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __str__(self) -> str:
        return "DisconnectedType"

    __repr__ = __str__


class NullType:
    """Type of a gradient that is undefined or not implemented; `why_null` is the reason, reported when it is used.

    where: the variable whose op has no derivative, and its source line.
    """

    def __init__(self, why_null: str = "(no explanation given)", where: str = "") -> None:
        self.why_null, self.where = why_null, where

    def filter(self, data: object, strict: bool = False, allow_downcast: bool | None = None) -> NoReturn:
        """Refuse any value: a variable of a null gradient has none.   Raises: ValueError"""
        raise ValueError(f"a null variable has no value: {self.why_null}")

    def filter_variable(self, other: object) -> NoReturn:
        """Refuse any assignment to a variable of a null gradient.   Raises: ValueError"""
        raise ValueError(f"a null variable may not be assigned to: {self.why_null}")

    def values_eq(self, a: object, b: object) -> NoReturn:
        """Refuse to compare values: variables of null gradients have none.   Raises: ValueError"""
        raise ValueError("null variables have no values to compare")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __str__(self) -> str:
        return "NullType"

    __repr__ = __str__
