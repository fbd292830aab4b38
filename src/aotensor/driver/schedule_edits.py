"""The loop nest that passes generate for a function, after edits by loop name."""

from __future__ import annotations

from collections.abc import Sequence

from aotensor.driver.definition import Definition
from aotensor.driver.recipe import stage_text
from aotensor.passes.schedule.edit import Edit, apply_edits, described


def edited_nest(f: Definition, edits: Sequence[Edit]) -> str:
    """The nest text after all edits.   Raises: ScheduleError for an edit that does not fit"""
    return apply_edits(stage_text([f], "nest"), edits)


def loops_of_nest(f: Definition, edits: Sequence[Edit]) -> list[str]:
    """The loops of the nest after all edits, one line each.   Raises: as `edited_nest`"""
    return described(stage_text([f], "nest"), edits)
