"""Schedules as users give them."""

from __future__ import annotations

from pathlib import Path

from aotensor.driver.hand import HandSchedule
from aotensor_cli.options import Refusal


def read_schedule(path: Path | None) -> HandSchedule | None:
    """The schedule in a file.   Raises: Refusal of a file that is no text"""
    if path is None:
        return None
    try:
        return HandSchedule(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as error:
        hint = "a schedule is what `aotensor compile --emit nest --short` prints, edited"
        raise Refusal(f"{path}: this is no text", hint) from error
