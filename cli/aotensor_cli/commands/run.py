"""`aotensor run`: its arguments, options and help."""

from __future__ import annotations

from pathlib import Path

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.options import FiniteRange, debug_option, json_option
from aotensor_cli.reading.completion import complete_subject


@declare("run")
@click.argument("subject", metavar="LIBRARY[:F]", shell_complete=complete_subject)
@click.argument("inputs", metavar="NAME=FILE...", nargs=-1)
@click.option(
    "-o",
    "output",
    metavar="OUT",
    type=click.Path(path_type=Path),
    help="Save the outputs: .npy, .npz, .mtx, .json or .csv.",
)
@click.option(
    "--expect", metavar="FILE", type=click.Path(path_type=Path), help="Compare the outputs with those in a file."
)
@click.option(
    "--rtol", type=FiniteRange(min=0), help="Relative tolerance of --expect. Default: 1e-7, 1e-4 for float32."
)
@json_option
@debug_option
def command() -> None:
    """Call a function of a library on data from files.

    Inputs are files (.npy, .npz, .mtx, .csv, .json) or literals (NAME=3.0, NAME=[1,2]). FILE.npz:KEY names an array of
    an .npz file, by default that with the name of the input. A sparse input is an .npz of scipy.sparse.save_npz, or an
    .mtx. Outputs are printed, or saved with -o in files that run accepts as inputs. With --expect the exit code is 1 if
    an output differs.
    """
