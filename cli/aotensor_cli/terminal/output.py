"""`-o FILE`: what a command would print goes into a file."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from aotensor.codegen.files import write_file

_Command = TypeVar("_Command", bound=Callable[..., Any])


def output_option(command: _Command) -> _Command:
    """`-o`: the results into a file, once all of them are there; what is said on stderr stays there."""

    @functools.wraps(command)
    def call(*arguments: Any, out: Path | None = None, **options: Any) -> Any:
        if out is None:
            return command(*arguments, **options)
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            code = command(*arguments, **options)
        write_file(out, stream.getvalue().encode(errors="backslashreplace"))
        return code

    option = click.option(
        "-o", "--output", "out", metavar="FILE", type=click.Path(path_type=Path), help="Write to this file."
    )
    return option(call)  # type: ignore[return-value]
