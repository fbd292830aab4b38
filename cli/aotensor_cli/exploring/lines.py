"""A pane of `aotensor explore`: rows of text with a cursor; only visible rows are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from aotensor_cli.exploring.rows import Row

STYLES: Final = {
    "": Style(),
    "added": Style(color="green"),
    "removed": Style(color="red"),
    "note": Style(color="cyan"),
    "head": Style(bold=True),
}
_CHOSEN: Final = Style(bgcolor="rgb(70,60,0)")
_CURSOR: Final = Style(reverse=True)


class Lines(ScrollView):  # type: ignore[misc]
    """Rows of text.   cursor: the row that keys act on. chosen: rows of this place are marked"""

    can_focus = True
    BINDINGS: ClassVar[list[Any]] = [
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("home", "move(-1000000000)", "First", show=False),
        Binding("end", "move(1000000000)", "Last", show=False),
        Binding("enter", "choose", "Choose line"),
    ]

    class Chosen(Message):  # type: ignore[misc]
        """The message that a row was chosen by Enter or the mouse."""

        def __init__(self, pane: Lines, row: Row) -> None:
            super().__init__()
            self.pane, self.row = pane, row

    def __init__(self, title: str, **options: Any) -> None:
        super().__init__(**options)
        self.border_title = title
        self.rows: Sequence[Row] = ()
        self.cursor = 0
        self.chosen = -1

    def show(self, rows: Sequence[Row], cursor: int = 0, title: str | None = None) -> None:
        """Replace the rows."""
        self.rows = rows
        if title is not None:
            self.border_title = title
        self.virtual_size = Size(max((cell_len(x.text) for x in rows), default=0) + 1, len(rows))
        self.put(cursor)

    @property
    def row(self) -> Row | None:
        """The row of the cursor; None where there are no rows."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    def put(self, cursor: int) -> None:
        """Move the cursor to a row and scroll to it."""
        self.cursor = max(min(cursor, len(self.rows) - 1), 0)
        height = max(self.scrollable_content_region.height, 1)
        margin = min(3, (height - 1) // 2)
        region = Region(int(self.scroll_x), self.cursor - margin, 1, 2 * margin + 1)
        self.scroll_to_region(region, animate=False, force=True)
        self.refresh()

    def mark(self, place: int, moves: bool) -> None:
        """Mark the rows of a place.   moves: the cursor goes to the first of them, unless it is on one"""
        self.chosen = place
        found = [number for number, row in enumerate(self.rows) if row.place == place >= 0]
        if moves and found and self.cursor not in found:
            self.put(found[0])
        self.refresh()

    def occurrence(self, by: int) -> bool:
        """Move the cursor to the next or previous row of the chosen place; False if there is none."""
        found = [number for number, row in enumerate(self.rows) if row.place == self.chosen >= 0]
        later = [x for x in found if x > self.cursor] if by > 0 else [x for x in found if x < self.cursor][::-1]
        if later or found:
            self.put(later[0] if later else found[0 if by > 0 else -1])
        return bool(found)

    def search(self, text: str, by: int) -> bool:
        """Move the cursor to the next or previous row that contains a text; case matters if the text has capitals."""
        keep = (lambda x: x) if text != text.lower() else str.lower
        count = len(self.rows)
        for step in range(1, count + 1):
            number = (self.cursor + by * step) % count
            if text in keep(self.rows[number].text):
                self.put(number)
                return True
        return False

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self.put(self.cursor + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by a page."""
        self.put(self.cursor + by * max(self.scrollable_content_region.height - 1, 1))

    def action_choose(self) -> None:
        """Send the message that the row of the cursor was chosen."""
        if self.row is not None:
            self.post_message(self.Chosen(self, self.row))

    def on_click(self, event: Any) -> None:
        """Choose a row by the mouse."""
        offset = event.get_content_offset(self)
        if offset is not None and offset.y + int(self.scroll_y) < len(self.rows):
            self.put(offset.y + int(self.scroll_y))
            self.action_choose()

    def render_line(self, y: int) -> Strip:
        """Render one visible line."""
        number, width = y + int(self.scroll_y), self.scrollable_content_region.width
        if number >= len(self.rows):
            return Strip.blank(width, self.rich_style)
        row = self.rows[number]
        style = self.rich_style + STYLES[row.style]
        if row.place == self.chosen >= 0:
            style += _CHOSEN
        if number == self.cursor:
            style += _CURSOR if self.has_focus else Style(underline=True)
        text = row.text.expandtabs(4)
        strip = Strip([Segment(text, style)])
        start = int(self.scroll_x)
        return strip.crop_extend(start, start + width, style)
