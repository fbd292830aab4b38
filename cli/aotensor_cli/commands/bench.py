"""`aotensor bench`: its arguments, options and help."""

from __future__ import annotations

from pathlib import Path

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.options import FiniteRange, debug_option, extent_options, json_option
from aotensor_cli.reading.completion import complete_subject


@declare("bench")
@click.argument("subject", metavar="MODEL|LIBRARY", shell_complete=complete_subject)
@click.option("--sizes", metavar="n=1000,p=100", multiple=True, help="Extents of dims; may be repeated. Default: 1000.")
@click.option("--threads", metavar="1,2", help="Numbers of threads. Default: 1, and one for each processor.")
@click.option(
    "--seconds",
    type=FiniteRange(min=0.01),
    default=1.0,
    show_default=True,
    help="Time for each function, size and number of threads.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random inputs.")
@click.option(
    "--limits/--no-limits", default=True, help="Measure the machine's limits, to show the share that is reached."
)
@click.option(
    "--compare", metavar="LIBRARY", type=click.Path(path_type=Path),
    help="Another library with the same functions: compare outputs, then time both alternately.",
)  # fmt: skip
@click.option(
    "--against", metavar="OLD", type=click.Path(path_type=Path),
    help="Compare outputs with this library, then check that the subject is not slower. See also aotensor diff.",
)  # fmt: skip
@click.option(
    "--max-slowdown", "slowdown", metavar="5%",
    help="With --against: how much longer a call may take. Default: 5%.",
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

    Calls each function of a model or a library on inputs of given sizes, with bound arrays. GB/s counts every input and
    output once; GFLOP/s counts the operations by the formula in the library. The limit is that of the roofline model,
    measured on this machine: streams over as many bytes, and multiply-adds, or a matrix product if that is faster and
    the function has one. Below the table are the limits for data in memory, and the rate of reads at random positions.
    Inputs are random: floats from 0.1 to 0.9, positive definite square matrices, integers 0 and 1. With --compare the
    exit code is 1 if outputs differ. With --against calls of both alternate, and the exit code is 1 if outputs differ,
    or if the whole 95 % interval of the ratio of the times is above the limit of --max-slowdown.
    """
