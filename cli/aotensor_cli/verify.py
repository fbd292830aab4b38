"""`aotensor verify`: a table of checks for every function of a model, or for a library."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
from click.core import ParameterSource

from aotensor.verification.library import verify_library
from aotensor.verification.limits import LIMITS, NO_LIMITS
from aotensor.verification.report import Report
from aotensor.verification.verify import verify_function
from aotensor_cli.model import load_model
from aotensor_cli.options import Exit, Refusal
from aotensor_cli.reading.library import is_library, naming, read_library, split_name
from aotensor_cli.reading.training import wanted_training, with_steps
from aotensor_cli.terminal.remarks import without_remarks
from aotensor_cli.terminal.render import progress, show, show_json, show_table


def run(
    subject: str,
    samples: int,
    seed: int,
    rtol: float | None,
    gradients: bool,
    limits: bool,
    tool: str | None,
    train: str | None,
    optimizer: str | None,
    wrt: str | None,
    as_json: bool,
) -> int:
    """Run `aotensor verify` with the parameters that `commands/verify.py` declares; returns the exit code."""
    path, _ = split_name(subject)
    training = wanted_training(train, optimizer, wrt)
    if is_library(path):
        if training is not None:
            raise Refusal(f"{path}: a library has no training step to add", "verify the model with --train")
        if tool is not None:
            raise Refusal(f"{path}: a library has no C source to compile", "verify the model with --with cc")
        _refuse_options_of_models(path)
        with naming(path):
            reports = [verify_library(path, read_library(path))]
    else:
        reports, chosen = [], LIMITS if limits else NO_LIMITS
        functions = list(load_model(subject, training.wrt if training is not None else ()).functions)
        for f in [*functions, *(with_steps(functions, training) if training is not None else [])]:
            with progress(f"verifying {f.name}") as begin, without_remarks():
                reports.append(verify_function(f, samples, seed, rtol, gradients, begin, tool == "cc", chosen))
    _show(reports, as_json)
    return Exit.DONE if all(reports) else Exit.WRONG


def _refuse_options_of_models(path: Path) -> None:
    """Raise a Refusal for an option that a library, which is checked with its recorded calls, does not use."""
    context = click.get_current_context(silent=True)
    for name in ("samples", "seed", "rtol", "gradients", "limits"):
        if context is not None and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise Refusal(f"{path}: a library is checked with its recorded calls, without --{name}", "verify the model")


def _show(reports: Sequence[Report], as_json: bool) -> None:
    if as_json:
        show_json({"ok": all(reports), "reports": [report.to_json() for report in reports]})
        return
    for number, report in enumerate(reports):
        show(f"{'' if number == 0 else chr(10)}{report.subject}: {report.summary()}")
        rows = [(f"  {x.name}", x.verdict, f"{x.seconds:.2f} s", x.detail) for x in report.checks]
        rows += [(f"  {what}", verdict, "", detail) for what, verdict, detail in report.gradient_rows()]
        show_table(("  check", "verdict", "time", "detail"), rows, wrap=sys.stdout.isatty())
