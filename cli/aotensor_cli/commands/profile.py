"""`aotensor profile`: its arguments, options and help."""

from __future__ import annotations

from pathlib import Path

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.options import FiniteRange, debug_option, extent_options, json_option
from aotensor_cli.reading.completion import complete_subject


@declare("profile")
@click.argument("subject", metavar="MODEL|LIBRARY", shell_complete=complete_subject)
@click.option("--sizes", metavar="n=1000,p=100", help="Extents of dims. Default: 1000.")
@click.option("--threads", metavar="N", help="Number of threads of calls. Default: 1.")
@click.option(
    "--seconds",
    type=FiniteRange(min=0.1),
    default=2.0,
    show_default=True,
    help="Duration of sampling, for each function.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random inputs.")
@click.option("--limits/--no-limits", default=True, help="Measure the machine's limits, to say what bounds a line.")
@click.option("--grad", metavar="WRT,...", help="For a model: add <name>_grad, as compile does.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "folded", "speedscope"]), default="text", show_default=True,
    help="folded: stacks for flame graphs, in microseconds. speedscope: a file for speedscope.app.",
)  # fmt: skip
@click.option("-o", "--output", "out", metavar="FILE", type=click.Path(path_type=Path), help="Write to this file.")
@extent_options
@json_option
@debug_option
def command() -> None:
    """Show which lines of a model take the time, and what bounds them.

    Calls each function in a loop on random inputs, in a child process, and samples each thread by a timer; shares are
    those of the processor time of all threads. A model is compiled with line tables in which a derivative belongs to
    the line that is differentiated, so a line has the time of its forward and its derivative part. A library needs line
    tables (compile -g), in which a gradient belongs to the line that asks for it.

    A line is bound by memory, arithmetic or gathers (elements at computed positions) if it reaches at least a third of
    that limit of the machine, else by latency: it waits for results or for caches. Linux only; needs a C compiler, but
    neither root nor perf.
    """
