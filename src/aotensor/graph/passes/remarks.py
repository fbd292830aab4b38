"""Remarks: decisions of passes and their reasons, recorded as data while passes run, rendered on demand.

    applied("fused {} into the loop of {}", statement, loop)   →   fused `exp(x)` (model.py:12) into the loop of …

A pass records a note where it decides. That costs almost nothing: subjects are kept unrendered, and a pass that runs
without a listener records nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, astuple, dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from aotensor.core.frozen import frozen_dataclass

Kind: TypeAlias = Literal["applied", "missed", "analysis"]
"""Kinds of remarks: a pass has done something; has not, for a reason; or has found something out."""
KINDS: Final[tuple[str, ...]] = get_args(Kind)

Size: TypeAlias = tuple[tuple[int, tuple[str, ...]], ...]
"""A sum of (factor, dims) products, such as 8·n·p."""


@frozen_dataclass
class Remark:
    """One decision of a pass.

    function: the compiled function. message: the decision and its reason. value: its subject, as user source.
    file, line: source line of the subject, without a folder; "" and 0 where it is unknown. bytes, flops: of the subject
    per call, as formulas of dims, "" where unknown. count: number of equal decisions about this line that this
    one represents. hint: a change that would enable the rewrite, "" if none is known.
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
        """The message, followed by bytes and flops of its subject."""
        sizes = [f"{n} {unit}" for n, unit in ((self.bytes, "bytes"), (self.flops, "flops")) if n]
        more = [f"{self.count} alike at this line"] if self.count > 1 else []
        return "; ".join([self.message, *sizes, *more])

    @property
    def words(self) -> frozenset[str]:
        """Identifiers and operators in its expressions: `X`, `exp`, `@`."""
        quoted = " ".join((*re.findall(r"`([^`]*)`", self.message), self.value))
        return frozenset(re.findall(r"[^\W\d]\w*|\*\*|//|<=|>=|[-+*/@%&|^<>~]", quoted))

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values; the pass under the name `pass`."""
        tree = asdict(self)
        return {"pass": tree.pop("pass_name"), **tree}

    def to_row(self) -> list[str | int]:
        """The fields in order, as they are stored in a library."""
        return list(astuple(self))

    @staticmethod
    def from_row(row: object) -> Remark:
        """Parse a row from an untrusted source.   Raises: ValueError if it is not a remark"""
        kinds = [type(x) for x in row] if isinstance(row, list) else []
        if kinds not in (_KINDS_OF_FIELDS, _KINDS_OF_FIELDS[:-1]):  # older libraries have no hints
            raise ValueError("a remark has ten or eleven fields")
        assert isinstance(row, list)
        if row[1] not in KINDS:
            raise ValueError(f"a remark is one of {', '.join(KINDS)}")
        return Remark(*row)


_KINDS_OF_FIELDS: Final = [type(x) for x in Remark("", "applied", "", "").to_row()]


def by_line(remarks: Iterable[Remark]) -> list[Remark]:
    """Remarks in the order of source lines; those without a line come last."""
    return sorted(remarks, key=lambda x: (not x.line, x.file, x.line))


class Note(NamedTuple):
    """A remark that is not rendered yet. subjects: the values for its placeholders, in order"""

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
    """The notes of passes so far.   pass_name, function: the running pass, and the function that it runs on"""

    function: str = ""
    pass_name: str = ""
    found: list[Note] = field(default_factory=list)
    sizes: dict[Any, tuple[str, ...] | None] = field(default_factory=dict)
    """Cache of extents as dims."""


_LISTENER: ContextVar[Notes | None] = ContextVar("listener", default=None)


@contextmanager
def listening(notes: Notes) -> Iterator[Notes]:
    """Context manager that collects the notes of passes in `notes`."""
    token = _LISTENER.set(notes)
    try:
        yield notes
    finally:
        _LISTENER.reset(token)


def listener() -> Notes | None:
    """The collector of notes, or None."""
    return _LISTENER.get()


def running(pass_name: str) -> None:
    """Attribute later notes to this pass."""
    notes = _LISTENER.get()
    if notes is not None:
        notes.pass_name = pass_name


def applied(message: str, *subjects: Any, size: Size = ()) -> None:
    """Record that a graph pass has done something.   subjects: variables, nodes or printable values; size: in bytes"""
    note("applied", message, subjects, size)


def missed(message: str, *subjects: Any, hint: str = "") -> None:
    """Record that a graph pass has not applied a rewrite.   hint: a change that would enable it"""
    note("missed", message, subjects, hint=hint)


def note(kind: Kind, message: str, subjects: Sequence[Any], size: Size = (), hint: str = "") -> None:
    """Record a note if there is a listener."""
    notes = _LISTENER.get()
    if notes is not None:
        notes.found.append(Note(notes.pass_name, kind, notes.function, message, tuple(subjects), size, hint=hint))
