"""The source of a kernel: its syntax tree, the types in its signature, and errors at its lines."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeAlias

from aotensor.errors import KernelError
from aotensor.kernels import language

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
        """The name in messages: `merge`, or `Merged.kernel` of an op."""
        return self.kernel.__qualname__.rpartition("<locals>.")[2]

    def outer(self, name: str) -> Any:
        """What a name means outside of the kernel, in a function around it or in its module; None if nothing."""
        variables, cells = self.kernel.__code__.co_freevars, self.kernel.__closure__ or ()
        around = {x: cell.cell_contents for x, cell in zip(variables, cells, strict=True) if x == name}
        return around.get(name, self.kernel.__globals__.get(name))

    def place(self, node: ast.AST) -> tuple[str, int]:
        """The file, without its folder, and the line of a node of the tree."""
        return self.file, getattr(node, "lineno", self.tree.lineno)

    def error(self, node: ast.AST, what: str, hint: str | None = None) -> KernelError:
        """An error at the line of a node of the tree."""
        file, line = self.place(node)
        return KernelError(f"{file}:{line}: kernel {self.name}: {what}", lines=[_first_line(node)], hint=hint)

    def unknown(self, node: ast.AST) -> KernelError:
        """The error of code outside of the language."""
        return self.error(node, "not a part of the kernel language", hint="docs/kernels.md lists its parts")

    def digest(self) -> str:
        """A name for the meaning of the kernel: a hash of its text, of kernels that it calls, and of its constants."""
        found, pending = dict[Kernel, str](), [self]
        for source in pending:  # grows
            text = [ast.unparse(source.tree)]
            for name in sorted({x.id for x in ast.walk(source.tree) if isinstance(x, ast.Name)}):
                meaning = source.outer(name)
                if isinstance(meaning, bool | int | float):
                    text.append(f"{name} = {meaning!r}")
                elif inspect.isfunction(meaning) and meaning.__module__ != language.__name__ and meaning not in found:
                    pending.append(source_of(meaning))
            found[source.kernel] = "\n".join(text)
        return sha256("\n".join(found.values()).encode()).hexdigest()[:12]


@cache
def source_of(kernel: Kernel) -> Source:
    """Read a kernel.

    Raises: KernelError, at a line of it, for an unknown type or an assigned loop variable, or without a source.
    """
    name = getattr(kernel, "__name__", str(kernel))
    if not inspect.isfunction(kernel):
        raise KernelError(f"kernel {name}: expected a function, found {type(kernel).__name__}")
    try:
        lines, first = inspect.getsourcelines(kernel)
    except (OSError, TypeError) as error:
        raise KernelError(
            f"kernel {name}: its source cannot be read", hint="define it in a file, or in a cell of a notebook"
        ) from error
    tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    if not isinstance(tree, ast.FunctionDef):
        raise KernelError(f"kernel {name}: expected a function with a name, found a lambda")
    ast.increment_lineno(tree, first - 1)
    file = Path(inspect.getsourcefile(kernel) or "").name
    arguments = tuple((x.arg, _annotation(x.annotation)) for x in tree.args.args)
    returned = tree.returns.slice if isinstance(tree.returns, ast.Subscript) else tree.returns
    parts = returned.elts if isinstance(returned, ast.Tuple) else [returned]
    results = tuple(_annotation(x) for x in parts if not isinstance(x, ast.Constant))
    records = {kind: _fields(kernel.__globals__.get(kind)) for _, kind in arguments}
    source = Source(kernel, tree, file, arguments, results, {kind: x for kind, x in records.items() if x})
    rest = tree.args
    if rest.posonlyargs or rest.kwonlyargs or rest.defaults or rest.vararg or rest.kwarg:
        raise source.error(tree, "arguments of a kernel are positional and have no defaults")
    for name, kind in [x for argument in arguments for x in source.records.get(argument[1], (argument,))]:
        if kind not in SCALARS + VECTORS:
            raise source.error(tree, f"{name} has the type {kind}", hint=f"types are {', '.join(SCALARS + VECTORS)}")
    for kind in results:
        if kind not in SCALARS:
            raise source.error(tree, f"the result has the type {kind}", hint=f"results are {', '.join(SCALARS)}")
    _check_loops(source)
    return source


def _annotation(node: ast.expr | None) -> str:
    """The name of a type in a signature: `Reals` for `Reals | None` and `language.Reals`."""
    match node:
        case ast.Constant(value=str(text)):
            return text.removesuffix(" | None")
        case ast.BinOp(left=left, right=ast.Constant(value=None)):
            return _annotation(left)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case None:
            return "of nothing"
        case _:
            return ast.unparse(node)


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
