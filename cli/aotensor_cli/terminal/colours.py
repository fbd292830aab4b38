"""Tables with colours, for terminals that show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

_STYLES: Final = {
    **dict.fromkeys(("ok", "right"), "green"),
    **dict.fromkeys(("failed", "missing", "wrong"), "bold red"),
    **dict.fromkeys(("skipped", "optional", "too noisy to tell"), "yellow"),
}


def print_table(stream: TextIO, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Aligned columns as wide as the terminal; words that say how something went have a colour."""
    table = Table(*headers, box=None, pad_edge=False, header_style="bold", show_header=any(headers))
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    Console(file=stream).print(table)


def columns() -> int:
    """How many a line of the terminal has, at least 20."""
    return max(Console(stderr=True).width, 20)
