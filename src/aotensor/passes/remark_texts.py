"""Render notes of passes as remarks: values as source text, sizes as formulas of dims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from os.path import basename
from typing import Any, Final

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr

from aotensor.core.polynomial import Polynomial
from aotensor.graph.expression import called, expression_of, expression_of_node
from aotensor.graph.op import Apply
from aotensor.graph.passes.remarks import Note, Remark, Size
from aotensor.graph.site import Site
from aotensor.graph.variable import Variable
from aotensor.ir.location import Locations

LONGEST: Final = 60  # characters of an expression


def render_remarks(
    notes: Iterable[Note], locations: Locations, names: Mapping[str, Mapping[Variable, str]]
) -> list[Remark]:
    """The remarks that render the passes' notes, in the order of functions and passes.

    Decisions of one kind about one line are merged into one remark, with the text of the first one. names: function →
    its arguments.
    """
    writer, groups = _Writer(locations), dict[tuple[Any, ...], list[Note]]()
    for note in notes:
        where = next((w for x in note.subjects if (w := writer.where(x)) is not None), ("", 0))
        groups.setdefault((note.function, where, note.pass_name, note.kind, note.message), []).append(note)
    return [writer.remark(group, where, names.get(function, {})) for (function, where, *_), group in groups.items()]


class Expressions:
    """Renders the source text of operations."""

    def __init__(self, locations: Locations) -> None:
        self._locations, self._writer = locations, _Writer(locations)

    def at(self, location: Any, names: Mapping[Variable, str]) -> str:
        """The source text of an operation with this location, "" if unknown. names: names of arguments."""
        if self._locations.node(location) is None:
            return ""
        with called(names):
            return self._writer.text(location, names).strip("`")


@dataclass
class _Writer:
    locations: Locations
    _texts: dict[tuple[int, int], str] = field(default_factory=dict)

    def remark(self, group: list[Note], where: tuple[str, int], names: Mapping[Variable, str]) -> Remark:
        """Build one remark for notes that differ only in their subjects."""
        first, (file, line) = group[0], where
        with called(names):
            values = [self.text(x, names) for x in first.subjects]
            shown = [f"{text}{self._suffix(x, (file, line))}" for text, x in zip(values, first.subjects, strict=True)]
        value = next((text for text, x in zip(values, first.subjects, strict=True) if not _is_plain(x)), "")
        message = first.message.format(*shown)
        sizes = (_total(note.bytes for note in group), _total(note.flops for note in group))
        return Remark(
            first.pass_name,
            first.kind,
            first.function,
            message,
            value.strip("`"),
            file,
            line,
            *sizes,
            len(group),
            first.hint,
        )

    def text(self, x: Any, names: Mapping[Variable, str]) -> str:
        """Render a subject as source text, with the argument names of a function."""
        if _is_plain(x):
            return f"`{x}`" if isinstance(x, str) and x.isidentifier() else str(x)
        key = (id(names), id(x))
        if key not in self._texts:
            self._texts[key] = self._expression(x)
        return self._texts[key]

    def _expression(self, x: Any) -> str:
        if isinstance(x, Variable):
            return _quoted(expression_of(_user_variable(x), LONGEST, is_code=True))
        node = x if isinstance(x, Apply) else self.locations.node(x)
        if node is None:
            return "what is made"
        site = node.outputs[0].site
        written: Apply = node if site is None or site.node is None else site.node
        if len(written.outputs) == 1:
            return _quoted(expression_of(written.outputs[0], LONGEST, is_code=True))
        return _quoted(expression_of_node(written, LONGEST, is_code=True))

    def where(self, x: Any) -> tuple[str, int] | None:
        """The file and the line of a subject, or None."""
        if isinstance(x, FileLineColLoc):
            return x.filename.data, x.line.data
        site: Site | None = None
        if isinstance(x, Variable):
            site = x.site
        elif isinstance(x, Apply):
            site = x.outputs[0].site
        return None if site is None else (basename(site.file), site.line)

    def _suffix(self, x: Any, here: tuple[str, int]) -> str:
        """The location of a subject in parentheses, if it differs from the remark's location; else ""."""
        found = self.where(x)
        return "" if found in (None, here) else f" ({found[0]}:{found[1]})"


def _quoted(expression: str) -> str:
    """Quote an expression as code; "a value" if it has neither a name nor room for its operands."""
    return "a value" if expression == "..." else f"`{expression}`"


def _user_variable(x: Variable) -> Variable:
    """The variable that the user wrote, if a rewrite has replaced it by x; else x."""
    node = None if x.owner is None or x.site is None else x.site.node
    if node is None or x.name or len(node.outputs) != len(x.owner.outputs):  # type: ignore[union-attr]
        return x
    return node.outputs[x.index]  # type: ignore[no-any-return]


def _is_plain(x: Any) -> bool:
    """Is a subject text or a number, shown unchanged?"""
    return not isinstance(x, Variable | Apply | LocationAttr)


def _total(sizes: Iterable[Size]) -> str:
    """The sum of sizes as a formula of dims, "" if one is unknown."""
    factors = Counter[tuple[str, ...]]()
    for size in sizes:
        if not size:
            return ""
        for number, dims in size:
            factors[dims] += number
    total = Polynomial()
    for dims, number in factors.items():
        total += reduce(Polynomial.__mul__, map(_factor, dims), Polynomial.from_value(number))
    return str(total)


def _factor(name: str) -> Polynomial:
    return Polynomial.from_value(int(name) if name.isdecimal() else name)
