"""A long run: batches until enough cases or seconds have passed, with progress and findings as files."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO


@dataclass
class Campaign:
    """Counts cases and keeps findings.

    what: "graphs", "artifacts" or "structures".   folder: where reports go, one text file each;   None keeps none.
    """

    what: str
    cases: int
    seconds: float
    seed: int
    folder: Path | None = None
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    done: int = 0
    found: dict[str, list[str]] = field(default_factory=dict)
    _start: float = field(default_factory=time.monotonic)
    _shown: float = 0.0

    def batches(self, size: int) -> Iterator[range]:
        """The seeds of each batch, until enough cases or seconds have passed."""
        while self.done < self.cases and time.monotonic() - self._start < self.seconds:
            first = self.seed + self.done
            yield range(first, first + min(size, self.cases - self.done))
            self.done += min(size, self.cases - self.done)
            self._say()

    def add(self, signature: str, report: Callable[[], str]) -> None:
        """Add a finding; the first few of a kind are reported."""
        known = self.found.setdefault(signature, [])
        if len(known) < 3:
            text = report()
            known.append(text)
            print(f"\n== {self.what}: {signature}\n{text}\n", file=self.stream, flush=True)
            if self.folder is not None:
                self.folder.mkdir(parents=True, exist_ok=True)
                number = len(list(self.folder.glob(f"{self.what}-*.txt")))
                (self.folder / f"{self.what}-{number:03}.txt").write_text(f"{signature}\n{text}\n", encoding="utf-8")
        else:
            known.append("")

    def _say(self) -> None:
        now = time.monotonic()
        if now - self._shown < 10 and self.done < self.cases:
            return
        self._shown = now
        rate = self.done / max(now - self._start, 1e-9)
        counts = json.dumps({signature: len(texts) for signature, texts in self.found.items()})
        place = f"{self.done} of {self.cases} cases, {rate:.1f} per second, next --seed {self.seed + self.done}"
        print(f"{self.what}: {place}, found {counts}", file=self.stream, flush=True)
