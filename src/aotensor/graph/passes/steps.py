"""The table of passes: level, options, topic, and for required passes the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from inspect import getdoc
from typing import Final, Literal, NamedTuple, TypeAlias, cast, get_args

from aotensor.core.frozen import frozen_dataclass
from aotensor.graph.passes.table import ROWS, Level, Row

Topic: TypeAlias = Literal["arithmetic", "products", "loops", "memory", "vectors", "cores", "code"]
TOPICS: Final[tuple[Topic, ...]] = get_args(Topic)
"""Topics of remarks, in the order in which they are shown."""
LEVELS: Final[tuple[Level, ...]] = ("graph", "tensor", "nest", "loops")


class Option(NamedTuple):
    """An option of a pass: its least and largest value, and its meaning.

    facts: the fields of `passes.target.Target` that it overrides. is_power: is it a power of two?
    """

    least: int
    most: int
    meaning: str = ""
    facts: tuple[str, ...] = ()
    is_power: bool = False


@frozen_dataclass
class Step:
    """A pass, as it is declared in its module.

    topic: of its remarks. needed: why it is required, "" for an optimisation. is_free: it may run several times, and
    before or after any other free pass of its level. former: its name in version 0.1. description, reference: its row
    in docs/ir.md, and a page about it.
    """

    name: str
    level: Level
    topic: Topic
    needed: str = ""
    options: Mapping[str, Option] = field(default_factory=dict)
    is_free: bool = False
    former: str = ""
    description: str = ""
    reference: str = ""

    def row(self) -> Row:
        """Its row in the table, without descriptions; `of_row` is the inverse."""
        options = {name: (x.least, x.most, x.is_power) for name, x in self.options.items()}
        return self.name, self.level, self.topic, self.needed, self.former, self.is_free, options

    @staticmethod
    def of_row(row: Row) -> Step:
        """Make a pass from its row."""
        name, level, topic, needed, former, is_free, options = row
        known = {key: Option(least, most, is_power=is_power) for key, (least, most, is_power) in options.items()}
        return Step(name, level, cast(Topic, topic), needed, known, is_free, former)


STEPS: Final = tuple(map(Step.of_row, ROWS))
"""All passes; those that are not free are in the order in which they run."""

BY_NAME: Final = {step.name: step for step in STEPS}
OPTIMISATIONS: Final = tuple(step.name for step in STEPS if not step.needed)
"""Passes that may be left out."""

OTHERS: Final = ("build", "check-bounds")
"""What gives remarks and is not in a pipeline."""

RENAMED: Final = {step.former: step.name for step in STEPS if step.former}
"""Names of passes in version 0.1 → those since 0.2, for the error that an old name gives."""


def unknown_pass(name: str) -> tuple[str, str | None]:
    """(error message for an unknown name of a pass, hint with the new name if the pass was renamed)."""
    new = RENAMED.get(name)
    return f"there is no pass {name[:60]!r}", f"since version 0.2 it is called {new}" if new else None


def description_of(function: Callable[..., object]) -> str:
    """The first paragraph of the docstring of a pass, in one line without its full stop."""
    return " ".join((getdoc(function) or "").partition("\n\n")[0].split()).removesuffix(".")
