"""Shared parts of commands: the session, refusals with exit codes, and options."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final, TypeVar

import click

from aotensor_cli.commands.names import MOST_THREADS
from aotensor_cli.reading.completion import completes, cpus, features, optimisations, targets

_Command = TypeVar("_Command", bound=Callable[..., Any])
_Value = TypeVar("_Value")

MOST_DIGITS: Final = 18
"""Digits of the largest extent on the command line: all such numbers fit 64 bits."""

CONTEXT: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

NO_FUNCTION: Final = "there is no Function at the top level of the file"
"""The end of the error of a Python file that is no model; it may be one that models import."""


class Exit(IntEnum):
    """Exit codes of the contract."""

    DONE = 0
    WRONG = 1  # checked and found wrong
    USAGE = 2  # wrong usage or unreadable input
    PROGRAM = 3  # the user's program cannot be compiled
    TOOL = 4  # a tool is missing or failed
    BUG = 70
    INTERRUPTED = 130  # as shells report Ctrl-C


@dataclass
class Session:
    """One run of the command line.   debug: errors are shown with traceback and all details. is_json: also as data.

    arguments: the whole command line. dims, shapes: extents of an imported model that the user fixes
    """

    debug: bool = False
    is_json: bool = False
    arguments: tuple[str, ...] = ()
    dims: dict[str, int] = field(default_factory=dict)
    shapes: dict[str, tuple[int | None, ...]] = field(default_factory=dict)


def similar(name: str, known: Iterable[str]) -> str | None:
    """The hint for an unknown name that resembles a known one: `did you mean logistic?`"""
    close = difflib.get_close_matches(name, list(known), n=2, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else None


def known_names_hint(names: Sequence[str], most: int = 20) -> str:
    """The hint for an unknown name that resembles none: the first known names."""
    return f"it has {', '.join(names[:most]) or 'none'}{', ...' if len(names) > most else ''}"


def percent(option: str, text: str) -> float:
    """`5%` or `5` as 5.0.   Raises: Refusal"""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?) ?%?", text.strip())
    if match is None:
        raise Refusal(f"{option} {text!r:.60} is not understood", "write a percentage, such as 5%")
    return float(match[1])


def thread_count(text: str | None) -> int:
    """The number of `--threads N`, 1 for none.   Raises: Refusal"""
    if text is None:
        return 1
    if not text.isdecimal() or not 1 <= int(text[:10]) <= MOST_THREADS:
        raise Refusal(f"--threads {text!r:.60} is not understood", f"write a number from 1 to {MOST_THREADS}")
    return int(text)


class FiniteRange(click.FloatRange):
    """A finite number within bounds: every bound lets nan through."""

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        """The number.   Raises: click.BadParameter"""
        found = super().convert(value, param, context)
        if not math.isfinite(found):
            self.fail(f"{value!r} is not a finite number", param, context)
        return found


class Refusal(Exception):
    """A request that cannot be fulfilled: one line, at most one hint, and the exit code."""

    def __init__(self, title: str, hint: str | None = None, code: Exit = Exit.USAGE) -> None:
        super().__init__(title)
        self.title, self.hint, self.code = title, hint, code


def _set_debug(context: click.Context, _: click.Parameter, value: bool) -> None:
    session = context.find_object(Session)
    if value and session is not None:
        session.debug = True


def debug_option(command: _Command) -> _Command:
    """`--debug`: tracebacks and all details of errors."""
    option = click.option(
        "--debug", is_flag=True, is_eager=True, expose_value=False, callback=_set_debug,
        help="Show tracebacks and all details of errors.",
    )  # fmt: skip
    return option(command)


def current_session() -> Session:
    """The session of the command that runs; a new one if no command is running."""
    context = click.get_current_context(silent=True)
    return (context.find_object(Session) if context is not None else None) or Session()


def _fix_dims(context: click.Context, _: click.Parameter, values: tuple[str, ...]) -> None:
    session = context.find_object(Session) or Session()
    for part in (part for text in values for part in text.split(",")):
        name, _equals, number = part.rpartition("=")
        if not name or not number.strip().isdecimal():
            raise Refusal(f"--dim {part!r:.60} is not understood", "write it as batch=1")
        _fix(session.dims, name.strip(), _extent("--dim", number), "--dim")


def _fix_shapes(context: click.Context, _: click.Parameter, values: tuple[str, ...]) -> None:
    session = context.find_object(Session) or Session()
    for text in values:
        name, _equals, extents = text.rpartition("=")
        parts = [part.strip() for part in extents.split(",") if extents.strip()]
        if not name or not all(part == "?" or part.isdecimal() for part in parts):
            raise Refusal(f"--shape {text!r:.60} is not understood", "write it as input=1,3,224,224, with ? for any")
        shape = tuple(None if part == "?" else _extent("--shape", part) for part in parts)
        _fix(session.shapes, name.strip(), shape, "--shape")


def _extent(option: str, text: str) -> int:
    """An extent of an option.   Raises: Refusal beyond 64 bits"""
    if len(text.strip()) > MOST_DIGITS:
        raise Refusal(f"{option}: an extent of {text.strip():.60} is too large", f"write at most {MOST_DIGITS} digits")
    return int(text)


def _fix(kept: dict[str, _Value], name: str, value: _Value, option: str) -> None:
    """Record a value of an option under a name.   Raises: Refusal if the name has another value already"""
    if kept.setdefault(name, value) != value:
        both = f"{_as_option(kept[name])} and {_as_option(value)}"
        raise Refusal(f"{option} gives {name!r:.60} two values: {both}", "leave out one of them")


def _as_option(value: object) -> str:
    """An extent, or several, as an option gives them."""
    return ",".join("?" if n is None else str(n) for n in value) if isinstance(value, tuple) else str(value)


def extent_options(command: _Command) -> _Command:
    """`--dim`, `--shape`: extents that an imported model leaves open, kept in the session."""
    options = (
        click.option(
            "--dim", metavar="NAME=N", multiple=True, expose_value=False, callback=_fix_dims,
            help="Extent of a named dim of an ONNX model: batch=1; may be repeated.",
        ),
        click.option(
            "--shape", metavar="INPUT=N,...", multiple=True, expose_value=False, callback=_fix_shapes,
            help="Shape of an input of an ONNX model or of StableHLO: input=1,3,224,224, ? for any; may be repeated.",
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def json_option(command: _Command) -> _Command:
    """`--json`, as parameter `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Write JSON.")(command)


def nest_options(command: _Command) -> _Command:
    """`--generic` and `--short`: the form of nests."""
    generic = click.option(
        "--generic", is_flag=True,
        help="Nests in MLIR's generic form, which mlir-opt --allow-unregistered-dialect reads.",
    )  # fmt: skip
    short = click.option("--short", is_flag=True, help="Nests in short form (the default).")
    return generic(short(command))


def pass_options(command: _Command) -> _Command:
    """`--passes`, `--disable-pass`: which passes run, as parameters `passes` and `disabled`."""
    options = (
        click.option(
            "--passes", metavar="PIPELINE",
            help="Passes to run, in order, some with options: expand,lower-to-nest,fuse{max-statements=64},... "
            "Required passes must be among them.",
        ),
        click.option(
            "--disable-pass", "disabled", metavar="NAME", multiple=True, shell_complete=completes(optimisations),
            help="Disable an optimisation; may be repeated.",
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def machine_options(command: _Command) -> _Command:
    """`--target`, `--cpu`, `--features`, `-O`, `--fp`: what code is made for and how."""
    options = (
        click.option(
            "--target", metavar="TRIPLE", shell_complete=completes(targets),
            help="Triple such as aarch64-linux-gnu or wasm32-wasi; `aotensor doctor` lists them. Default: this "
            "machine's.",
        ),
        click.option(
            "--cpu", metavar="host|generic|NAME|LEVELS", shell_complete=completes(cpus),
            help="CPU to compile for. Default: host, for CPUs with all features of this one. v2,v3,v4: "
            "code for these levels of x86-64, chosen at run time.",
        ),
        click.option(
            "--features", metavar="+a,-b", shell_complete=completes(features),
            help="CPU features to add to or remove from those of --cpu.",
        ),
        click.option(
            "-O", "opt_level", metavar="0..3", type=click.IntRange(0, 3), default=3, help="Level of optimisation."
        ),
        click.option(
            "--fp", type=click.Choice(["strict", "contract", "fast"]), default="contract", show_default=True,
            help="Floating point: IEEE as written; FMA and reassociated sums; or all fast-math flags of LLVM.",
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def library_options(command: _Command) -> _Command:
    """`--opt-size`, `--no-malloc`, `--freestanding`, `--no-threads`, `-g`, `--check`, `--prefix`."""
    options = (
        click.option("--opt-size", is_flag=True, help="Optimise for size instead of speed; with -O 2 or 3."),
        click.option(
            "--malloc/--no-malloc", default=True,
            help="Let calls allocate memory. Default: yes. Without: calls use only the caller's workspace, on one "
            "core; the manifest has the sizes of workspace and stack.",
        ),
        click.option(
            "--freestanding", is_flag=True,
            help="Use only memcpy, memmove and memset of the C library, and do not allocate: an archive for programs "
            "without an operating system.",
        ),
        click.option("--threads/--no-threads", default=True, help="Let loops run on several cores. Default: yes."),
        click.option(
            "-g", "debug_info", is_flag=True,
            help="Add line tables of the model for debuggers and profilers: gdb, perf, addr2line. The code is the "
            "same.",
        ),
        click.option(
            "--check", is_flag=True,
            help="Check the IR after every pass, and memory accesses at run time; fill outputs and buffers with nan.",
        ),
        click.option("--prefix", metavar="P", default="", help="Prefix of every exported symbol."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def _name_weights(_context: click.Context, _: click.Parameter, value: str | None) -> str | None:
    if value is not None and value.endswith((".py", ".onnx", ".mlir")):
        raise Refusal(f"--weights {value}: this is a model, not a file to write", "write --weights after the model")
    return value


def weights_options(command: _Command) -> _Command:
    """`--weights` and `--weights-from`: large constants in a file of their own."""
    for option in (
        click.option(
            "--weights-from", metavar="BYTES",
            help="With --weights: size of the smallest constant to move, such as 1M. Default: above 16 KiB.",
        ),
        click.option(
            "--weights", metavar="[FILE]", is_flag=False, flag_value="", callback=_name_weights,
            help="Write large constants to FILE next to the library, by default NAME.safetensors; the library maps "
            "and needs it.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def training_options(command: _Command) -> _Command:
    """`--train`, `--optimizer` and `--wrt`: a training step from a model."""
    for option in (
        click.option(
            "--wrt", metavar="NAME,...",
            help="Parameters of --train: inputs, shared variables or ONNX initializers, or patterns such as "
            "'*.weight'.",
        ),
        click.option(
            "--optimizer", metavar="RULE[:OPTION=VALUE,...]",
            help="Rule of --train: sgd, momentum, adam (default), adamw or lion, such as adam:learning_rate=0.01.",
        ),
        click.option(
            "--train", metavar="loss=LOSS",
            help="Add <name>_step and <name>_start, which train in place. LOSS: a scalar output, or "
            "mse, mae, cross_entropy or binary_cross_entropy of the first output, or of Y with LOSS:Y.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command
