"""`aotensor inspect`: its arguments, options and help."""

from __future__ import annotations

from pathlib import Path

import click

from aotensor_cli.commands.declaration import declare
from aotensor_cli.commands.moment import Moment
from aotensor_cli.commands.names import STAGES
from aotensor_cli.options import debug_option, extent_options, json_option, nest_options, pass_options
from aotensor_cli.page.options import DRAWN, EXPORTED, EXPORTS, MEMORY, page_options
from aotensor_cli.reading.completion import complete_subject, completes, functions_of_subject, passes


@declare("inspect")
@click.argument("subject", metavar="MODEL|LIBRARY", shell_complete=complete_subject)
@click.option(
    "--stage", type=Moment(MEMORY), metavar="STAGE|PASS",
    help=f"Print the text of one stage: {', '.join(STAGES)}; or of a model what a pass left, such as fuse or "
    f"canonicalize.1, the first of several runs. With --format svg a picture of {', '.join(DRAWN)}.",
)  # fmt: skip
@click.option(
    "--diff", "base", type=Moment("before"), metavar="STAGE|PASS|before",
    help="With --stage: what turned this into that; before: what the pass of --stage did.",
)  # fmt: skip
@click.option("--locations", is_flag=True, help="With --stage of a model: the line that each operation comes from.")
@nest_options
@click.option("--remarks", is_flag=True, help="What became of each line of the model, and why.")
@click.option(
    "--memory", is_flag=True,
    help="Bytes of workspace and stack against work, for the checkpoints that compile --memory chooses from.",
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
    help="Only this function; with --stage asm of a model its kernel alone, with the lines that it is made of.",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "dot", "svg", "html", *EXPORTS]), default="text",
    show_default=True,
    help="dot draws --stage graph of a model for Graphviz, svg a stage as a picture, html makes a page of everything; "
    "model-explorer and netron write graphs for these viewers, node-data the time of each line as an overlay for the "
    f"former. With --stage one level of {', '.join(EXPORTED)}; else graph for Netron, graph, tensor-opt and nest.",
)  # fmt: skip
@click.option(
    "--all", "everything", is_flag=True,
    help="With --json of a model: one document with the texts of all stages and passes (with --stage, of one), the "
    "line that each line of text comes from, loops, estimated time by line and remarks.",
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
    call, and what each pass did to the number of operations. A library is read, never executed. What is damaged in it
    is named, the rest is shown, and the exit code is 2.

    --format html -o page.html makes one page that needs no network: source, graph, loops with the time that they are
    estimated to take, every stage, remarks, memory plan and machine code, linked by location.
    """
