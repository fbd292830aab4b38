"""Strict reading of JSON: values that know their path and check their type when they are read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar

from aotensor_runtime.errors import LibraryError

_T = TypeVar("_T")
_MAX_EXTENT: Final = (1 << 63) - 1
MAX_NAME: Final = 1000
"""Most characters of a name, or of the formula of an extent."""


_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
"""Half of a surrogate pair: as a JSON escape, and as a character."""


def parsed(text: str | bytes) -> object:
    """Parse a JSON text whose strings are all valid Unicode.

    Raises: ValueError for text that is not JSON or UTF-8, or has half of a surrogate pair in a string; RecursionError.
    """
    plain = text.decode() if isinstance(text, bytes) else text
    tree: object = json.loads(plain)
    if _SURROGATE.search(plain):
        json.dumps(tree, ensure_ascii=False).encode()
    return tree


class ManifestError(LibraryError):
    """A manifest that violates the schema."""


def require(condition: bool, where: str, message: str) -> None:
    """Raises: ManifestError if the condition does not hold."""
    if not condition:
        raise ManifestError(f"{where}: {message}")


class Node:
    """A JSON value with its path; every accessor checks the type."""

    def __init__(self, value: object, path: str) -> None:
        self.value, self.path = value, path

    def _as(self, kind: type[_T], name: str) -> _T:
        if type(self.value) is not kind:
            raise ManifestError(f"{self.path}: expected {name}")
        return self.value

    def text(self) -> str:
        return self._as(str, "a text")

    def name(self) -> str:
        text = self.text()
        require(0 < len(text) <= MAX_NAME and text.isprintable(), self.path, "expected a name")
        return text

    def boolean(self) -> bool:
        return self._as(bool, "true or false")

    def count(self) -> int:
        number = self._as(int, "a number")
        require(0 <= number <= _MAX_EXTENT, self.path, f"{number} is out of range")
        return number

    def extent(self) -> int | str:
        return self.name() if isinstance(self.value, str) else self.count()

    def extent_or_none(self) -> int | str | None:
        return None if self.value is None else self.extent()

    def items(self, read: Callable[[Node], _T]) -> tuple[_T, ...]:
        values = self._as(list, "a list")
        return tuple(read(Node(value, f"{self.path}[{i}]")) for i, value in enumerate(values))

    def optional(self, read: Callable[[Node], _T]) -> _T | None:
        return None if self.value is None else read(self)

    def fields(self, *names: str, optional: Mapping[str, object] | None = None) -> Iterator[Node]:
        """The members of an object with exactly these names.   optional: defaults of those that may be missing"""
        members = {**(optional or {}), **self._as(dict, "an object")}
        wrong = sorted(set(members) ^ set(names))
        require(not wrong, self.path, f"missing or unknown: {', '.join(map(str, wrong))}")
        return (Node(members[name], f"{self.path}.{name}") for name in names)
