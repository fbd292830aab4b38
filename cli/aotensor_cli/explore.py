"""`aotensor explore`: source, stages, passes, loops and remarks of a model in the terminal."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from functools import partial

import click

from aotensor_cli.benching.inputs import parse_sizes
from aotensor_cli.exploring.child import compiled, end_all
from aotensor_cli.options import Exit, Refusal, Session
from aotensor_cli.reading.library import is_library, split_name


def run(
    subject: str, name: str | None, stage: str, sizes: str | None, watch: bool, passes: str | None,
    disabled: Sequence[str], seconds: float,
) -> int:  # fmt: skip
    """Run `aotensor explore` with the parameters that `commands/explore.py` declares; returns the exit code."""
    path, _ = split_name(subject)
    if is_library(path):
        raise Refusal(f"{path}: a library holds neither loops nor passes", "explore the model instead")
    if not path.is_file():
        raise Refusal(f"{path}: there is no such file")
    parse_sizes(sizes)
    try:
        importlib.import_module("textual.app")
    except ImportError as error:
        raise Refusal(
            f"explore needs textual, which cannot be imported ({error})", "pip install 'aotensor[explore]'", Exit.TOOL
        ) from error
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Refusal("explore can run only in a terminal", "aotensor inspect MODEL --json --all writes what it shows")
    from aotensor_cli.exploring.app import Explorer

    arguments = child_arguments(subject, name, sizes, passes, disabled)
    try:
        Explorer(partial(compiled, arguments, seconds), path, watch, stage).run()
    finally:
        end_all()
    return Exit.DONE


def child_arguments(
    subject: str, name: str | None, sizes: str | None, passes: str | None, disabled: Sequence[str]
) -> list[str]:
    """The arguments of `inspect` for the same model."""
    session = click.get_current_context().find_object(Session) or Session()
    options = [("--function", name), ("--sizes", sizes), ("--passes", passes)]
    options += [("--disable-pass", x) for x in disabled]
    options += [("--dim", f"{key}={n}") for key, n in session.dims.items()]
    options += [
        ("--shape", f"{key}={','.join('?' if n is None else str(n) for n in extents)}")
        for key, extents in session.shapes.items()
    ]
    return [subject, *(part for key, value in options if value is not None for part in (key, value))]
