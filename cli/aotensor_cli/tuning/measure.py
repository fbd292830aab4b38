"""Compile a candidate, compare its outputs with those of the default schedule, and measure its time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any, Final

from aotensor import Function
from aotensor.api.cost.clock import Timing, time_calls
from aotensor.driver.build import Build
from aotensor.driver.hand import HandSchedule
from aotensor.driver.recipe import Options
from aotensor.errors import AotensorError, ToolError
from aotensor_cli.benching.agreement import difference
from aotensor_runtime import Library

_QUICK: Final = 0.03
"""Seconds after which a candidate is left that is clearly slower."""
_CLEARLY: Final = 1.15
NOISE: Final = 0.985
"""Of the time of the best one: what takes more is not taken for faster."""
WRONG: Final = "gives other values, though it was shown to compute the same"
"""Of a candidate: a bug of the proof."""


@dataclass(frozen=True)
class Setting:
    """The conditions of a measurement.   dims: extents. inputs: arrays by name. threads: that run it"""

    dims: Mapping[str, int]
    inputs: Mapping[str, Any]
    threads: int


class Contender:
    """A compiled candidate on the inputs of every setting."""

    def __init__(self, f: Function, text: str | None, settings: Sequence[Setting]) -> None:
        """text: the nest to compile, None for the compiler's own.   Raises: ScheduleError, AotensorError, ToolError"""
        schedule = None if text is None else HandSchedule(text, f"{f.name}.nest.mlir")
        self.library = Library(Build([f], None, Options(schedule=schedule)).shared)
        compiled = self.library.functions[f.name]
        self.calls = [compiled.bind(**one.inputs, num_threads=one.threads) for one in settings]
        for call in self.calls:
            call()

    def difference(self, other: Contender) -> str | None:
        """Describe the first output that differs from another contender's, None if all agree."""
        found = (difference(ours, theirs) for ours, theirs in zip(self.calls, other.calls, strict=True))
        return next((text for text in found if text is not None), None)


def compared(new: Contender, best: Contender, seconds: float) -> tuple[float, list[tuple[Timing, Timing]]]:
    """The ratio of the new to the best time, the geometric mean over settings, and the times of both.

    They take turns. A new one that is clearly slower is not looked at for long; one that is faster has to be so three
    times, and the worst ratio counts, since other load slows either of them for a while.
    """
    ratios = list[float]()
    for share in (_QUICK / seconds, 1.0, 1.0, 1.0):
        times = []
        for ours, theirs in zip(new.calls, best.calls, strict=True):
            found = time_calls({"new": ours, "best": theirs}, min(share, 1.0) * seconds)
            times.append((found["new"], found["best"]))
        ratios.append(exp(sum(log(a.median / b.median) for a, b in times) / len(times)))
        if ratios[-1] > (_CLEARLY if len(ratios) == 1 else NOISE):
            break
    return max(ratios[1:] or ratios), times


def compiled(f: Function, text: str, settings: Sequence[Setting], own: Contender) -> Contender | str:
    """Compile a candidate whose outputs equal those of the default schedule, or return the reason for its failure.

    Raises: ToolError
    """
    try:
        found = Contender(f, text, settings)
    except ToolError:
        raise
    except AotensorError as error:
        return error.diagnostic.title
    problem = found.difference(own)
    return found if problem is None else f"{WRONG}: {problem}"
