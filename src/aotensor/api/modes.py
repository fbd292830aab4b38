"""Modes in which functions run, and the profile of their calls."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from aotensor.graph.coercion import check_choice

MODES: Final = {
    "FAST_RUN": "compiled",
    "FAST_COMPILE": "reference",
    "DEBUG_MODE": "checked",
    "DebugMode": "checked",
}
"""Mode → how calls run: compiled; by the NumPy reference, without compiling; or both, compared at each call."""


def checked_mode(mode: str | None) -> str:
    """The kind of run that a mode selects.   Raises: GraphValueError for an unknown name."""
    return "compiled" if mode is None else MODES[check_choice("mode", mode, MODES)]


@dataclass
class Profile:
    """Number and wall time of a function's calls, in seconds; the first call includes compiling or loading."""

    calls: int = 0
    seconds: float = 0.0
    first_seconds: float = 0.0

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Within: time the body as one call."""
        start = time.perf_counter()
        yield
        took = time.perf_counter() - start
        if not self.calls:
            self.first_seconds = took
        self.calls += 1
        self.seconds += took

    def __str__(self) -> str:
        later = (self.seconds - self.first_seconds) / max(self.calls - 1, 1)
        return f"{self.calls} calls, first {self.first_seconds:.3g} s, later ones {later:.3g} s each"
