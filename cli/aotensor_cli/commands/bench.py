"""`aotensor bench`: its arguments, options and help."""

from __future__ import annotations

from pathlib import Path

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.options import debug_option, extent_options, json_option
from aotensor_cli.reading.completion import complete_subject


@declare("bench")
@click.argument("subject", metavar="MODEL|LIBRARY", shell_complete=complete_subject)
@click.option("--sizes", metavar="n=1000,p=100", multiple=True, help="Extents of dims; may be repeated. Default: 1000.")
@click.option("--threads", metavar="1,2", help="Numbers of threads. Default: 1, and all that there are.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0.01),
    default=1.0,
    show_default=True,
    help="For each function, size and number.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the inputs.")
@click.option("--limits/--no-limits", default=True, help="Measure what the machine can do, for the share of it.")
@click.option(
    "--compare", metavar="LIBRARY", type=click.Path(path_type=Path),
    help="Another library with the same functions: they take turns, outputs are compared first.",
)  # fmt: skip
@click.option(
    "--against", metavar="OLD", type=click.Path(path_type=Path),
    help="A library that this must not be slower than; outputs are compared first. See also aotensor diff.",
)  # fmt: skip
@click.option(
    "--max-slowdown", "slowdown", metavar="5%",
    help="With --against: how much longer a call may take, outside of the noise. Default: 5%.",
)  # fmt: skip
@click.option(
    "--plot", metavar="FILE.svg|FILE.png", type=click.Path(path_type=Path),
    help="Draw the times and the machine's limit. Needs matplotlib: pip install 'aotensor[plot]'.",
)  # fmt: skip
@extent_options
@json_option
@debug_option
def command() -> None:
    """Measure the time per call against the machine's limits.

    Each function of a model or a library is called on inputs of given sizes, on bound arrays, as in a loop. GB/s counts
    every input and output once, GFLOP/s the operations of the formula that the library carries. The limit is that of
    the roofline model, by streams over as many bytes and by multiply-adds that are measured here, or by a matrix
    product if that is faster and the function has one. Below the table are the limits for data in memory, and how fast
    elements are read at random places. Inputs are
    random: floats from 0.1 to 0.9, square matrices positive definite, integers 0 and 1. With --compare the exit code is
    1 if outputs differ. With --against calls of both take turns, and the exit code is 1 if outputs differ, or if the
    ratio of the times is above what --max-slowdown allows, with its whole interval of 95 %.
    """
