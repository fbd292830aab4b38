"""The units of a Python file that a change is told by: functions, methods, classes, and statements of modules.

A unit is named by what it defines, not by its line: `fuse`, `Exp.lower`, `Exp` for the fields of the class, `EXP` for a
statement that assigns it, `TABLE['exp']` for a row of a table. Lambdas and nested functions belong to the unit around.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

IMPORTS: Final = "import"
"""The unit of all imports of a file."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Unit:
    """A part of a file: lines `first` to `last`, without the parts of it that are units themselves."""

    name: str
    first: int
    last: int
    nodes: Sequence[ast.AST]

    @cached_property
    def content(self) -> str:
        """What the unit says, without comments, docstrings and lines."""
        return "\n".join(ast.dump(_without_docstring(node)) for node in self.nodes)

    @cached_property
    def words(self) -> frozenset[str]:
        """The names that the unit uses."""
        return frozenset(word for node in self.nodes for word in _words(node))


class Units:
    """The units of a text.   Raises: SyntaxError"""

    def __init__(self, text: str) -> None:
        self.all: Final = [*_units(ast.parse(text).body, "")]

    @cached_property
    def contents(self) -> dict[str, str]:
        """What the units of a name say, for each name."""
        found = dict[str, str]()
        for unit in self.all:
            found[unit.name] = found.get(unit.name, "") + unit.content + "\n"
        return found

    def at(self, line: int) -> str:
        """The name of the innermost unit that has a line; empty if none has."""
        return self._names.get(line, "")

    @cached_property
    def _names(self) -> dict[int, str]:
        outer_first = sorted(self.all, key=lambda unit: unit.first - unit.last)
        return {line: unit.name for unit in outer_first for line in range(unit.first, unit.last + 1)}


def changed(old: str, new: str) -> set[str]:
    """The names of units that differ between two texts of a file.   Raises: SyntaxError"""
    before, after = Units(old).contents, Units(new).contents
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def _units(body: Sequence[ast.stmt], prefix: str) -> Iterator[Unit]:
    for node in body:
        if isinstance(node, _Function):
            yield Unit(prefix + node.name, _first(node), _last(node), [node])
        elif isinstance(node, ast.ClassDef):
            yield from _units_of_class(node, prefix)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield Unit(IMPORTS, _first(node), _last(node), [node])
        elif not _is_text(node):
            yield from _units_of_statement(node)


def _units_of_class(node: ast.ClassDef, prefix: str) -> Iterator[Unit]:
    inner = [one for one in node.body if isinstance(one, _Function | ast.ClassDef)]
    own = [one for one in node.body if one not in inner and not _is_text(one)]
    yield Unit(prefix + node.name, _first(node), _last(node), [*node.decorator_list, *node.bases, *node.keywords, *own])
    yield from _units(inner, f"{prefix}{node.name}.")


def _units_of_statement(node: ast.stmt) -> Iterator[Unit]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    names = [one.id for target in targets if target for one in ast.walk(target) if isinstance(one, ast.Name)]
    name = ",".join(names) or type(node).__name__
    rows = [*_rows(getattr(node, "value", None))] if names else []
    if not rows:
        yield Unit(name, _first(node), _last(node), [node])
        return
    yield Unit(name, _first(node), _last(node), [target for target in targets if target])
    for key, parts in rows:
        yield Unit(f"{name}[{key}]", parts[0].lineno, _last(parts[-1]), parts)


def _rows(value: ast.expr | None) -> Iterator[tuple[str, list[ast.expr]]]:
    """(key, expressions) of the entries of a table: of a dict, or of a list whose entries begin with a text."""
    if isinstance(value, ast.Dict):
        for key, entry in zip(value.keys, value.values, strict=True):
            yield ("**" if key is None else ast.unparse(key)), [*([key] if key else []), entry]
    elif isinstance(value, ast.List | ast.Tuple | ast.Set):
        for entry in value.elts:
            texts = (x.value for x in ast.walk(entry) if isinstance(x, ast.Constant) and isinstance(x.value, str))
            yield repr(next(texts, "")), [entry]


def _first(node: ast.AST) -> int:
    """The first line, decorators included."""
    lines = [one.lineno for one in getattr(node, "decorator_list", ())]
    return min([*lines, getattr(node, "lineno", 0)])


def _last(node: ast.AST) -> int:
    return getattr(node, "end_lineno", None) or getattr(node, "lineno", 0)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _without_docstring(node: ast.AST) -> ast.AST:
    if isinstance(node, _Function) and node.body and _is_text(node.body[0]):
        bare = type(node)(**{**dict(ast.iter_fields(node)), "body": node.body[1:]})
        return ast.copy_location(bare, node)
    return node


def _words(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Attribute):
            yield one.attr
        elif isinstance(one, ast.alias):
            yield one.name.rpartition(".")[2]
