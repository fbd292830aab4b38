"""`aotensor verify`: a table of checks for every function of a model, or for a library."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from aotensor.verification.library import verify_library
from aotensor.verification.report import Report
from aotensor.verification.verify import verify_function
from aotensor_cli.main import COMMANDS
from aotensor_cli.model import load_model
from aotensor_cli.options import CONTEXT, Exit, debug_option, extent_options, json_option
from aotensor_cli.reading.completion import complete_subject
from aotensor_cli.reading.library import is_library, naming, read_library, split_name
from aotensor_cli.terminal.remarks import without_remarks
from aotensor_cli.terminal.render import progress, show, show_json, show_table


@click.command(context_settings=CONTEXT, short_help=COMMANDS["verify"])
@click.argument("subject", metavar="MODEL|LIBRARY", shell_complete=complete_subject)
@click.option(
    "--samples", type=click.IntRange(min=1), default=8, show_default=True, help="Random arguments per comparison."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the random arguments.")
@click.option("--rtol", type=click.FloatRange(min=0), help="Relative tolerance. Default: by dtype and condition.")
@click.option("--gradients/--no-gradients", default=True, help="Check gradients of floating outputs.")
@extent_options
@json_option
@debug_option
def command(subject: str, samples: int, seed: int, rtol: float | None, gradients: bool, as_json: bool) -> int:
    """Check a model or a library, and say what was checked.

    A model: the IR at every stage, interpreted and compiled values against the reference over shapes and layouts,
    header, symbols, reproducible bytes; and its gradients, as the reference and as compiled code gives them, by
    duality, the order of the first-order model's error, differences and the complex step. Each gradient is right, wrong
    (then the first op with a wrong derivative is named) or too noisy to tell (then it is said why). A library: the
    recorded checksum of its code and data, its symbols, and its test vectors in a child process. Exit code 1 if a check
    fails.
    """
    path, _ = split_name(subject)
    if is_library(path):
        with naming(path):
            reports = [verify_library(path, read_library(path))]
    else:
        reports = []
        for f in load_model(subject).functions:
            with progress(f"verifying {f.name}") as begin, without_remarks():
                reports.append(verify_function(f, samples, seed, rtol, gradients, begin))
    _show(reports, as_json)
    return Exit.DONE if all(reports) else Exit.WRONG


def _show(reports: Sequence[Report], as_json: bool) -> None:
    if as_json:
        show_json({"ok": all(reports), "reports": [report.to_json() for report in reports]})
        return
    for number, report in enumerate(reports):
        show(f"{'' if number == 0 else chr(10)}{report.subject}: {report.summary()}")
        rows = [(f"  {x.name}", x.verdict, f"{x.seconds:.2f} s", x.detail) for x in report.checks]
        rows += [(f"  {what}", verdict, "", detail) for what, verdict, detail in report.gradient_rows()]
        show_table(("  check", "verdict", "time", "detail"), rows, wrap=sys.stdout.isatty())
