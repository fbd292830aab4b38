"""Errors that list all operations that an importer cannot translate, each with its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from aotensor.errors import OptionError, UnsupportedError

_SHOWN: Final = 20
"""Lines of an error that lists operations."""
HINT: Final = "express them by other operations, or write an Op of your own for them"


@dataclass(frozen=True)
class Untranslated:
    """An operation without counterpart.

    name: as its framework calls it; reason: a more precise one, if there is one; place: `model.py:12`, where it was
    made.
    """

    name: str
    reason: str = ""
    place: str = ""

    def __str__(self) -> str:
        reason, place = self.reason and f": {self.reason}", self.place and f"   made at {self.place}"
        return f"{self.name}{reason}{place}"


class NoCounterpart(UnsupportedError):
    """The error that operations of a framework have no counterpart here.   operations: all of them, each once."""

    def __init__(self, framework: str, found: Iterable[Untranslated], hint: str = HINT) -> None:
        counts = Counter(found)
        self.framework = framework
        self.operations = tuple(counts)
        lines = [f"{item}{f'   ({count} times)' if count > 1 else ''}" for item, count in counts.items()]
        rest = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
        number = "1 operation has" if len(counts) == 1 else f"{len(counts)} operations have"
        super().__init__(
            f"{framework}: {number} no counterpart in aotensor",
            lines=[*lines[:_SHOWN], *rest],
            hint=hint,
        )

    def __reduce__(self) -> tuple[type[NoCounterpart], tuple[str, tuple[Untranslated, ...]]]:
        return type(self), (self.framework, self.operations)


class NoMatch(OptionError):
    """The error that a name or pattern matches no parameter of a model."""
