"""`aotensor tune`: its arguments, options and help."""

from __future__ import annotations

from pathlib import Path

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.commands.names import MOST_THREADS
from aotensor_cli.options import FiniteRange, debug_option, extent_options, json_option
from aotensor_cli.reading.completion import complete_subject


@declare("tune")
@click.argument("model", metavar="MODEL", shell_complete=complete_subject)
@click.option(
    "--sizes", metavar="n=1000,p=100", multiple=True,
    help="Extents of dims to optimise for; if repeated, the geometric mean of the times counts. Default: 1000.",
)  # fmt: skip
@click.option(
    "--time", "seconds", metavar="SECONDS", type=FiniteRange(min=1), default=60.0, show_default=True,
    help="Duration of the search, for all functions together.",
)  # fmt: skip
@click.option("--threads", type=click.IntRange(1, MOST_THREADS), help="Threads of calls. Default: one per processor.")
@click.option(
    "-o", "--output", "out", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
    help="The schedule; also writes FILE.md, the report, and FILE.jsonl, the trials. Default: <name>.nest.mlir.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random inputs.")
@click.option("--restart", is_flag=True, help="Ignore the trials of an earlier search.")
@extent_options
@json_option
@debug_option
def command() -> None:
    """Search for a faster schedule of a model's loops by measuring.

    Writes a schedule for `aotensor compile --schedule`. Tries other options of every pass, then edits the loops of the
    best nest so far, starting with those that take most of the estimated time: sizes of blocks and chunks,
    unroll-and-jam, vectors, tiles, fusion and interchange. Each nest is proved to compute the same, compiled, compared
    with the results of the compiler's own, and timed alternately with the best so far. A stopped search continues if
    model, sizes, threads and machine are the same. Inputs are those of `aotensor bench`. If nothing is faster, the
    schedule is the compiler's own.
    """
