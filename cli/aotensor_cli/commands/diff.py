"""`aotensor diff`: its arguments, options and help."""

from __future__ import annotations

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.options import FiniteRange, debug_option, extent_options, json_option
from aotensor_cli.reading.completion import complete_subject


@declare("diff")
@click.argument("old", metavar="OLD", shell_complete=complete_subject)
@click.argument("new", metavar="NEW", shell_complete=complete_subject)
@click.option("--sizes", metavar="n=1000,p=100", multiple=True, help="Extents of dims; may be repeated. Default: 1000.")
@click.option("--threads", metavar="N", help="Number of threads of calls. Default: 1.")
@click.option(
    "--seconds", type=FiniteRange(min=0), default=1.0, show_default=True,
    help="Duration of the timing of each function and size; 0 for none.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the random inputs.")
@click.option(
    "--rtol", type=FiniteRange(min=0),
    help="Largest difference, relative to the largest magnitude of an output. Default: what the test vectors record; "
    "on other inputs by dtype and condition.",
)  # fmt: skip
@click.option(
    "--fail-on", "limits", metavar="speed:5%", multiple=True,
    help="Exit code 1 also if a call is slower by more than this, with the whole 95 % interval.",
)  # fmt: skip
@click.option("--run/--no-run", "executed", default=True, help="Call the functions. Default: yes.")
@click.option("--grad", metavar="WRT,...", help="For a model: add <name>_grad, as compile does.")
@click.option("--hvp", metavar="WRT,...", help="For a model: add <name>_hvp, as compile does.")
@extent_options
@json_option
@debug_option
def command() -> None:
    """Show what differs between two libraries, or a library and a model.

    OLD and NEW are libraries or models; a function is named as lib.so:f. First their manifests are compared without
    executing anything: signatures, target, ABI, symbols, sizes, flops, bytes, and the decisions of passes. Then a child
    process calls both on their test vectors and on random inputs, and reports differences of outputs in ulp. Last it
    times both alternately, and reports the ratio of the times with a 95 % interval. A model that is compared with a
    library is compiled for the CPU of that library.

    Exit code 1 if signatures differ, NEW lacks a function, or values differ by more than the tolerance; with --fail-on
    also if the whole interval is above that limit.
    """
