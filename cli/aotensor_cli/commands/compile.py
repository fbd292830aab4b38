"""`aotensor compile`: its arguments, options and help."""

from __future__ import annotations

from pathlib import Path

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.commands.names import FORMS, INTERFACES
from aotensor_cli.options import (
    debug_option,
    extent_options,
    json_option,
    library_options,
    machine_options,
    nest_options,
    pass_options,
    training_options,
    weights_options,
)
from aotensor_cli.reading.completion import complete_subject


@declare("compile")
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, shell_complete=complete_subject)
@click.option(
    "-o", "folder", metavar="DIR", type=click.Path(path_type=Path), help="Folder of the files. Default: here."
)
@click.option("--name", metavar="N", help="Name of the library. Default: that of the first function.")
@click.option(
    "--emit", "forms", type=click.Choice(list(FORMS)), multiple=True, metavar="FORM",
    help=f"What to write, instead of lib and header; may be repeated: {', '.join(FORMS)}. "
    "Texts go to stdout unless -o is given.",
)  # fmt: skip
@extent_options
@machine_options
@pass_options
@click.option(
    "--schedule", metavar="FILE", type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Edited text of --emit nest to compile; refused unless it is proved to compute the same.",
)  # fmt: skip
@library_options
@nest_options
@click.option(
    "--abi", "interfaces", metavar="NAME", type=click.Choice(list(INTERFACES)), multiple=True,
    help=f"Also export the symbols of another project's interface; may be repeated: {', '.join(INTERFACES)}.",
)  # fmt: skip
@click.option(
    "--memory", metavar="BYTES",
    help="Bound on workspace and stack of a call of each function, such as 64M: loops store fewer values for "
    "their gradients, and recompute the others.",
)  # fmt: skip
@click.option(
    "--sizes",
    metavar="T=1000,n=10",
    help="With --memory: extents of dims for which the bound holds.",
)
@weights_options
@click.option("--grad", metavar="WRT,...", help="Add <name>_grad, which returns the first output and its gradients.")
@click.option("--hvp", metavar="WRT,...", help="Add <name>_hvp, which also returns the Hessian times tangent_<WRT>.")
@training_options
@click.option("--dump-ir", metavar="DIR", type=click.Path(path_type=Path), help="Write the IR after every pass.")
@click.option("--time-passes", is_flag=True, help="Show the time of every step on stderr.")
@click.option(
    "--depfile", metavar="FILE", type=click.Path(path_type=Path),
    help="Write a Makefile rule with the files that were read: models, their imports, and files that they open.",
)  # fmt: skip
@click.option(
    "--reproducer", metavar="FILE", type=click.Path(path_type=Path),
    help="Write a file that repeats this compilation, also if it fails: `python FILE` runs it.",
)  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
@click.option(
    "-v", "--verbose", is_flag=True, help="Print the files that were read and the time of every step on stderr."
)
@json_option
@debug_option
def command() -> None:
    """Compile the functions of a model to a library and a header.

    Writes lib<name>.so and <name>.h, and prints one line per file. Several MODELs make one library of all their
    functions. Nothing is written if anything fails. After an internal error, a reproducer is written to the temporary
    folder.
    """
