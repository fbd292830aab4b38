"""Write the result of a search as a Markdown page next to the schedule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from aotensor.api.cost.inputs import dims_text
from aotensor_cli.terminal.render import time_text
from aotensor_cli.tuning.candidates import Candidate
from aotensor_cli.tuning.journal import Trial
from aotensor_cli.tuning.measure import WRONG, Setting
from aotensor_cli.tuning.search import BestCandidate

_SHOWN = 12


def report(
    name: str, subject: Mapping[str, Any], settings: Sequence[Setting], found: BestCandidate, trials: Sequence[Trial],
    loops: Sequence[str],
) -> str:  # fmt: skip
    """The page of one function.

    subject: what the search is about. loops: of the nest that was found, one line each
    """
    measured = [trial for trial in trials if trial.ratio is not None]
    lines = [f"## {name}", "", f"On {subject['machine']}, by aotensor {subject['version']}.", ""]
    lines += ["| sizes | threads | compiler's own | tuned | ratio |", "|---|---:|---:|---:|---:|"]
    lines += [
        f"| {dims_text(one.dims) or '-'} | {one.threads} | {time_text(own)} | {time_text(best)} | {best / own:.2f} |"
        for one, own, best in zip(settings, found.own, found.best, strict=True)
    ]
    lines += ["", f"Chosen: `{found.candidate}`", "", "```text", *loops, "```", ""]
    reasons = Counter(_kind(trial.reason) for trial in trials if trial.ratio is None)
    counts = ", ".join(f"{count} {what}" for what, count in reasons.most_common())
    ended = "nothing was left to try" if found.is_done else "the time was over"
    lines += [f"{len(trials)} trials: {len(measured)} measured{', ' + counts if counts else ''}; {ended}.", ""]
    if measured:
        lines += ["| time, of the best before | trial |", "|---:|---|"]
        best = sorted(measured, key=lambda trial: trial.ratio or 0.0)[:_SHOWN]
        lines += [f"| {x.ratio:.3f}{' (taken)' if x.is_better else ''} | `{x.candidate}` |" for x in best]
        lines.append("")
    refused = [trial for trial in trials if _kind(trial.reason) == "refused" and trial.ratio is None]
    if refused:
        lines += ["Refused, as the proof does not reach them or they would be wrong:", ""]
        lines += [f"- `{trial.candidate}`: {trial.reason}" for trial in refused[:_SHOWN]]
        lines += [f"- and {len(refused) - _SHOWN} more"] if len(refused) > _SHOWN else []
        lines.append("")
    return "\n".join(lines) + "\n"


def wrong(trials: Sequence[Trial]) -> list[Candidate]:
    """Candidates whose outputs differ from those of the default schedule."""
    return [trial.candidate for trial in trials if trial.reason.startswith(WRONG)]


def _kind(reason: str) -> str:
    return (
        "the same as others"
        if reason.startswith("the same nest")
        else "wrong"
        if reason.startswith(WRONG)
        else "refused"
    )
