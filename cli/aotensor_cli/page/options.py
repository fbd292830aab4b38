"""What the command line says about pages and pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from aotensor_cli.benching.inputs import parse_sizes
from aotensor_cli.options import Refusal
from aotensor_cli.page.benched import Row, read_bench

_Command = TypeVar("_Command", bound=Callable[..., Any])
MEMORY: Final = "memory"
"""The stage of the picture of the memory plan."""
DRAWN: Final = ("graph", "graph-opt", "nest", MEMORY)
"""The stages that there are pictures of."""


@dataclass(frozen=True)
class PageOptions:
    """What a page or a picture is to show.   sizes: sets of dims; rows: measurements; sources: of a library"""

    form: str
    stage: str | None
    sizes: Sequence[dict[str, int]]
    rows: list[Row]
    sources: tuple[Path, ...]


def page_options(command: _Command) -> _Command:
    """`--bench`, `--sizes`, `--source`: what a page shows, as parameters of these names."""
    options = (
        click.option(
            "--bench", metavar="FILE", type=click.Path(path_type=Path),
            help="With --format html: what `aotensor bench --json` wrote, as a roofline.",
        ),
        click.option(
            "--sizes", metavar="n=1000,p=100", multiple=True,
            help="With --format html or svg: extents of dims that time and memory are estimated for; may be repeated.",
        ),
        click.option(
            "--source", "sources", metavar="FILE", type=click.Path(path_type=Path), multiple=True,
            help="With --format html: the source of a library, which does not hold it; may be repeated.",
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def chosen(
    form: str, stage: str | None, is_library: bool, bench: Path | None, sizes: Sequence[str], sources: tuple[Path, ...]
) -> PageOptions | None:
    """What is wanted, None for another format.   Raises: Refusal for what does not go together"""
    if form not in ("html", "svg"):
        for given, name in ((bench, "--bench"), (sizes, "--sizes"), (sources, "--source")):
            if given:
                raise Refusal(f"{name} is for pages and pictures", "add --format html")
        if stage == MEMORY:
            raise Refusal("the memory plan is a picture", "add --format svg")
        return None
    if form == "html" and stage is not None:
        raise Refusal("a page has all stages", "leave out --stage")
    if form == "svg":
        if stage not in DRAWN:
            raise Refusal("--format svg draws one stage of a model", f"add --stage: {', '.join(DRAWN)}")
        if is_library:
            raise Refusal("--format svg draws a model", "use --format html for a library, or draw the model")
        if bench is not None:
            raise Refusal("--bench is for pages", "use --format html")
    if sources and not is_library:
        raise Refusal("--source is for libraries", "a model is its own source")
    if sizes and is_library:
        raise Refusal("--sizes is for models: a library holds no estimates", "make the page of the model")
    rows = [] if bench is None else read_bench(bench)
    return PageOptions(form, stage, [parse_sizes(text) for text in sizes], rows, sources)
