"""Hill climbing over schedules: first the passes one by one, then the loops of the best nest, longest first.

A hill climb: a better candidate is taken at once, and its neighbours are tried next. It ends when the time is over, or
when nothing is left that was not tried. Equal texts are compiled once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final

from aotensor import Function
from aotensor.errors import ToolError
from aotensor_cli.tuning.candidates import Candidate, roots
from aotensor_cli.tuning.journal import Journal, Trial
from aotensor_cli.tuning.measure import NOISE, Contender, Setting, compared, compiled
from aotensor_runtime.errors import AotensorError

_TURNS: Final = 0.15
"""Seconds for which a candidate and the best one take turns, each."""


@dataclass(frozen=True)
class BestCandidate:
    """The best candidate and its nest; own: seconds per call of the compiler's own in each setting, then those of the
    best. ratio: of both, the geometric mean; is_done: nothing was left to try.
    """

    candidate: Candidate
    text: str
    own: tuple[float, ...]
    best: tuple[float, ...]
    ratio: float
    is_done: bool


class Search:
    """A search for the best schedule of a function in given settings.

    trying: is told what is tried, and how much time is left. better: is told of each that is better than all before
    """

    def __init__(
        self,
        f: Function,
        settings: Sequence[Setting],
        journal: Journal,
        trying: Callable[[str], None] = lambda text: None,
        better: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.function, self.settings, self.journal, self.trying, self.better = f, settings, journal, trying, better
        self.tried = {Candidate(), *(trial.candidate for trial in journal.trials)}
        self.texts: dict[str, Candidate] = {}
        self.neighbours: list[Candidate] | None = None
        self.own = Contender(f, None, settings)
        self.best, self.candidate, self.text = self.own, Candidate(), Candidate().text(f)
        self.texts[_digest(self.text)] = self.candidate
        if journal.best != self.candidate:
            self._take_up(journal.best)

    def _take_up(self, candidate: Candidate) -> None:
        """Resume from the best candidate of an earlier search if it still compiles."""
        text = candidate.text(self.function)
        contender = compiled(self.function, text, self.settings, self.own)
        if isinstance(contender, Contender):
            self.best, self.candidate, self.text = contender, candidate, text

    def run(self, seconds: float) -> BestCandidate:
        """Search for that many seconds.   Ctrl-C ends it, too.   Raises: ToolError, OSError"""
        end = monotonic() + seconds
        is_done = False
        try:
            while monotonic() < end:
                candidate = self._next()
                if candidate is None:
                    is_done = True
                    break
                self._try(candidate, end)
        except KeyboardInterrupt:
            self.better("stopped")
        return self._found(is_done)

    def _next(self) -> Candidate | None:
        """The most promising candidate that was not tried yet."""
        if self.neighbours is None:
            found = (self.candidate.next(self.text, x.dims, x.threads) for x in self.settings)
            self.neighbours = [*roots(self.function), *(x for one in found for x in one)]
        self.neighbours = [x for x in self.neighbours if x not in self.tried]
        return self.neighbours[0] if self.neighbours else None

    def _try(self, candidate: Candidate, end: float) -> None:
        self.tried.add(candidate)
        self.trying(f"{len(self.journal.trials) + 1} trials, {end - monotonic():.0f} s left: {candidate}")
        try:
            text = candidate.text(self.function)
        except ToolError:
            raise
        except AotensorError as error:
            self.journal.add(Trial(candidate, None, error.diagnostic.title))
            return
        known = self.texts.setdefault(_digest(text), candidate)
        if known is not candidate:
            self.journal.add(Trial(candidate, None, f"the same nest as {known}"))
            return
        contender = compiled(self.function, text, self.settings, self.own)
        if isinstance(contender, str):
            self.journal.add(Trial(candidate, None, contender))
            return
        ratio, times = compared(contender, self.best, _TURNS)
        is_better = ratio < NOISE
        self.journal.add(Trial(candidate, ratio, "", is_better, tuple(new.median for new, _ in times)))
        if is_better:
            self.best, self.candidate, self.text, self.neighbours = contender, candidate, text, None
            self.better(f"{ratio:.3f} of the best time so far: {candidate}")

    def _found(self, is_done: bool) -> BestCandidate:
        """Measure the best candidate against the default schedule again and longer; return the default if it is no
        faster.
        """
        if self.best is not self.own:
            ratio, times = compared(self.best, self.own, 4 * _TURNS)
            if ratio < NOISE:
                own, best = tuple(b.median for _, b in times), tuple(a.median for a, _ in times)
                return BestCandidate(self.candidate, self.text, own, best, ratio, is_done)
        _, times = compared(self.own, self.own, _TURNS)
        own = tuple(b.median for _, b in times)
        return BestCandidate(Candidate(), Candidate().text(self.function), own, own, 1.0, is_done)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
