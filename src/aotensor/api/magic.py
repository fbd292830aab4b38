"""The cell magic of notebooks: `%%aotensor` runs a cell, verifies its functions and shows them."""

from __future__ import annotations

import argparse
import shlex
from typing import Any, NoReturn, Protocol

from aotensor.api.cost.inputs import dim_names, hint_of_dims
from aotensor.api.function import Function
from aotensor.errors import GraphValueError


class Shell(Protocol):
    """IPython's `InteractiveShell`, as far as the magic uses it."""

    user_ns: dict[str, Any]

    def run_cell(self, raw_cell: str) -> Any: ...
    def register_magic_function(self, func: Any, magic_kind: str, magic_name: str) -> None: ...


class _Options(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise GraphValueError(f"%%aotensor: {message}", hint=self.format_usage().strip())


def register(shell: Shell) -> None:
    """Give a shell the magic `%%aotensor`."""

    def magic(line: str, cell: str) -> None:
        for shown in checked_cell(shell, line, cell):
            _display(shown)

    magic.__doc__ = _options().format_help()
    shell.register_magic_function(magic, "cell", "aotensor")


def checked_cell(shell: Shell, line: str, cell: str) -> list[Any]:
    """Run a cell and verify each Function that it defines; return Functions and reports, in order of definition.

    line: the options. An error of the cell is shown by the shell, and nothing follows.

    Raises: GraphValueError for an unknown option, and if the cell makes no Function; errors of compilation.
    """
    options = _options().parse_args(shlex.split(line))
    before = dict(shell.user_ns)
    if not shell.run_cell(cell).success:
        return []
    made = {name: x for name, x in shell.user_ns.items() if isinstance(x, Function) and before.get(name) is not x}
    functions = list({id(f): f for name, f in made.items() if not name.startswith("_")}.values())
    if not functions:
        raise GraphValueError(
            "%%aotensor: the cell does not define a Function", hint="f = aot.function(inputs, outputs)"
        )
    sizes, known = dict(options.sizes), {name for f in functions for name in dim_names(f, has_parts=False)}
    for name in sizes.keys() - known:
        raise GraphValueError(f"%%aotensor: no function has a dim {name}", hint=hint_of_dims(name, known))
    found: list[Any] = []
    for f in functions:
        found.append(f)
        if options.verify:
            found.append(f.verify(samples=options.samples, seed=options.seed))
        if options.remarks:
            found.append(f.remarks())
        if options.profile:
            own = {key: n for key, n in sizes.items() if key in dim_names(f)}
            found.append(f.time_by_line(options.threads, options.seconds, options.seed, **own))
    return found


def _options() -> argparse.ArgumentParser:
    parser = _Options("%%aotensor", add_help=False, description="Run the cell, verify its functions and show them.")
    parser.add_argument("--samples", type=int, default=3, metavar="N", help="random samples of each check (3)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the samples (0)")
    parser.add_argument("--no-verify", dest="verify", action="store_false", help="show the functions only")
    parser.add_argument("--remarks", action="store_true", help="show what each pass decided, too")
    parser.add_argument("--profile", action="store_true", help="measure the time by line, too")
    parser.add_argument(
        "--sizes", type=_sizes, default=[], metavar="n=1000,p=100", help="extents of dims for --profile (1000)"
    )
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of calls for --profile (1)")
    parser.add_argument("--seconds", type=float, default=2.0, metavar="T", help="seconds of samples for --profile (2)")
    return parser


def _sizes(text: str) -> list[tuple[str, int]]:
    """`n=1000,p=100` as pairs.   Raises: ValueError, which argparse reports"""
    pairs = [part.partition("=") for part in text.split(",")]
    return [(name.strip(), int(n)) for name, _, n in pairs]


def _display(x: object) -> None:
    from IPython.display import display

    display(x)
