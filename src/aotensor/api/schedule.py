"""Schedules by hand, as users make them: from a file, or with methods that write the text of one."""

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
    """How the loops of a function run: those that the compiler makes, with edits. It never changes; edits give others.

    `print(f.schedule)` lists the loops by name: the dim that a loop goes over, `n`, then `n.1`, `n.2` in the order of
    the text; `n.blocks` and `n.chunks` go over blocks of it, `entries` over stored entries, `i` over what has no name.

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
        """The blocks, chunks or tiles that loop `loop` goes over have `size` iterations."""
        return self._with("block", loop, _count(size, "block", "size"))

    def interchange(self, outer: str, inner: str) -> Schedule:
        """Loop `inner`, which is all that is in `outer`, runs around it."""
        return self._with("interchange", outer, inner)

    def fuse(self, first: str, second: str) -> Schedule:
        """What loop `second` does is done in `first`, in each iteration behind what that does."""
        return self._with("fuse", first, second)

    def jam(self, loop: str, by: int) -> Schedule:
        """So many iterations of a loop advance together through the loops inside; 1 for one after the other."""
        return self._with("jam", loop, _count(by, "jam", "by"))

    def vectorize(self, loop: str, lanes: int) -> Schedule:
        """So many iterations of a loop are a vector, the last ones under a mask; 1 leaves vectors to LLVM."""
        return self._with("vectorize", loop, _count(lanes, "vectorize", "lanes"))

    def text(self) -> str:
        """The nest as text, for `aotensor compile --schedule`.   Raises: ScheduleError for an edit that does not fit"""
        from aotensor.driver.edited import edited_nest

        return edited_nest(self._function, self._edits)

    def check(self) -> None:
        """Show that it computes what the function does.   Raises: ScheduleError that says what is wrong, and where"""
        from aotensor.driver.recipe import Options, lower

        lower([self._function], Options(schedule=self.written()), texts=())

    def written(self) -> HandSchedule:
        """The text with a name."""
        return HandSchedule(self.text(), f"{self._function.name}.nest.mlir")

    def _with(self, name: str, *told: str | int) -> Schedule:
        for x in told:
            if not isinstance(x, str | int):
                raise GraphTypeError(f"{name}: a loop is named by a str, not by {x!r:.60}")
        return Schedule(self._function, (*self._edits, (name, told)))

    def __str__(self) -> str:
        from aotensor.driver.edited import loops_of_nest

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
        raise GraphTypeError(f"schedule is a path or a Schedule, not {given!r:.60}")
    path = Path(given)
    try:
        return HandSchedule(path.read_text(encoding="utf-8"), path.name)
    except UnicodeDecodeError as error:
        raise ScheduleError(f"{path}: this is not text") from error


def _count(value: int, method: str, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise GraphTypeError(f"{method}: {what} is an int, not {value!r:.60}")
    if not 1 <= value < 1 << 31:
        raise ScheduleError(f"{method}: {what} {value} is not a number of iterations")
    return value
