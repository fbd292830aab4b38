"""Docstrings as the reference shows them: ours are plain text, with formulas, shapes, `Raises:` and `Source:`.

An extension of griffe, which reads the sources for mkdocstrings. What it cannot read there, since it is made by a table
or is a value that can be called, becomes a function with the signature and the docstring that the value has.
"""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from typing import Any, Final

import griffe

from aotensor.graph.op import Op
from aotensor.ops.elementwise.base import Elementwise

_LABEL: Final = re.compile(r"(Raises|Sources?|Cost|Gives|Returns): +")
_ARGUMENT: Final = re.compile(r"(\*{0,2}[a-z_][\w]*(?:, \*{0,2}[a-z_]\w*)*): +(?=\S)", re.IGNORECASE)
_MADE: Final = ("aotensor.ops", "aotensor.sparse", "aotensor.gradient")
"""Where some names come from tables."""

_CODE: Final = re.compile(r"(`+[^`]*`+)")


def markdown(text: str, arguments: frozenset[str] = frozenset()) -> str:
    """A docstring as Markdown: what follows three spaces, each label and each argument begins a paragraph.

    A program begins with an import and goes as far as paragraphs are Python; lines of a drawing stay as they are.
    """
    found: list[str] = []
    is_program = False
    for part in re.split(r"\n{2,}", inspect.cleandoc(text)):
        if is_program and _is_python(part):
            found[-1] = found[-1].removesuffix("\n```") + f"\n\n{part}\n```"
            continue
        is_program = re.match(r"import \w|from [\w.]+ import ", part) is not None
        found.append(f"```python\n{part}\n```" if is_program else _paragraph(part, arguments))
    return "\n\n".join(found)


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _paragraph(text: str, arguments: frozenset[str]) -> str:
    if any(mark in text for mark in "├└│┌"):
        return f"```text\n{text}\n```"
    if text.startswith("    "):
        return text
    lines: list[str] = []
    for line in re.sub(r"(?<=\S) {3,}(?=\S)", "\n\n", text).splitlines():
        label, argument = _LABEL.match(line), _ARGUMENT.match(line)
        if label:
            lines += ["", f"**{label[1]}** — {_escaped(line[label.end() :])}"]
        elif argument and arguments.issuperset(re.findall(r"\w+", argument[1])):
            lines += ["", f"`{argument[1]}` — {_escaped(line[argument.end() :])}"]
        else:
            lines.append(_escaped(line))
    return "\n".join(lines)


def _escaped(line: str) -> str:
    """Escape Markdown in a line, except code."""
    parts = _CODE.split(line)
    return "".join(part if k % 2 else re.sub(r"([*\[\]<_])", r"\\\1", part) for k, part in enumerate(parts))


class Docstrings(griffe.Extension):
    """A griffe extension, applied to every package that mkdocstrings reads."""

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        """Change the docstrings of a package in place."""
        self._visit(pkg)

    def _visit(self, module: griffe.Module | griffe.Class) -> None:
        if isinstance(module, griffe.Module) and module.path.startswith(_MADE):
            for name, value in vars(import_module(module.path)).items():
                if not name.startswith("_") and isinstance(module.members.get(name), griffe.Attribute | None):
                    made = _called(name, value)
                    if made is not None:
                        module.set_member(name, made)
        for member in list(module.members.values()):
            if member.is_alias:
                continue
            if member.docstring is not None:
                names = [x.name for x in member.parameters] if isinstance(member, griffe.Function) else []
                if isinstance(member, griffe.Class):
                    names = list(member.members)
                member.docstring.value = markdown(member.docstring.value, frozenset(name.strip("*") for name in names))
            if isinstance(member, griffe.Module | griffe.Class):
                self._visit(member)


def _called(name: str, value: object) -> griffe.Function | None:
    """A value of a module that is called as a function: an op, or one that a loop has made."""
    text = value.__doc__ if isinstance(value, Op) or inspect.isfunction(value) else None
    if not text:
        return None
    made = griffe.Function(name, parameters=griffe.Parameters(*_parameters(value)), returns="Variable")
    made.docstring = griffe.Docstring(text, parent=made)
    return made


def _parameters(value: Any) -> list[griffe.Parameter]:
    if isinstance(value, Elementwise) and isinstance(value.row.partials, tuple) and len(value.row.partials) <= 4:
        names = "x" if len(value.row.partials) == 1 else "xyzw"[: len(value.row.partials)]
        return [griffe.Parameter(name, kind=griffe.ParameterKind.positional_only) for name in names]
    kinds = {kind.name.lower(): kind for kind in griffe.ParameterKind}
    return [
        griffe.Parameter(
            x.name,
            kind=kinds[x.kind.name.lower()],
            default=None if x.default is x.empty else repr(x.default),
        )
        for x in inspect.signature(value).parameters.values()
        if x.name != "self"
    ]
