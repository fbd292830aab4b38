"""Compare the time of two calls: they alternate, and the ratio has a confidence interval.

    round 1   old new new old      on buffers of their own
    round 2   new old old new      on other buffers
    ...

A round gives one ratio. A drift of the machine cancels within a round; effects of buffer addresses differ from
round to round, so that it widens the interval. The ratio is the median of the rounds, and its interval that of order
statistics, which assumes no distribution (Conover, Practical Nonparametric Statistics, 1999, section 3.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from statistics import median
from time import perf_counter
from typing import Any, Final, TypeAlias

from aotensor.api.cost.clock import time_loops

_TURN: Final = 0.002
"""Least seconds of a turn."""
_ROUND: Final = 0.04
"""Least seconds of a round, which has several turns of each."""
_FEWEST: Final = 6
"""Least number of rounds: the range of five would contain the median with a probability of 94 % only."""
CONFIDENCE: Final = 0.95

Call: TypeAlias = Callable[[], object]


@dataclass(frozen=True)
class Ratio:
    """new / old in time per call: the median of the rounds, with an interval that holds the true median with a
    probability of `CONFIDENCE`.   old, new: median seconds per call
    """

    ratio: float
    low: float
    high: float
    rounds: int
    old: float
    new: float

    def slowness(self, where: str, most: float) -> str | None:
        """The sentence that `where` is slower, if even the faster end of the interval is so by more than `most` %."""
        if self.low <= 1 + most / 100:
            return None
        longer = [f"{100 * (x - 1):.1f}" for x in (self.ratio, self.low, self.high)]
        return f"{where} takes {longer[0]} % longer ({longer[1]} to {longer[2]}), and {most:g} % are allowed"

    @property
    def range_text(self) -> str:
        """The interval as text: `0.998 to 1.012`"""
        return f"{self.low:.3f} to {self.high:.3f}"

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values, with the verdict."""
        return {**vars(self), "verdict": self.verdict}

    @property
    def verdict(self) -> str:
        """`slower`, `faster`, or `no difference` if the interval contains 1."""
        return "slower" if self.low > 1 else "faster" if self.high < 1 else "no difference"


def in_turns(bind_old: Callable[[], Call], bind_new: Callable[[], Call], seconds: float) -> Ratio:
    """Time both in turns for about `seconds`, six rounds or more.   bind_old, bind_new: return a call on new buffers"""
    rounds: list[tuple[float, float]] = []
    end = perf_counter() + seconds
    loops = 0
    while len(rounds) < _FEWEST or perf_counter() < end:
        is_swapped = len(rounds) % 2 == 1
        binders = (bind_new, bind_old) if is_swapped else (bind_old, bind_new)
        first, second = (bind() for bind in binders)
        once = time_loops(first, 1) + time_loops(second, 1)  # touches the buffers
        loops = loops or max(1, int(2 * _TURN / max(min(once, time_loops(first, 1) + time_loops(second, 1)), 1e-9)))
        times = _round(first, second, loops)
        rounds.append(times[::-1] if is_swapped else times)
    low, high = interval([new / old for old, new in rounds])
    ratio = median(new / old for old, new in rounds)
    return Ratio(ratio, low, high, len(rounds), median(old for old, _ in rounds), median(new for _, new in rounds))


def _round(first: Call, second: Call, loops: int) -> tuple[float, float]:
    """Seconds per call of both, each the shortest of its turns, since other load only adds time."""
    times: tuple[list[float], list[float]] = [], []
    end = perf_counter() + _ROUND
    while not times[0] or perf_counter() < end:
        for which in (0, 1, 1, 0):
            times[which].append(time_loops((first, second)[which], loops))
    return min(times[0]), min(times[1])


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The interval of order statistics that holds the median with a probability of `CONFIDENCE` at least.

    Fewer than six values have no such interval: their whole range is returned.
    """
    found, n = sorted(values), len(values)
    below, rank = 0.0, 0
    while rank < (n - 1) // 2 and (below := below + comb(n, rank) / 2**n) <= (1 - CONFIDENCE) / 2:
        rank += 1
    rank = max(rank - 1, 0)
    return found[rank], found[n - 1 - rank]
