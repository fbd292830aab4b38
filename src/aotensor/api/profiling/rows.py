"""The rows of a profile: lines of the model with their time, and what bounds each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from aotensor.api.cost.limits import Limits
from aotensor.api.profiling.attribution import CALL, WAITING, Charged
from aotensor.api.profiling.line_table import Place
from aotensor.passes.report.line_work import Work

_REACHED: Final = 0.35
"""Part of a limit from which on it is what bounds a line; below, it waits for results or for caches."""
_ELEMENTARY: Final = (4.0, 200.0)
"""Flops of an elementary function, at least and at most, where the total says how many."""


@dataclass(frozen=True)
class Row:
    """A row of a profile: a line of the model, or code of no line.

    share: of the processor time of all threads. forward, derivative: the parts of it. seconds: of a call. rates: bytes
    and flops per second, None where they are not known. bound: "memory", "arithmetic", "gathers" (elements at positions
    that are computed), "latency", "threads", "overhead", or "" where the work is not known. of_limit: of what bounds it
    kernels: name → share of it that is in that kernel or library. shared: the part of the share that is of code which
    LLVM made of several lines, given to them in proportion.
    """

    file: str
    line: int
    name: str
    share: float
    forward: float
    derivative: float
    seconds: float
    rates: tuple[float | None, float | None] = (None, None)
    bound: str = ""
    of_limit: float | None = None
    kernels: dict[str, float] = field(default_factory=dict)
    shared: float = 0.0

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.name

    def to_json(self) -> dict[str, Any]:
        """The row as JSON values, in the schema of docs/profile.md."""
        return {
            "file": self.file,
            "line": self.line,
            "name": self.where,
            "share": self.share,
            "forward": self.forward,
            "derivative": self.derivative,
            "seconds": self.seconds,
            "bytes_per_second": self.rates[0],
            "flops_per_second": self.rates[1],
            "bound": self.bound,
            "share_of_limit": self.of_limit,
            "kernels": self.kernels,
            "shared": self.shared,
        }


def rows_of(
    charged: Charged, seconds: float, work: Mapping[tuple[str, int], Work], flops: float | None, limits: Limits | None
) -> list[Row]:
    """The rows, the largest first.   seconds: of a call. flops: of a call, by the formula of the library"""
    total = charged.total or 1
    places = {(x.file, x.line) for x in charged.owners if isinstance(x, Place)}
    rows = []
    each = _elementary(list(work.values()), flops)
    for file, line in places:
        forward, derivative = (charged.owners[Place(file, line, side)] / total for side in (False, True))
        kernels: dict[str, float] = {}
        for (owner, kernel), weight in charged.kernels.items():
            if kernel and isinstance(owner, Place) and (owner.file, owner.line) == (file, line):
                kernels[kernel] = kernels.get(kernel, 0.0) + weight / total
        share = forward + derivative
        shared = sum(charged.shared[Place(file, line, side)] for side in (False, True)) / total
        row = Row(file, line, "", share, forward, derivative, share * seconds, kernels=kernels, shared=shared)
        rows.append(_bounded(row, work.get((file, line)), each, limits))
    for owner, weight in charged.owners.items():
        if isinstance(owner, str):
            share = weight / total
            bound = {WAITING: "threads", CALL: "overhead"}.get(owner, "")
            rows.append(Row("", 0, owner, share, 0.0, 0.0, share * seconds, bound=bound))
    return sorted(rows, key=lambda row: -row.share)


def _elementary(works: Sequence[Work], flops: float | None) -> float:
    """Operations per call of an elementary function: the rest of the formula's total, divided by their number."""
    calls, rest = sum(x.elementary for x in works), sum(x.flops for x in works)
    if not calls or flops is None:
        return _ELEMENTARY[0]
    return min(max((flops - rest) / calls, _ELEMENTARY[0]), _ELEMENTARY[1])


def _bounded(row: Row, work: Work | None, each: float, limits: Limits | None) -> Row:
    """Add rates to a row, and its bound if limits are known."""
    if work is None or row.seconds <= 0:
        return row
    flops = work.flops + each * work.elementary
    known = bool(work.bytes or flops)
    rates = (work.bytes / row.seconds, flops / row.seconds) if known else (None, None)
    found = Row(**{**vars(row), "rates": rates})
    if limits is None or not known:
        return found
    times = {
        "memory": work.bytes / limits.bandwidth,
        "arithmetic": flops / limits.flops,
        "gathers": work.gathers / limits.gathers,
    }
    bound, least = max(times.items(), key=lambda x: x[1])
    reached = min(least / row.seconds, 1.0)
    return Row(**{**vars(found), "bound": bound if reached >= _REACHED else "latency", "of_limit": reached})
