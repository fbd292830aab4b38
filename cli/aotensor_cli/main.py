"""The command group: commands load at their first use, and every error becomes one or two lines and an exit code."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

import click

from aotensor_cli.options import CONTEXT, Exit, Refusal, Session, debug_option

COMMANDS: Final = {
    "compile": "Compile the functions of a model to a library and a header.",
    "inspect": "Show what is in a model or a library, at every stage.",
    "verify": "Check a model or a library, and say what was checked.",
    "run": "Call a function of a library on data from files.",
    "cache": "Show or empty the cache of compiled functions.",
    "doctor": "Show what aotensor finds on this machine, and what to install.",
}
"""Name → the first line of its help, so that `aotensor --help` loads none of them."""


class CommandGroup(click.Group):
    """Commands by name, each in the module of its name, which is imported when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"aotensor_cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _show_version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        click.echo(import_module("aotensor_cli.version").version_text())
        context.exit()


@click.group(cls=CommandGroup, context_settings=CONTEXT, no_args_is_help=False, invoke_without_command=True)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version,
    help="Show the versions of aotensor, LLVM and the ABI.",
)  # fmt: skip
@debug_option
@click.pass_context
def group(context: click.Context) -> None:
    """Compile symbolic tensor programs to shared libraries.

    MODEL is a Python file that defines functions with aotensor.function (file.py), or one of them (file.py:name).

    Exit codes: 0 done; 1 checked and wrong; 2 wrong usage or unreadable input; 3 the program cannot be compiled;
    4 a tool is missing or failed; 70 a bug of aotensor.
    """
    if context.invoked_subcommand is None:
        raise click.UsageError("a command is missing", context)


def main() -> None:
    """Run the command line on `sys.argv` and end the process with its exit code."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `aotensor inspect ... | head` ends quietly
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line; gives the exit code. Errors are printed, never raised."""
    session = Session()
    try:
        code = group.main(list(arguments), prog_name="aotensor", standalone_mode=False, obj=session)
    except click.Abort:
        return Exit.INTERRUPTED
    except click.ClickException as error:
        _say_error(*_from_click(error))
        return Exit.USAGE
    except Refusal as error:
        _say_details(session)
        _say_error(error.title, error.hint)
        return error.code
    except Exception as error:
        _say_details(session)
        title, hint, code = import_module("aotensor_cli.failure").explain(error)
        _say_error(title, hint)
        return int(code)
    return code if isinstance(code, int) else Exit.DONE


def _from_click(error: click.ClickException) -> tuple[str, str | None]:
    """Click's message in our voice: lower case, no full stop."""
    message = " ".join(error.format_message().split()).rstrip(".")
    context: Any = getattr(error, "ctx", None)
    hint = f"see {context.command_path} --help" if context is not None else None
    return message[:1].lower() + message[1:], hint


def _say_details(session: Session) -> None:
    if session.debug:
        traceback.print_exc()


def _say_error(title: str, hint: str | None) -> None:
    """The two lines of an error on stderr."""
    plain = bool(os.environ.get("NO_COLOR")) or not sys.stderr.isatty()
    for word, text, colour in (("error", title, "red"), ("hint", hint, "cyan")):
        if text:
            click.echo(f"{word if plain else click.style(word, fg=colour, bold=True)}: {text}", err=True)
