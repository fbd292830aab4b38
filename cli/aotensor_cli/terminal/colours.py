"""Print tables with colours."""

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
    """Print aligned columns in the width of the terminal; words for success and failure are coloured."""
    table = Table(*headers, box=None, pad_edge=False, header_style="bold", show_header=any(headers))
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    Console(file=stream).print(table)


def columns() -> int:
    """The number of columns of the terminal, at least 20."""
    return max(Console(stderr=True).width, 20)
