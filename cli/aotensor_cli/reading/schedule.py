"""Read schedules from files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from aotensor.driver.hand import HandSchedule
from aotensor.errors import ScheduleError
from aotensor_cli.options import Refusal

_OPTIONS: Final = {
    "target": "--target", "cpu": "--cpu", "features": "--features", "passes": "--passes", "disabled": "--disable-pass",
    "check": "--check", "grad": "--grad", "hvp": "--hvp",
}  # fmt: skip
"""By which the compiler's own nest differs."""


def read_schedule(path: Path | None) -> HandSchedule | None:
    """Read the schedule in a file.   Raises: Refusal of a file that is not text"""
    if path is None:
        return None
    try:
        return HandSchedule(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as error:
        hint = "a schedule is what `aotensor compile --emit nest` of this version prints, edited"
        raise Refusal(f"{path}: this is not text", hint) from error


@contextmanager
def naming_options(flags: Mapping[str, Any]) -> Iterator[None]:
    """Add the compile options to the refusal of a schedule, since it may be valid under other options."""
    try:
        yield
    except ScheduleError as error:
        given = [_written(option, flags[key]) for key, option in _OPTIONS.items() if flags[key]]
        given += [f"--fp {flags['fp']}"] if flags["fp"] != "contract" else []
        if given:
            hint = f"the loops of the compiler differ by {', '.join(given)}: write the schedule with the same options"
            error.diagnostic = replace(error.diagnostic, hint=hint)
        raise


def _written(option: str, value: Any) -> str:
    if value is True:
        return option
    return " ".join(f"{option} {x}" for x in ([value] if isinstance(value, str) else value))
