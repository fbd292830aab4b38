"""The base class of importers: translate operations of a framework in order, each with its source line.

    operation → its rule → variables       or, if it is not supported, an entry of one error that lists all of them

A rule raises `Unsuited` for an unsupported form of its operation; the walk continues, to find all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from inspect import getdoc
from typing import Any, ClassVar, Final, TypeVar

from aotensor.errors import AotensorError, GraphTypeError, GraphValueError, UnsupportedError
from aotensor.extension import Site, variables_at
from aotensor.importers.errors import HINT, NoCounterpart, Untranslated

Rule = TypeVar("Rule", bound=Callable[..., Any])
R = TypeVar("R")
Key = TypeVar("Key")


class Unsuited(Exception):
    """Raised for an operation that cannot be translated; the text is the reason."""


class Lost:
    """The placeholder for a result of an operation that cannot be translated."""


LOST: Final = Lost()


class Importer:
    """The translation of one program.

    framework, hint: of the error that lists unsupported operations. missing: those found so far.
    """

    framework: ClassVar[str]
    hint: ClassVar[str] = HINT

    def __init__(self) -> None:
        self.missing: list[Untranslated] = []

    def site(self, operation: Any) -> Site | None:
        """The line of the user's program that made an operation, None if it is unknown."""
        raise NotImplementedError

    def entry(self, operation: Any, reason: str = "") -> Untranslated:
        """The entry of an unsupported operation in the error: its name in the framework, the reason, and its place."""
        raise NotImplementedError

    def located(self, operation: Any) -> AbstractContextManager[None]:
        """Context manager within which new variables have the location of an operation."""
        return variables_at(self.site(operation))

    def attempt(self, operation: Any, translate: Callable[[], R]) -> R | None:
        """The result of `translate`, called at the line of an operation; None for an unsupported one, which is
        recorded.

        Raises: what ops raise.
        """
        try:
            with self.located(operation):
                return translate()
        except Unsuited as error:
            self.missing.append(self.entry(operation, str(error)))
        except NoCounterpart as error:  # of a program inside of it
            self.missing += error.operations
        return None

    def refuse(self) -> None:
        """Raises: NoCounterpart with all operations that have none, if there are any"""
        if self.missing:
            raise NoCounterpart(self.framework, self.missing, self.hint)


def entering(table: dict[Any, Any], key: Callable[[str], Any], *names: str) -> Callable[[Rule], Rule]:
    """Decorator that enters a rule into a table for operations of these names, once each.   key: of a name"""

    def entered(rule: Rule) -> Rule:
        for name in names:
            assert key(name) not in table, name
            table[key(name)] = rule
        return rule

    return entered


def notes_of(table: Mapping[Key, Callable[..., Any]], name: Callable[[Key], str]) -> dict[str, str]:
    """Operation → remark for the documentation: the beginning of its rule's docstring.

    "" for an operation that is a function of aotensor. name: of a key of the table.
    """
    found = {}
    for key, rule in table.items():
        text = " ".join((getdoc(rule) or "").partition("\n\n")[0].partition("Raises:")[0].split())
        found[name(key)] = text.removesuffix(".")
    return dict(sorted(found.items()))


def several(results: Any) -> Sequence[Any]:
    """Results of a rule, which may be a single one, as a sequence."""
    return results if isinstance(results, list | tuple) else [results]


def retitled(error: AotensorError, title: Callable[[str], str]) -> AotensorError:
    """The error with another title, and with the class among those of users' mistakes."""
    found: Final = error.diagnostic
    kinds = (kind for kind in (GraphTypeError, GraphValueError, UnsupportedError) if isinstance(error, kind))
    return next(kinds, GraphValueError)(title(found.title), lines=found.lines, hint=found.hint)
