"""The report of a verification: one row per check."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from aotensor.errors import AotensorError, ToolError
from aotensor.verification.derivatives.verdict import Gradient, Verdict, concluded
from aotensor_runtime.notebook.html import card, table

_MARKS: Final = {"ok": "✓", "right": "✓", "failed": "✗", "wrong": "✗"}


class CheckFailed(Exception):
    """Raised by a check that failed; the text says why."""


class CheckSkipped(Exception):
    """Raised by a check that cannot run; the text says why."""


@dataclass(frozen=True)
class Check:
    """One check.   verdict: "ok", "failed" or "skipped"; seconds: of wall time"""

    name: str
    verdict: str
    detail: str
    seconds: float


@dataclass
class Report:
    """All checks of one subject. It is falsy if a check failed; as text it is a table."""

    subject: str
    checks: list[Check] = field(default_factory=list)
    gradients: list[Gradient] = field(default_factory=list)

    def __bool__(self) -> bool:
        return not any(check.verdict == "failed" for check in self.checks)

    def __str__(self) -> str:
        rows = [*((x.name, x.verdict, x.detail) for x in self.checks), *self.gradient_rows()]
        widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
        lines = [f"{name:<{widths[0]}}  {verdict:<{widths[1]}}  {detail}".rstrip() for name, verdict, detail in rows]
        return "\n".join([f"{self.subject}: {self.summary()}", *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        """HTML for notebooks: the table, with a mark for each verdict and the time of each check."""
        seconds = [f"{x.seconds:.2g} s" for x in self.checks]
        told = [(x.name, x.verdict, x.detail) for x in self.checks]
        times = [*seconds, *("" for _ in self.gradient_rows())]
        rows = [
            (_MARKS.get(verdict, "?"), name, verdict, detail, time)
            for (name, verdict, detail), time in zip([*told, *self.gradient_rows()], times, strict=True)
        ]
        return card(self.subject, self.summary(), table(["", "check", "verdict", "what was found", "time"], rows))

    def gradient_rows(self) -> list[tuple[str, str, str]]:
        """(pair, verdict, detail): a row for all inputs of an output that share verdict and detail.

        The figures of several right gradients are the worst among them, per method.
        """
        groups: dict[tuple[str, str, str], list[Gradient]] = {}
        for x in self.gradients:
            told = x.verdict.value if x.verdict is Verdict.RIGHT else x.detail
            groups.setdefault((x.output, x.verdict.value, told), []).append(x)
        rows = []
        for (output, verdict, _), group in groups.items():
            first, inputs = group[0], ", ".join(x.input for x in group)
            detail = first.detail
            if first.verdict is Verdict.RIGHT and any(x.findings for x in group):
                _, detail = concluded([finding for x in group for finding in x.findings])
            blame = f"; first wrong: {first.culprit}" if first.culprit else ""
            rows.append((f"{output} by {inputs}", verdict, detail + blame))
        return rows

    def summary(self) -> str:
        """The number of checks by verdict: `8 checks ok, 1 failed`"""
        verdicts = [check.verdict for check in self.checks]
        counts = [(verdicts.count(verdict), verdict) for verdict in ("ok", "failed", "skipped")]
        return ", ".join(f"{count} {verdict}" for count, verdict in counts if count)

    def to_json(self) -> dict[str, Any]:
        """The report as plain values."""
        checks = [{"name": x.name, "verdict": x.verdict, "detail": x.detail, "seconds": x.seconds} for x in self.checks]
        gradients = [x.to_json() for x in self.gradients]
        return {"subject": self.subject, "ok": bool(self), "checks": checks, "gradients": gradients}

    def run(self, name: str, check: Callable[[], str]) -> bool:
        """Run one check, which returns its detail or raises; true unless it failed.

        Raises: ToolError if the check could not be made, as for a full disk: that tells nothing about the function.
        """
        start = time.perf_counter()
        try:
            verdict, detail = "ok", check()
        except CheckSkipped as reason:
            verdict, detail = "skipped", str(reason)
        except CheckFailed as problem:
            verdict, detail = "failed", str(problem)
        except ToolError:
            raise
        except AotensorError as error:
            verdict, detail = "failed", error.diagnostic.title
        except Exception as error:
            verdict, detail = "failed", f"{type(error).__name__}: {error}".splitlines()[0]
        self.checks.append(Check(name, verdict, detail, time.perf_counter() - start))
        return verdict != "failed"
