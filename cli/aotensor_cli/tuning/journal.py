"""Record measurements in a file, so that an interrupted search resumes.

One JSON object in each line: first what the search is about, then a trial in each. A line that was cut off, as the
process was stopped while it wrote, is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aotensor.codegen.files import write_file
from aotensor_cli.options import Refusal
from aotensor_cli.tuning.candidates import Candidate
from aotensor_runtime.systems.scratch import writes_to


@dataclass(frozen=True)
class Trial:
    """A candidate and its measurement.

    ratio: its time in units of the best one before it, None where there is none. reason: why. is_better: it is the best
    since. seconds: per call, in each setting
    """

    candidate: Candidate
    ratio: float | None
    reason: str = ""
    is_better: bool = False
    seconds: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        known = {"ratio": self.ratio, "reason": self.reason, "better": self.is_better, "seconds": list(self.seconds)}
        return self.candidate.to_json() | known

    @staticmethod
    def from_json(tree: Mapping[str, Any]) -> Trial:
        """Parse JSON values.   Raises: KeyError, TypeError, ValueError for an invalid trial"""
        ratio = tree["ratio"]
        return Trial(
            Candidate.from_json(tree), None if ratio is None else float(ratio), str(tree["reason"]),
            bool(tree["better"]), tuple(map(float, tree["seconds"])),
        )  # fmt: skip


class Journal:
    """The trials of a search about `subject`: function, sizes, threads, machine, compiler, the nest it starts from."""

    def __init__(self, path: Path, subject: Mapping[str, Any]) -> None:
        """Read an existing journal.   Raises: Refusal of a file that is not a journal, OSError"""
        self.path, self.subject = path, dict(subject)
        self.trials: list[Trial] = []
        self.other: list[str] = []
        """What in the subject is otherwise than in the file, whose trials therefore tell nothing."""
        if path.exists():
            self._read(path.read_text(encoding="utf-8", errors="replace"))

    def _read(self, text: str) -> None:
        first, *rest = text.splitlines() or [""]
        try:
            subject = json.loads(first)["tuning"]
            self.other = [key for key, value in self.subject.items() if subject.get(key) != value]
            if self.other:
                return
            whole = rest if text.endswith("\n") else rest[:-1]
            self.trials = [Trial.from_json(json.loads(line)) for line in whole]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"{self.path}: this is not the journal of a search"
            raise Refusal(message, "move it away, or give --restart") from error

    def begin(self) -> None:
        """Write the subject of the search and the known trials.   Raises: ToolError"""
        lines = [{"tuning": self.subject}, *(trial.to_json() for trial in self.trials)]
        with self._writing():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_file(self.path, "".join(json.dumps(line) + "\n" for line in lines).encode())

    def add(self, trial: Trial) -> None:
        """Append a trial.   Raises: ToolError"""
        self.trials.append(trial)
        with self._writing(), self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(trial.to_json()) + "\n")

    def _writing(self) -> AbstractContextManager[None]:
        return writes_to(self.path.parent, "folder of the journal", "free some space there, or give another -o")

    @property
    def best(self) -> Candidate:
        """The best trial so far."""
        return next((trial.candidate for trial in reversed(self.trials) if trial.is_better), Candidate())
