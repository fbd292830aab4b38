"""Verdicts on gradients: right, wrong, or too noisy to tell, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final


class Verdict(Enum):
    """Verdict on one gradient."""

    RIGHT = "right"
    WRONG = "wrong"
    NOISY = "too noisy to tell"


CONCLUSIVE: Final = ("differences", "Taylor order", "complex step")
"""Methods that compare with the function itself. Duality compares the two modes, which may both be wrong."""


@dataclass(frozen=True)
class Judgement:
    """A verdict with its evidence.

    detail: the figure of a right one, figures or reason of others. badness: larger for the worse of two right
    ones of a method, by relative error or falling order.
    """

    verdict: Verdict
    detail: str
    badness: float = field(default=0.0, compare=False)

    @classmethod
    def right(cls, difference: float, size: float) -> Judgement:
        """The judgement that a derivative is right to within a difference, relative to `size`."""
        error = difference / size if size else 0.0
        return cls(Verdict.RIGHT, f"{error:.0e}", error)


@dataclass(frozen=True)
class Finding:
    """The judgement of a gradient at a point.   execution: "reference" or "compiled", which computed the gradient"""

    output: str
    input: str
    method: str
    execution: str
    judgement: Judgement

    @property
    def verdict(self) -> Verdict:
        return self.judgement.verdict

    def __str__(self) -> str:
        return f"{self.output} by {self.input} ({self.execution}): {self.judgement.detail}"


@dataclass(frozen=True)
class Gradient:
    """The verdict on ∂output/∂input from all methods, points and executions.

    detail: figures of a right one, the difference of a wrong one, the reason why others are undecided.
    culprit: the first op of the graph with a wrong derivative, if one was found.
    """

    output: str
    input: str
    verdict: Verdict
    detail: str
    findings: tuple[Finding, ...]
    culprit: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The gradient as plain values, with the worst finding of each method and execution."""
        methods = [
            {"method": x.method, "execution": x.execution, "verdict": x.verdict.value, "detail": x.judgement.detail}
            for x in worst_of_each(self.findings)
        ]
        known = {"output": self.output, "input": self.input, "verdict": self.verdict.value, "detail": self.detail}
        return known | {"culprit": self.culprit, "methods": methods}


def worst_of_each(findings: Iterable[Finding]) -> list[Finding]:
    """Per method and execution: a wrong finding, else the worst of the right ones, else a noisy one."""
    chosen: dict[tuple[str, str], Finding] = {}
    for x in findings:
        key = x.method, x.execution
        if key not in chosen or _rank(x) < _rank(chosen[key]):
            chosen[key] = x
    return list(chosen.values())


def _rank(x: Finding) -> tuple[int, float]:
    return (Verdict.WRONG, Verdict.RIGHT, Verdict.NOISY).index(x.verdict), -x.judgement.badness


def concluded(findings: Sequence[Finding]) -> tuple[Verdict, str]:
    """One verdict from all findings of a gradient: wrong if one finding is wrong, else right if one is conclusive."""
    worst = worst_of_each(findings)
    wrong = [x for x in worst if x.verdict is Verdict.WRONG]
    if wrong:
        x = wrong[0]
        return Verdict.WRONG, f"{x.method} ({x.execution}): {x.judgement.detail}"
    right = [x for x in worst if x.verdict is Verdict.RIGHT]
    if any(x.method in CONCLUSIVE for x in right):
        return Verdict.RIGHT, _figures(right)
    noisy = [x.judgement.detail for x in worst if x.verdict is Verdict.NOISY and x.method in CONCLUSIVE]
    return Verdict.NOISY, (noisy or ["nothing could be compared"])[0]


def _figures(right: Sequence[Finding]) -> str:
    """The figures of right judgements, per execution: `order 2.00, differences 1e-10, duality 1e-16; compiled: …`"""
    parts = []
    for execution in dict.fromkeys(x.execution for x in right):
        figures = ", ".join(
            x.judgement.detail if x.method == "Taylor order" else f"{x.method} {x.judgement.detail}"
            for x in right
            if x.execution == execution
        )
        parts.append(figures if execution == "reference" else f"{execution}: {figures}")
    return "; ".join(parts)
