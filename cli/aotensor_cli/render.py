"""How results look: tables, JSON, and signs of life on a terminal."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

_STYLES: Final = {
    **dict.fromkeys(("ok", "right"), "green"),
    **dict.fromkeys(("failed", "missing", "wrong"), "bold red"),
    **dict.fromkeys(("skipped", "optional", "too noisy to tell"), "yellow"),
}


def show_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, err: bool = False) -> None:
    """A table: with colours and wrapped cells on a terminal, else aligned columns of plain text."""
    stream = sys.stderr if err else sys.stdout
    if not stream.isatty():
        click.echo(plain_table(headers, rows), err=err)
        return
    table = Table(*headers, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    Console(file=stream).print(table)


def plain_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns, two blanks between them."""
    lines = [list(headers), *map(list, rows)] if any(headers) else [list(row) for row in rows]
    widths = [max((len(line[column]) for line in lines), default=0) for column in range(len(headers))]
    padded = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    return "\n".join(line.rstrip() for line in padded)


def size_text(size: int) -> str:
    """A number of bytes for people: 312 bytes, 1.5 MB."""
    if size < 1000:
        return f"{size} bytes"
    units = ("kB", "MB", "GB", "TB")
    power = min((len(str(size)) - 1) // 3, len(units))
    return f"{size / 1000**power:.1f} {units[power - 1]}"


def show_json(value: Any) -> None:
    """A value as JSON on stdout."""
    click.echo(json.dumps(value, indent=2))


def talk(message: str) -> None:
    """One line for the user on stderr."""
    click.echo(message, err=True)


@contextlib.contextmanager
def progress(what: str) -> Iterator[None]:
    """Say on a terminal's stderr what is going on, and take it away when it is done."""
    if not sys.stderr.isatty():
        yield
        return
    start = time.perf_counter()
    click.echo(f"{what} ...", nl=False, err=True)
    try:
        yield
    finally:
        click.echo(f"\r{' ' * (len(what) + 4)}\r", nl=False, err=True)
        if time.perf_counter() - start > 5:
            talk(f"{what}: {time.perf_counter() - start:.1f} s")
