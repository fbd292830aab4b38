"""The command group: import commands at first use, and turn every error into one or two lines and an exit code."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import re
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

import click

from aotensor_cli.options import CONTEXT, Exit, Refusal, Session, debug_option, similar
from aotensor_cli.terminal.error_place import place_of
from aotensor_cli.terminal.plain import is_plain, printable

_LONGEST: Final = 1000
"""Characters of an error that are shown: names may be very long."""

_TOOL_LINES: Final = 3
"""Last lines of what a tool has said."""

COMMANDS: Final = {
    "compile": "Compile the functions of a model to a library and a header.",
    "inspect": "Show what is in a model or a library, at every stage.",
    "verify": "Check a model or a library, and say what was checked.",
    "run": "Call a function of a library on data from files.",
    "tune": "Search for a faster schedule of a model's loops by measuring.",
    "split": "Split a function over its rows into rounds of map and merge.",
    "package": "Make a wheel, an SDK or an npm package of libraries.",
    "bench": "Measure the time per call against the machine's limits.",
    "diff": "Show what differs between two libraries, or a library and a model.",
    "why": "Show how a line was compiled, or why two lines share no loop.",
    "profile": "Show which lines of a model take the time, and what bounds them.",
    "explore": "Look at source, stages, passes, loops and remarks in the terminal.",
    "lsp": "Serve editors: remarks and errors on the lines of models.",
    "cache": "Show or empty the cache of compiled functions.",
    "doctor": "Show what aotensor finds on this machine, and what to install.",
}
"""Name → the first line of its help, so that `aotensor --help` loads none of them."""


class CommandGroup(click.Group):
    """Commands by name, each in a module of `commands`, which is imported when its parameters are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            meant = similar(args[0], COMMANDS)
            title = f"no such command '{args[0]}'" + (f" ({meant})" if meant else "")
            raise Refusal(title, f"see {ctx.command_path} --help")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"aotensor_cli.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _show_version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        click.echo(import_module("aotensor_cli.reading.version").version_text())
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

    MODEL is a Python file that defines functions with aotensor.function (file.py), or one of them (file.py:name), an
    ONNX model (file.onnx), StableHLO text, as JAX exports it (file.mlir), or - for one of these on standard input.

    Exit codes: 0 done; 1 checked and wrong; 2 wrong usage or unreadable input; 3 the program cannot be compiled;
    4 a tool is missing or failed, or the disk is full; 70 a bug of aotensor; 130 interrupted. With --json, an error is
    also on stdout, as {"error": {"title", "lines", "hint", "code", "file", "line"}}.

    Completion of commands and options: eval "$(_AOTENSOR_COMPLETE=bash_source aotensor)" in ~/.bashrc, with zsh_source
    in ~/.zshrc; in fish, _AOTENSOR_COMPLETE=fish_source aotensor | source.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> None:
    """Run the command line on `sys.argv` and end the process with its exit code."""
    gc.disable()  # until the command is imported, which creates objects that live until the end
    _open_standard_streams()
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `aotensor inspect ... | head` ends quietly
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        _say_error(f"stdout: {error}", None)
        code = code or Exit.TOOL
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in the buffer cannot be written at the exit either
    sys.exit(code)


def _open_standard_streams() -> None:
    """Open closed standard streams on the null device, so that no other file gets their descriptors."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            handle = os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # letters that the terminal's encoding lacks, as on stderr


def run(arguments: Sequence[str]) -> int:
    """Run one command line; gives the exit code. Errors are printed, never raised."""
    if "_AOTENSOR_COMPLETE" in os.environ:
        import_module("aotensor_cli.reading.completion").join_names()
    session = Session(is_json="--json" in arguments, arguments=tuple(arguments))
    try:
        code = group.main(list(arguments), prog_name="aotensor", standalone_mode=False, obj=session)
    except (click.Abort, KeyboardInterrupt):
        _say_error("interrupted", None)
        return Exit.INTERRUPTED
    except click.ClickException as error:
        title, hint = _from_click(error)
        return _report(session, title, hint, Exit.USAGE)
    except Refusal as error:
        return _report(session, error.title, error.hint, error.code)
    except SystemExit as error:
        if any(name.startswith("_AOTENSOR_COMPLETE") for name in os.environ):
            raise  # click has answered a shell that completes a word
        return _report(session, f"the program ends the process with exit({error.code!r})", None, Exit.PROGRAM)
    except BaseException as error:
        failure = import_module("aotensor_cli.terminal.failure").explain(error)
        return _report(session, failure.title, failure.hint, failure.code, failure.lines)
    return code if isinstance(code, int) else Exit.DONE


def _from_click(error: click.ClickException) -> tuple[str, str | None]:
    """Reword an error of click: lower case, no full stop, with similar names."""
    message = " ".join(error.format_message().split()).rstrip(".").replace("...'", "'")
    context: Any = getattr(error, "ctx", None)
    guess = re.search(r"[. (]*(?:Possible options:|Did you mean(?: one of:)?) (.*?)[?)]*$", message)
    if guess is not None:
        meant = guess[1].replace("'", "").replace(", ", " or ")
        message = f"{message[: guess.start()]} (did you mean {meant}?)"
    elif (given := re.search(r"'([^']*)' is not one of (.*)$", message)) is not None:
        meant = similar(given[1], re.findall(r"'([^']*)'", given[2]))
        if meant:  # the list of names gives way to it
            whole, room = f"{message} ({meant})", _LONGEST - len(meant) - len(" ... ()")
            message = whole if len(whole) <= _LONGEST else f"{message[:room]} ... ({meant})"
    return message[:1].lower() + message[1:], f"see {context.command_path} --help" if context is not None else None


def _report(session: Session, title: str, hint: str | None, code: int, lines: Sequence[str] = ()) -> int:
    """Print an error to stderr, and with --json as data to stdout; return the exit code."""
    if "aotensor_cli.reading.standard_input" in sys.modules:
        shorten = sys.modules["aotensor_cli.reading.standard_input"].without_folder
        title, hint, lines = shorten(title), hint and shorten(hint), [shorten(line) for line in lines]
    if session.debug:
        with contextlib.suppress(OSError):
            traceback.print_exc()
    elif code == Exit.TOOL:  # a tool's own words are what helps
        with contextlib.suppress(OSError):
            for line in lines[-_TOOL_LINES:]:
                click.echo(f"  {printable(line[:_LONGEST])}", err=True)
    _say_error(title, hint)
    if session.is_json:
        place = place_of(title, lines) or (None, None)
        tree: dict[str, Any] = {"title": title, "lines": list(lines), "hint": hint, "code": int(code)}
        tree |= zip(("file", "line"), place, strict=True)
        with contextlib.suppress(OSError):
            click.echo(json.dumps({"error": tree}, indent=2))
    return int(code)


def _say_error(title: str, hint: str | None) -> None:
    """Print the two lines of an error to stderr; a closed stderr does not change the exit code."""
    if hasattr(signal, "SIGPIPE"):
        before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        for word, text, colour in (("error", title, "red"), ("hint", hint, "cyan")):
            if text:
                marked = word if is_plain(sys.stderr) else click.style(word, fg=colour, bold=True)
                shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
                click.echo(f"{marked}: {printable(shown)}", err=True)
    except (OSError, ValueError):
        pass
    finally:
        if hasattr(signal, "SIGPIPE"):
            signal.signal(signal.SIGPIPE, before)
