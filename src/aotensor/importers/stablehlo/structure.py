"""The parsed form of a StableHLO text: functions of operations on values, some with regions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aotensor.importers.stablehlo.attributes import Aval


@dataclass(eq=False)
class Value:
    """A result of an operation, or an argument."""

    aval: Aval


@dataclass(eq=False)
class Region:
    """A region: operations with arguments, which may capture outer values.   results: returned values"""

    arguments: list[Value]
    operations: list[Operation] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)


@dataclass(eq=False)
class Operation:
    """An operation. name: with its dialect, `stablehlo.add`. words: keywords of its pretty form, such as `GE`,
    `SIGNED`.
    """

    name: str
    line: int
    operands: list[Value] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    words: list[Any] = field(default_factory=list)
    regions: list[Region] = field(default_factory=list)


@dataclass(eq=False)
class Function:
    """A function. labels: names of arguments in the text's locations; notes: attributes of arguments and of results"""

    name: str
    body: Region
    labels: list[str]
    notes: list[dict[str, Any]]
    result_notes: list[dict[str, Any]]
    line: int


@dataclass(eq=False)
class Module:
    """The functions of a text, by name."""

    name: str
    functions: dict[str, Function]
