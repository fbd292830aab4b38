"""Declare commands whose help, options and completion import only click; a command's code is imported when it runs.

commands/verify.py   arguments, options, help    imported for `aotensor verify --help`, and to complete a word
verify.py            run(subject, samples, ...)  imported for `aotensor verify model.py`
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

from aotensor_cli.main import COMMANDS
from aotensor_cli.options import CONTEXT


class Command(click.Command):
    """A command that calls `run` of the module `aotensor_cli.<name>` with its parameters and returns the exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        run = import_module(f"aotensor_cli.{self.name}").run
        if not gc.isenabled():  # `main` has disabled it: modules live until the end, and are not to be scanned
            gc.freeze()
            gc.enable()
        return ctx.invoke(run, **ctx.params)


def declare(name: str) -> Callable[[Callable[[], None]], Command]:
    """Make a command of a function that is never called: its decorators are the parameters, its docstring the help."""
    return click.command(name, cls=Command, context_settings=CONTEXT, short_help=COMMANDS[name])
