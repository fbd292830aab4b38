"""Check the targets of the table: aotensor against the fastest peer, met or missed, row by row.

A target is met in 0.8 of the time of the best peer, or in all of its time where the row reaches 70 % of a limit of the
machine; and on two cores 1.8 times as fast as on one, where the work is bound by arithmetic and long enough to share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from contenders import OURS
from harness import microseconds

Record: TypeAlias = Mapping[str, Any]

ENOUGH: Final = 0.8
"""Of the time of the best peer."""
AT_LIMIT: Final = 0.7
"""Of a limit of the machine: then the time of the best peer is enough."""
SPEEDUP: Final = 1.8
"""Two cores over one."""
WORTH_SHARING: Final = 50e-6
"""Seconds on one core that work takes at least for two to be asked for more."""
ON_FIXED_BUFFERS: Final = ("C", "CasADi")
"""Called on outputs that are there, and compared with the bound call; the others with the plain one."""


def ours_beside(best: Mapping[str, float], peer: str) -> float:
    """The time of aotensor, called in the same way as the peer."""
    return best["aotensor, bound" if peer in ON_FIXED_BUFFERS else "aotensor"]


@dataclass(frozen=True)
class Standing:
    """The result of a row on a number of cores: the fastest peer, the ratio to it, the share of a limit and the name of
    the limit.
    """

    peer: str
    ratio: float
    share: float | None
    limit: str

    @property
    def is_met(self) -> bool:
        return self.ratio <= (1.0 if (self.share or 0.0) >= AT_LIMIT else ENOUGH)


def standing(record: Record) -> Standing | None:
    """The standing of a record; None for a row without peers."""
    best = record["best"]
    ratios = {
        name: ours_beside(best, name) / seconds for name, seconds in best.items() if name not in (*OURS, "memory")
    }
    if not ratios:
        return None
    peer = max(ratios, key=lambda name: ratios[name])
    share, limit = share_of_limit(record) or (None, "")
    return Standing(peer, ratios[peer], share, limit)


def share_of_limit(record: Record) -> tuple[float, str] | None:
    """The share of a bound call's time that a limit of the machine explains, and the limit; None if not measured."""
    least = record.get("limits")
    if not least:
        return None
    products, others = least.get("GEMM", 0.0), least.get("FMA", 0.0)
    by_name = {name: least.get(name, 0.0) for name in ("stream", "gather")}
    by_name["GEMM" if products > others else "FMA"] = products + others
    name = max(by_name, key=lambda key: by_name[key])
    return by_name[name] / record["best"]["aotensor, bound"], name


def speedup(one: Record, two: Record) -> float:
    """The speed-up of a bound call on two cores."""
    return float(one["best"]["aotensor, bound"] / two["best"]["aotensor, bound"])


def is_shared(one: Record) -> bool:
    """Should two cores be nearly twice as fast? They should if the row is bound by arithmetic and is large enough."""
    found = share_of_limit(one)
    return found is not None and found[1] in ("FMA", "GEMM") and one["best"]["aotensor, bound"] >= WORTH_SHARING


def summary(records: Iterable[Record]) -> str:
    """A table with a line for each row: microseconds, ratios to the fastest peer, and counts of targets met."""
    rows: dict[tuple[float, str], dict[int, Record]] = {}
    for record in records:
        rows.setdefault((record.get("scale", 1.0), record["case"]), {})[record.get("cores", 1)] = record
    numbers = sorted({cores for row in rows.values() for cores in row})
    head = ["case"]
    for cores in numbers:
        head += [f"{_cores(cores)}, µs", "ratio to the fastest peer", "of limit", "target"]
    both = [1, 2] if {1, 2} <= set(numbers) else []
    head += ["two cores / one", "target"] if both else []
    lines, counts = [], dict.fromkeys([*map(_cores, numbers), "twice the cores"], (0, 0))

    def count(key: str, is_met: bool) -> str:
        met, of = counts[key]
        counts[key] = met + is_met, of + 1
        return "met" if is_met else "**missed**"

    for row in rows.values():
        cells = [next(iter(row.values()))["title"]]
        for cores in numbers:
            found = standing(row[cores]) if cores in row else None
            if found is None:
                cells += ["-"] * 4
                continue
            cells += [microseconds(row[cores]["best"]["aotensor, bound"]), f"{found.ratio:.2f} {found.peer}"]
            cells += [shown_share(found.share, found.limit), count(_cores(cores), found.is_met)]
        if both:
            pair = [row.get(cores) for cores in both]
            cells += [f"{speedup(pair[0], pair[1]):.2f}"] if pair[0] and pair[1] else ["-"]
            asked = pair[0] is not None and pair[1] is not None and is_shared(pair[0])
            is_met = asked and speedup(*(one or {} for one in pair)) >= SPEEDUP
            cells += [count("twice the cores", is_met) if asked else "-"]
        lines.append("| " + " | ".join(cells) + " |")
    table = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *lines]
    said = [f"{name}: {met} of {of} met" for name, (met, of) in counts.items() if of]
    return "\n".join([*table, "", "; ".join(said) + "."]) if said else "\n".join(table)


def shown_share(share: float | None, limit: str) -> str:
    """Format a share; rows that reach the limit are marked."""
    if share is None:
        return "-"
    text = f"{100 * share:.0f} % {limit}"
    return f"**{text}**" if share >= AT_LIMIT else text


def _cores(count: int) -> str:
    return {1: "one core", 2: "two cores"}.get(count, f"{count} cores")
