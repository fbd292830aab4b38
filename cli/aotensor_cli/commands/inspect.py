"""`aotensor inspect`: its arguments, options and help."""

from __future__ import annotations

from pathlib import Path

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.commands.names import STAGES
from aotensor_cli.commands.stage_option import Moment
from aotensor_cli.options import debug_option, extent_options, json_option, nest_options, pass_options
from aotensor_cli.page.options import DRAWN, EXPORTED, EXPORTS, MEMORY, page_options
from aotensor_cli.reading.completion import complete_subject, completes, functions_of_subject, passes


@declare("inspect")
@click.argument("subject", metavar="MODEL|LIBRARY", shell_complete=complete_subject)
@click.option(
    "--stage", type=Moment(MEMORY), metavar="STAGE|PASS",
    help=f"Print the text of one stage: {', '.join(STAGES)}; or of a model after a pass, such as fuse, or "
    f"canonicalize.1 for the first of several runs. With --format svg a picture of {', '.join(DRAWN)}.",
)  # fmt: skip
@click.option(
    "--diff", "base", type=Moment("before"), metavar="STAGE|PASS|before",
    help="With --stage: show the differences from this stage or pass; before: what the pass of --stage changed.",
)  # fmt: skip
@click.option("--locations", is_flag=True, help="With --stage of a model: print the location of each operation.")
@nest_options
@click.option("--remarks", is_flag=True, help="Print the decisions of passes, by line of the model.")
@click.option(
    "--memory", is_flag=True,
    help="Print the choices of compile --memory: checkpoints, with bytes of workspace and stack, and work.",
)  # fmt: skip
@click.option("--line", "lines", metavar="[FILE:]N", multiple=True, help="Remarks about this line; may be repeated.")
@click.option(
    "--op", "ops", metavar="NAME", multiple=True,
    help="Remarks that name this value or function, or have this operator: grad_w, exp, @; may be repeated.",
)  # fmt: skip
@click.option(
    "--pass",
    "deciders",
    metavar="NAME",
    multiple=True,
    shell_complete=completes(passes),
    help="Remarks of this pass; may be repeated.",
)
@click.option(
    "--function", "name", metavar="F", shell_complete=completes(functions_of_subject),
    help="Only this function; with --stage asm of a model only its kernel, with its lines of the model.",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "dot", "svg", "html", *EXPORTS]), default="text",
    show_default=True,
    help="dot writes --stage graph of a model for Graphviz, svg draws a stage, html makes a page of everything; "
    "model-explorer and netron write graphs for these viewers, node-data the time of each line for Model Explorer. "
    f"--stage selects one level of {', '.join(EXPORTED)}; default: graph for Netron, else graph, tensor-opt and nest.",
)  # fmt: skip
@click.option(
    "--all", "everything", is_flag=True,
    help="With --json of a model: one document with the texts of all stages and passes (with --stage, of one), the "
    "location of each line of text, loops, estimated time by line and remarks.",
)  # fmt: skip
@extent_options
@page_options
@click.option("-o", "--output", "out", metavar="FILE", type=click.Path(path_type=Path), help="Write to this file.")
@pass_options
@json_option
@debug_option
def command() -> None:
    """Show what is in a model or a library, at every stage.

    Without --stage: signatures, dims and dtypes, target, size, symbols, dependencies, an estimate of the work per
    call, and the number of operations before and after each pass. A library is read, never executed. If a part of it is
    damaged, the error names the part, the rest is shown, and the exit code is 2.

    --format html -o page.html makes one page that needs no network: source, graph, loops with their estimated time,
    every stage, remarks, memory plan and machine code, linked by location.
    """
