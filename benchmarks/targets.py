"""Check the targets of the table: aotensor against the fastest peer, met or missed, row by row.

A target is met in 0.8 of the time of the best peer (0.95 for sparse programs, `CLAIMED` for some cases), or at 80 % of
a limit of the machine; and on two cores 1.8 times as fast as on one, where the work is bound by arithmetic and long
enough to share. A limit that a contender beats is left out: then its kernel is too slow to be one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from cases import SPARSE_CASES
from contenders import OURS
from harness import microseconds

Record: TypeAlias = Mapping[str, Any]

ENOUGH: Final = 0.8
"""Of the time of the best peer."""
ENOUGH_SPARSE: Final = 0.95
"""The same for sparse programs."""
CLAIMED: Final = {
    **dict.fromkeys(("topk", "largest", "median", "gammainc", "betainc", "jv"), 0.5),
    **dict.fromkeys(("conv2d-gradient", "rigid-body"), 0.9),
    **dict.fromkeys(("sparse-logistic", "hessian-values"), 0.8),
}
"""Case → its own target, of the time of the best peer."""
AT_LIMIT: Final = 0.8
"""Of a limit of the machine: then no peer needs to be slower."""
BEATEN: Final = 1.05
"""A limit that exceeds the time of a contender by this factor is not one."""
SPEEDUP: Final = 1.8
"""Two cores over one."""
WORTH_SHARING: Final = 50e-6
"""Seconds on one core that work takes at least for two to be asked for more."""
ON_FIXED_BUFFERS: Final = ("C", "CasADi", "onnxruntime", "single calls")
"""Called on outputs that are there, and compared with the bound call; the others with the plain one."""


def ours_beside(best: Mapping[str, float], peer: str) -> float:
    """The time of aotensor, called in the same way as the peer."""
    return best["aotensor, bound" if peer in ON_FIXED_BUFFERS else "aotensor"]


@dataclass(frozen=True)
class Standing:
    """The result of a row on a number of cores: the fastest peer, the ratio to it, the share of a limit and its name.

    target: the ratio that is asked for.
    """

    peer: str
    ratio: float
    share: float | None
    limit: str
    target: float = ENOUGH

    @property
    def is_met(self) -> bool:
        return self.ratio <= self.target or (self.share or 0.0) >= AT_LIMIT


def target_of(case: str) -> float:
    """The share of the best peer's time in which a case meets its target."""
    return CLAIMED.get(case, ENOUGH_SPARSE if case in SPARSE_CASES else ENOUGH)


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
    return Standing(peer, ratios[peer], share, limit, target_of(record["case"]))


def share_of_limit(record: Record) -> tuple[float, str] | None:
    """The share of a bound call's time that a limit of the machine explains, and the limit; None if not measured.

    Limits that a contender beats are left out.
    """
    fastest = min(record["best"].values())
    least = {name: seconds for name, seconds in _limits(record).items() if seconds <= BEATEN * fastest}
    if not least:
        return None
    name = max(least, key=lambda key: least[key])
    return least[name] / record["best"]["aotensor, bound"], name


def _limits(record: Record) -> dict[str, float]:
    """The least seconds by each limit; the arithmetic of products and of everything else is one limit."""
    least = record.get("limits")
    if not least:
        return {}
    products, others = least.get("GEMM", 0.0), least.get("FMA", 0.0)
    by_name = {name: least.get(name, 0.0) for name in ("stream", "gather")}
    by_name["GEMM" if products > others else "FMA"] = products + others
    return by_name


def speedup(one: Record, two: Record) -> float:
    """The speed-up of a bound call on two cores."""
    return float(one["best"]["aotensor, bound"] / two["best"]["aotensor, bound"])


def is_shared(one: Record) -> bool:
    """Should two cores be nearly twice as fast? They should if the row is bound by arithmetic and is large enough."""
    least = _limits(one)
    return (
        bool(least)
        and max(least, key=lambda key: least[key]) in ("FMA", "GEMM")
        and one["best"]["aotensor, bound"] >= WORTH_SHARING
    )


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
