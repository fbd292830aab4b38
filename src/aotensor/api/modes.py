"""How a function is run, and what is noted about its calls."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from aotensor.graph.coercion import one_of

MODES: Final = {
    "FAST_RUN": "compiled",
    "FAST_COMPILE": "reference",
    "DEBUG_MODE": "checked",
    "DebugMode": "checked",
}
"""Name of a mode → how calls run: compiled; by the NumPy reference, without compiling; or both, compared each time."""


def checked_mode(mode: str | None) -> str:
    """How calls of a mode run.   Raises: GraphValueError for an unknown name."""
    return "compiled" if mode is None else MODES[one_of("mode", mode, MODES)]


@dataclass
class Profile:
    """What the calls of a function took, in seconds of wall time; the first call includes compiling or loading."""

    calls: int = 0
    seconds: float = 0.0
    first_seconds: float = 0.0

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Count what runs inside as one call."""
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
