"""Schedules by hand: from a file, or by methods that edit the compiler's nest text."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from aotensor.driver.definition import Definition
from aotensor.driver.hand import HandSchedule
from aotensor.errors import AotensorError, GraphTypeError, ScheduleError
from aotensor_runtime.notebook.html import card, code

if TYPE_CHECKING:
    from aotensor.passes.schedule.edit import Edit


class Schedule:
    """The loops of a function: those of the compiler, with edits. Immutable; edits return new schedules.

    `print(f.schedule)` lists the loops by name: the dim of a loop, `n`, then `n.1`, `n.2` in the order of
    the text; `n.blocks` and `n.chunks` iterate over blocks of it, `entries` over stored entries, `i` over others.

    >>> fast = f.schedule.tile("n", 64).jam("n.1", 8)
    >>> aot.compile(f, "build", schedule=fast)
    """

    def __init__(self, function: Definition, edits: tuple[Edit, ...] = ()) -> None:
        self._function = function
        self._edits = edits

    def tile(self, loop: str, size: int) -> Schedule:
        """Tile loop `loop`: a new outer loop `<loop>.tiles` iterates over tiles of `size` iterations."""
        return self._with("tile", loop, _count(size, "tile", "size"))

    def block(self, loop: str, size: int) -> Schedule:
        """Set the size of the blocks, chunks or tiles of loop `loop` to `size` iterations."""
        return self._with("block", loop, _count(size, "block", "size"))

    def interchange(self, outer: str, inner: str) -> Schedule:
        """Interchange loops: `inner`, the only statement in `outer`, becomes the outer loop."""
        return self._with("interchange", outer, inner)

    def fuse(self, first: str, second: str) -> Schedule:
        """Fuse loop `second` into `first`: each iteration runs the body of `first`, then that of `second`."""
        return self._with("fuse", first, second)

    def jam(self, loop: str, by: int) -> Schedule:
        """Unroll and jam: `count` iterations of a loop share one run of its inner loops; 1 turns it off."""
        return self._with("jam", loop, _count(by, "jam", "by"))

    def vectorize(self, loop: str, lanes: int) -> Schedule:
        """Vectorise a loop by `count` iterations, the remainder under a mask; 1 leaves vectorisation to LLVM."""
        return self._with("vectorize", loop, _count(lanes, "vectorize", "lanes"))

    def text(self) -> str:
        """The edited nest, for `aotensor compile --schedule`.   Raises: ScheduleError for an edit that does not fit"""
        from aotensor.driver.schedule_edits import edited_nest

        return edited_nest(self._function, self._edits)

    def check(self) -> None:
        """Verify that the edited loops compute the function.   Raises: ScheduleError with the reason and the place"""
        from aotensor.driver.recipe import Options, lower

        lower([self._function], Options(schedule=self.written()), texts=())

    def written(self) -> HandSchedule:
        """The nest text with a name, as a hand schedule."""
        return HandSchedule(self.text(), f"{self._function.name}.nest.mlir")

    def _with(self, name: str, *told: str | int) -> Schedule:
        for x in told:
            if not isinstance(x, str | int):
                raise GraphTypeError(f"{name}: the name of a loop must be a str, not {x!r:.60}")
        return Schedule(self._function, (*self._edits, (name, told)))

    def __str__(self) -> str:
        from aotensor.driver.schedule_edits import loops_of_nest

        return "\n".join(loops_of_nest(self._function, self._edits))

    def _repr_html_(self) -> str:
        """HTML for notebooks: the loops with their schedule, or the error of an edit that does not apply."""
        try:
            shown = code(str(self), 40_000)
        except AotensorError as error:
            shown = code(f"this schedule does not fit:\n{error}")
        return card(f"loops of {self._function.name}", repr(self)[1:-1] if self._edits else "", shown)

    def __repr__(self) -> str:
        calls = "".join(f".{name}({', '.join(map(repr, told))})" for name, told in self._edits)
        return f"<{self._function.name}.schedule{calls}>"


def hand_schedule(given: str | os.PathLike[str] | Schedule) -> HandSchedule:
    """Convert a user's schedule.   Raises: GraphTypeError, ScheduleError for a file that is not text, OSError"""
    if isinstance(given, Schedule):
        return given.written()
    if not isinstance(given, str | os.PathLike):
        raise GraphTypeError(f"schedule must be a path or a Schedule, not {given!r:.60}")
    if "\n" in os.fspath(given):
        raise ScheduleError("schedule must be the path of a file of nest text, not the text", hint="write it to a file")
    path = Path(given)
    try:
        return HandSchedule(path.read_text(encoding="utf-8"), path.name)
    except UnicodeDecodeError as error:
        raise ScheduleError(f"{path}: this is not text") from error


def _count(value: int, method: str, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise GraphTypeError(f"{method}: {what} must be an int, not {value!r:.60}")
    if not 1 <= value < 1 << 31:
        raise ScheduleError(f"{method}: {what} must be a number of iterations, at least 1, not {value}")
    return value
