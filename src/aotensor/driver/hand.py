"""A schedule written by hand: nest text with a name."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import PurePath


@dataclass(frozen=True)
class HandSchedule:
    """The text of a loop nest to be compiled instead of the generated one.   name: of its file, for messages,
    manifest
    """

    text: str
    name: str = "schedule"

    @property
    def label(self) -> str:
        """The label in the manifest: `logistic.nest.mlir sha256:4f6c...`."""
        return f"{PurePath(self.name).name} sha256:{hashlib.sha256(self.text.encode()).hexdigest()}"


def schedule_note(label: str) -> str:
    """The sentence before the remarks of a library compiled with a schedule.   label: of the schedule, or empty"""
    name = label.partition(" sha256:")[0]
    return f"compiled with the schedule {name}; remarks about its loops describe the nest before it" if label else ""
