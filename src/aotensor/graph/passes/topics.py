"""Topics of remarks, by which readers group the decisions of passes."""

from __future__ import annotations

from typing import Final

from aotensor.graph.passes.steps import OTHERS, STEPS
from aotensor.graph.passes.steps import TOPICS as _ORDER

_OF_PASS: Final = {**dict.fromkeys(OTHERS, "arithmetic"), **{step.name: step.topic for step in STEPS}}
TOPICS: Final = {topic: tuple(name for name, of in _OF_PASS.items() if of == topic) for topic in _ORDER}
"""Topic → what gives its remarks, both in reading order."""


def topic_of(pass_name: str) -> str:
    """The topic of a pass; "other" for an unknown one, as in a library of another version."""
    return _OF_PASS.get(pass_name, "other")
