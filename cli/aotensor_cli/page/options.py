"""The options of pages and pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])
MEMORY: Final = "memory"
"""The stage of the picture of the memory plan."""
DRAWN: Final = ("graph", "graph-opt", "nest", MEMORY)
"""The stages that there are pictures of."""
EXPORTS: Final = ("model-explorer", "node-data", "netron")
"""Formats of other viewers."""
EXPORTED: Final = ("graph", "graph-opt", "tensor", "tensor-opt", "nest")
"""The levels that can be exported."""


def page_options(command: _Command) -> _Command:
    """`--bench`, `--profile`, `--sizes`, `--source`: what a page shows, as parameters of these names."""
    options = (
        click.option(
            "--bench", metavar="FILE", type=click.Path(path_type=Path),
            help="With --format html: output of `aotensor bench --json`, shown as a roofline.",
        ),
        click.option(
            "--profile", metavar="FILE", type=click.Path(path_type=Path),
            help="With --format html or an export: output of `aotensor profile --json`, shown as time, rates and "
            "bounds by line.",
        ),
        click.option(
            "--sizes", metavar="n=1000,p=100", multiple=True,
            help="With --memory, --all, pages, pictures and exports: extents of dims for the estimates of time and "
            "memory; may be repeated.",
        ),
        click.option(
            "--source", "sources", metavar="FILE", type=click.Path(path_type=Path), multiple=True,
            help="With --format html: the source of a library, which does not contain it; may be repeated.",
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command
