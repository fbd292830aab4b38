"""`aotensor tune`: its arguments, options and help."""

from __future__ import annotations

from pathlib import Path

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.commands.names import MOST_THREADS
from aotensor_cli.options import debug_option, extent_options, json_option
from aotensor_cli.reading.completion import complete_subject


@declare("tune")
@click.argument("model", metavar="MODEL", shell_complete=complete_subject)
@click.option(
    "--sizes", metavar="n=1000,p=100", multiple=True,
    help="Extents of dims to be fast at; may be repeated: then the geometric mean counts. Default: 1000.",
)  # fmt: skip
@click.option(
    "--time", "seconds", metavar="SECONDS", type=click.FloatRange(min=1), default=60.0, show_default=True,
    help="How long to search; for all functions together.",
)  # fmt: skip
@click.option("--threads", type=click.IntRange(1, MOST_THREADS), help="That run it. Default: all that there are.")
@click.option(
    "-o", "--output", "out", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
    help="The schedule. Default: <name>.nest.mlir; beside it FILE.md, the report, and FILE.jsonl, the trials.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the inputs.")
@click.option("--restart", is_flag=True, help="Forget the trials of an earlier search.")
@extent_options
@json_option
@debug_option
def command() -> None:
    """Search for a faster schedule of a model's loops by measuring.

    It is written for `aotensor compile --schedule`. What is tried: every pass otherwise than usual, then edits of
    the loops of the best nest so far, those first where time is estimated to go: sizes of blocks and chunks, rows
    that advance together, vectors, tiles, fused and interchanged loops. Each nest is proved to compute the same,
    compiled, compared with what the compiler's own gives, and timed in turns with the best so far. A search that
    was stopped goes on where it was, if model, sizes, threads and machine are the same. Inputs are those of
    `aotensor bench`. Where nothing is faster, the schedule is the compiler's own.
    """
