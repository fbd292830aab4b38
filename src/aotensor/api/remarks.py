"""Remarks for users: a list of decisions of passes that can be filtered, and that a notebook shows as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from aotensor.errors import GraphValueError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.passes.remarks import KINDS, Remark, by_line
from aotensor.graph.passes.steps import BY_NAME, OTHERS, unknown_pass
from aotensor.graph.passes.topics import topic_of
from aotensor_runtime.notebook.html import card, table

_DONE: Final = {"applied": "done", "missed": "not done", "analysis": "found"}


class Remarks(list[Remark]):
    """Remarks of passes, in the order in which they ran; printed one per line.

    note: a comment on all of them, such as that a schedule changed the loops afterwards.
    """

    def __init__(self, title: str, remarks: Iterable[Remark], note: str = "") -> None:
        super().__init__(remarks)
        self.title, self.note = title, note

    @coerced
    def about(
        self, pass_name: str | None = None, line: int | None = None, kind: str | None = None, op: str | None = None
    ) -> Remarks:
        """The remarks that match all given criteria: pass, line of the user's program, kind.

        op: an identifier or operator in their expressions: "exp", "grad_w", "@".

        Raises: GraphValueError for a kind that is not "applied", "missed" or "analysis", and for a pass that does not
        exist.
        """
        if kind is not None:
            check_choice("kind", kind, KINDS)
        if pass_name is not None and pass_name not in (*BY_NAME, *OTHERS, *(x.pass_name for x in self)):
            message, hint = unknown_pass(pass_name)
            raise GraphValueError(message, hint=hint)
        chosen = [
            x
            for x in self
            if pass_name in (None, x.pass_name)
            and line in (None, x.line)
            and kind in (None, x.kind)
            and (op is None or op in x.words)
        ]
        return Remarks(self.title, chosen, self.note)

    def __str__(self) -> str:
        return "\n".join([*([f"note: {self.note}"] if self.note else []), *map(str, self)])

    def _repr_html_(self) -> str:
        """HTML for notebooks: per line, decisions to do and not to do something, with hints."""
        counts = {kind: sum(x.count for x in self if x.kind == kind) for kind in KINDS}
        note = (
            f"{counts['applied']} decisions to do something, {counts['missed']} not to, {counts['analysis']} found out"
        )
        note = f"{self.note}; {note}" if self.note else note
        headers = ["line", "about", "", "what was decided, and why", "to allow it", "pass"]
        rows, last = [], ""
        for x in by_line(self):
            where = f"{x.file}:{x.line}" if x.line else "about no line"
            shown = "" if where == last else where
            rows.append((shown, topic_of(x.pass_name), _DONE[x.kind], x.text, x.hint, x.pass_name))
            last = where
        return card(self.title, note, table(headers, rows, 60_000))
