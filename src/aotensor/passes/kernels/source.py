"""The source of a kernel: its syntax tree, the types in its signature, and errors at its lines."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from aotensor.errors import InternalError

Kernel: TypeAlias = "Callable[..., Any]"

SCALARS: Final = ("Index", "Word", "Bool", "Real", "Element")
"""The annotations of numbers."""
VECTORS: Final = ("Indices", "Words", "Reals", "Elements")
"""The annotations of vectors."""


@dataclass(frozen=True, eq=False)
class Source:
    """A kernel as read from its file.

    arguments: (name, annotation). results: annotations of the results. records: annotation of a record → its fields,
    as (name, annotation).
    """

    kernel: Kernel
    tree: ast.FunctionDef
    file: str
    arguments: tuple[tuple[str, str], ...]
    results: tuple[str, ...]
    records: Mapping[str, tuple[tuple[str, str], ...]]

    @property
    def name(self) -> str:
        return self.tree.name

    def error(self, node: ast.AST, what: str, hint: str | None = None) -> InternalError:
        """An error at the line of a node of the tree."""
        line = getattr(node, "lineno", self.tree.lineno)
        return InternalError(f"{self.file}:{line}: kernel {self.name}: {what}", lines=[_first_line(node)], hint=hint)

    def unknown(self, node: ast.AST) -> InternalError:
        """The error of code outside of the language."""
        return self.error(node, "not a part of the kernel language", hint="docs/kernels.md lists its parts")


@cache
def source_of(kernel: Kernel) -> Source:
    """Read a kernel. Raises: InternalError, at a line of it, for an unknown type or an assigned loop variable."""
    lines, first = inspect.getsourcelines(kernel)
    (tree,) = ast.parse(textwrap.dedent("".join(lines))).body
    assert isinstance(tree, ast.FunctionDef)
    ast.increment_lineno(tree, first - 1)
    annotations = dict(kernel.__annotations__)
    returned = str(annotations.pop("return", None)).removeprefix("tuple[").removesuffix("]")
    results = () if returned == "None" else tuple(x.strip() for x in returned.split(","))
    arguments = tuple((name, str(kind).removesuffix(" | None")) for name, kind in annotations.items())
    records = {kind: _fields(kernel.__globals__.get(kind)) for _, kind in arguments}
    file = Path(inspect.getsourcefile(kernel) or "").name
    source = Source(kernel, tree, file, arguments, results, {kind: x for kind, x in records.items() if x})
    for name, kind in [x for argument in arguments for x in source.records.get(argument[1], (argument,))]:
        if kind not in SCALARS + VECTORS:
            raise source.error(tree, f"{name} has the type {kind}", hint=f"types are {', '.join(SCALARS + VECTORS)}")
    for kind in results:
        if kind not in SCALARS:
            raise source.error(tree, f"the result has the type {kind}", hint=f"results are {', '.join(SCALARS)}")
    _check_loops(source)
    return source


def _fields(kind: Any) -> tuple[tuple[str, str], ...]:
    """The fields of a record, which is a NamedTuple, with their annotations."""
    if not hasattr(kind, "_fields"):
        return ()
    return tuple((x, str(getattr(y, "__forward_arg__", y))) for x, y in kind.__annotations__.items())


def _check_loops(source: Source) -> None:
    """Check that nothing assigns the variable of a loop inside of the loop."""
    for loop in ast.walk(source.tree):
        if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name):
            for name in stored_names(loop.body):
                if name.id == loop.target.id:
                    raise source.error(
                        name, f"{name.id} is the variable of a loop, which the loop alone assigns",
                        hint="assign another variable, or use `while`",
                    )  # fmt: skip


def stored_names(body: Sequence[ast.stmt]) -> list[ast.Name]:
    """The names that statements assign, in order."""
    found = (x for part in body for x in ast.walk(part) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store))
    return list({x.id: x for x in found}.values())


def _first_line(node: ast.AST) -> str:
    text = ast.unparse(node) if isinstance(node, ast.stmt | ast.expr) else ""
    return text.splitlines()[0] if text else ""
