"""Shell completion of targets, functions of a model or a library, and passes.

Nothing of a model is executed: its functions are those that its text defines at the top level.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import click
from click.shell_completion import CompletionItem

from aotensor_cli.commands.names import OPTIMISATIONS, PASSES, TARGETS

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

_ALONE: Final = "_AOTENSOR_NAME_ALONE"
"""Set where the shell completes the name of `file.py:name` as a word of its own."""


def join_names() -> None:
    """Join the words of `model.py:f`, which Bash splits at the colon."""
    words, cursor = os.environ.get("COMP_WORDS", "").split(" "), os.environ.get("COMP_CWORD", "")
    if os.environ.get("_AOTENSOR_COMPLETE") != "bash_complete" or not cursor.isdecimal():
        return
    at, joined, found = int(cursor), list[str](), int(cursor)
    for k, word in enumerate(words):
        is_part = joined and (word == ":" or joined[-1].endswith(":")) and k <= at
        if is_part:
            joined[-1] += word
            found -= 1
            os.environ[_ALONE] = "1" if k == at else os.environ.get(_ALONE, "")
        else:
            joined.append(word)
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = " ".join(joined), str(found)


def completes(names: Callable[[click.Context], Iterable[str]]) -> Completer:
    """A completer of names; errors give no names."""

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        with suppress(Exception):
            return _items(names(context), incomplete)
        return []

    return complete


def complete_subject(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete files, and after a colon the functions of the file."""
    path, colon, start = incomplete.rpartition(":")
    if not colon:
        return [CompletionItem(incomplete, type="file")]
    prefix = "" if os.environ.get(_ALONE) else f"{path}:"
    return [CompletionItem(prefix + name) for name in functions_in(Path(path)) if name.startswith(start)]


def _items(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def functions_of_subject(context: click.Context) -> list[str]:
    """The functions of the model or library on the command line."""
    given = next((context.params[key] for key in ("subject", "model", "models") if context.params.get(key)), None)
    words = (
        context.args if given is None else [given] if isinstance(given, str) else given
    )  # before an option: unparsed
    return [name for word in words for name in functions_in(Path(word))]


def functions_in(path: Path) -> list[str]:
    """Names of the functions in a file, without executing it; none if it cannot be read."""
    with suppress(Exception):  # whatever is wrong with the file, the command itself will say it
        if path.suffix == ".py":
            return _defined(ast.parse(path.read_bytes()))
        from aotensor_runtime.container import Container

        if path.is_file():
            return [spec.name for spec in Container(path.read_bytes()).manifest().functions]
    return []


def _defined(module: ast.Module) -> list[str]:
    """Names of the functions that a module defines: `f = aot.function(...)` gives f, or the value of `name=`."""
    found = []
    for statement in module.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        call = statement.value if isinstance(statement, ast.Assign | ast.Expr) else None
        if not isinstance(call, ast.Call) or not _is_function(call.func):
            continue
        named = [x.value.value for x in call.keywords if x.arg == "name" and isinstance(x.value, ast.Constant)]
        found += [str(x) for x in named] or [x.id for x in targets if isinstance(x, ast.Name)]
    return list(dict.fromkeys(found))


def _is_function(called: ast.expr) -> bool:
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name == "function" or name.startswith("from_")


def targets(_: click.Context) -> Sequence[str]:
    """Target triples."""
    return TARGETS


def cpus(context: click.Context) -> list[str]:
    """Names that `--cpu` takes for the target of the command line."""
    from aotensor.codegen.machine import known_names
    from aotensor.codegen.targets.levels import LEVELS

    target = context.params.get("target")
    levels = [name.removeprefix("x86-64-") for name in LEVELS] if not target or target.startswith("x86_64") else []
    return [*(["host"] if not target else []), "generic", *levels, *known_names(target).cpus]


def features(context: click.Context) -> list[str]:
    """`+name` and `-name` of the CPU features of the target."""
    from aotensor.codegen.machine import known_names

    return [sign + name for sign in "+-" for name in known_names(context.params.get("target")).features]


def passes(_: click.Context) -> Sequence[str]:
    """Names of passes."""
    return PASSES


def optimisations(_: click.Context) -> Sequence[str]:
    """Names of passes that can be left out."""
    return OPTIMISATIONS
