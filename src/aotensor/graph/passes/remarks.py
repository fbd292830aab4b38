"""What passes decide, and why: noted as data while they run, worded when someone asks.

    applied("fused {} into the loop of {}", statement, loop)   →   fused `exp(x)` (model.py:12) into the loop of …

A pass says it where it decides. That costs next to nothing: what a note is about is kept as it is, and a pass that runs
without a listener notes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, astuple, dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

Kind: TypeAlias = Literal["applied", "missed", "analysis"]
"""A pass has done something; has not, for a reason; or has found something out."""
KINDS: Final[tuple[str, ...]] = get_args(Kind)

Size: TypeAlias = tuple[tuple[int, tuple[str, ...]], ...]
"""Σ factor · dims, such as 8·n·p."""


@dataclass(frozen=True)
class Remark:
    """One decision of a pass.

    function: that it is about. message: what was decided, and why. value: what it is about, as the user wrote it.
    file, line: where that is written, without a folder; "" and 0 where no line is known. bytes, flops: what it is about
    per call, as formulas of dims, "" where that is not known. count: decisions of the kind about this line, which this
    one stands for. hint: what would allow what was not done, "" where nothing is known that does.
    """

    pass_name: str
    kind: Kind
    function: str
    message: str
    value: str = ""
    file: str = ""
    line: int = 0
    bytes: str = ""
    flops: str = ""
    count: int = 1
    hint: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: " if self.line else ""
        hint = f"; to allow it: {self.hint}" if self.hint else ""
        return f"{where}{self.kind} by {self.pass_name}: {self.text}{hint}"

    @property
    def text(self) -> str:
        """The message with what it is about in numbers."""
        sizes = [f"{n} {unit}" for n, unit in ((self.bytes, "bytes"), (self.flops, "flops")) if n]
        more = [f"{self.count} alike at this line"] if self.count > 1 else []
        return "; ".join([self.message, *sizes, *more])

    @property
    def words(self) -> frozenset[str]:
        """What its expressions name and call, and their operators: `X`, `exp`, `@`."""
        quoted = " ".join((*re.findall(r"`([^`]*)`", self.message), self.value))
        return frozenset(re.findall(r"[^\W\d]\w*|\*\*|//|<=|>=|[-+*/@%&|^<>~]", quoted))

    def to_json(self) -> dict[str, Any]:
        """As JSON values; the pass under the name `pass`."""
        tree = asdict(self)
        return {"pass": tree.pop("pass_name"), **tree}

    def to_row(self) -> list[str | int]:
        """Its fields in their order, as a library carries them."""
        return list(astuple(self))

    @staticmethod
    def of_row(row: object) -> Remark:
        """The remark of a row that may come from anywhere.   Raises: ValueError for one that is none"""
        kinds = [type(x) for x in row] if isinstance(row, list) else []
        if kinds not in (_KINDS_OF_FIELDS, _KINDS_OF_FIELDS[:-1]):  # older libraries have no hints
            raise ValueError("a remark has ten or eleven fields")
        assert isinstance(row, list)
        if row[1] not in KINDS:
            raise ValueError(f"a remark is one of {', '.join(KINDS)}")
        return Remark(*row)


_KINDS_OF_FIELDS: Final = [type(x) for x in Remark("", "applied", "", "").to_row()]


def by_line(remarks: Iterable[Remark]) -> list[Remark]:
    """Remarks in the order of the user's program; those about no line come last."""
    return sorted(remarks, key=lambda x: (not x.line, x.file, x.line))


class Note(NamedTuple):
    """A remark before it is worded.   subjects: what its placeholders stand for, in their order"""

    pass_name: str
    kind: Kind
    function: str
    message: str
    subjects: tuple[Any, ...]
    bytes: Size = ()
    flops: Size = ()
    hint: str = ""


@dataclass
class Notes:
    """What passes have noted so far.   pass_name, function: of the one that runs, and what it runs on"""

    function: str = ""
    pass_name: str = ""
    found: list[Note] = field(default_factory=list)
    sizes: dict[Any, tuple[str, ...] | None] = field(default_factory=dict)
    """Extents as dims, for who looks them up again and again."""


_LISTENER: ContextVar[Notes | None] = ContextVar("listener", default=None)


@contextmanager
def listening(notes: Notes) -> Iterator[Notes]:
    """What passes note inside comes here."""
    token = _LISTENER.set(notes)
    try:
        yield notes
    finally:
        _LISTENER.reset(token)


def listener() -> Notes | None:
    """Where notes go to, if anywhere."""
    return _LISTENER.get()


def running(pass_name: str) -> None:
    """Notes are those of this pass from now on."""
    notes = _LISTENER.get()
    if notes is not None:
        notes.pass_name = pass_name


def applied(message: str, *subjects: Any, size: Size = ()) -> None:
    """A pass over graphs has done something.   subjects: variables, nodes, or what is shown as it is; size: in bytes"""
    note("applied", message, subjects, size)


def missed(message: str, *subjects: Any, hint: str = "") -> None:
    """A pass over graphs has not done something that it looks for.   hint: what would allow it"""
    note("missed", message, subjects, hint=hint)


def note(kind: Kind, message: str, subjects: Sequence[Any], size: Size = (), hint: str = "") -> None:
    """Keep what was said, if anybody listens."""
    notes = _LISTENER.get()
    if notes is not None:
        notes.found.append(Note(notes.pass_name, kind, notes.function, message, tuple(subjects), size, hint=hint))
