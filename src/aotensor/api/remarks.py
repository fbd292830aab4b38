"""What passes decided, as users get it: a list that can be filtered, and that a notebook shows as a table."""

from __future__ import annotations

from collections.abc import Iterable

from aotensor.graph.coercion import coerced, one_of
from aotensor.graph.passes.remarks import KINDS, Remark, by_line
from aotensor_runtime.signature import html_table


class Remarks(list[Remark]):
    """Remarks of passes, in the order in which these ran; as text, one line each.

    note: what to know of them all, such as that a schedule changed the loops afterwards.
    """

    def __init__(self, title: str, remarks: Iterable[Remark], note: str = "") -> None:
        super().__init__(remarks)
        self.title, self.note = title, note

    @coerced
    def about(
        self, pass_name: str | None = None, line: int | None = None, kind: str | None = None, op: str | None = None
    ) -> Remarks:
        """Those of one pass, about one line of the user's program, and of one kind, whatever of these is given.

        op: what their expressions name or call, or an operator in them: "exp", "grad_w", "@".

        Raises: GraphValueError for a kind that is not "applied", "missed" or "analysis".
        """
        if kind is not None:
            one_of("kind", kind, KINDS)
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
        """For notebooks: a table, by line."""
        rows = [(f"{x.file}:{x.line}" if x.line else "", x.kind, x.pass_name, x.text) for x in by_line(self)]
        return html_table(self.title, self.note, rows)
