"""Print results: tables, JSON, and progress on a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import click

from aotensor_cli.terminal.plain import is_plain, printable

WIDTH: Final = 100
"""Columns of a table where no terminal says how many there are."""
_NARROW: Final = 16
"""Columns below which a cell is not wrapped further."""


def show(text: str, *, nl: bool = True, err: bool = False, is_safe: bool = False) -> None:
    """Print text to stdout, without control characters.   is_safe: there are none but those of colours, if any"""
    click.echo(text if is_safe else printable(text), nl=nl, err=err, color=is_safe or None)


def show_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, err: bool = False, wrap: bool = True) -> None:
    """Print a table: with colours on a terminal that wants them, else aligned columns of plain text.

    wrap: break long cells of plain text; without it a row is one line, for programs that look for its words, unless
    COLUMNS says how long lines are.
    """
    stream = sys.stderr if err else sys.stdout
    cells = [[printable(cell) for cell in row] for row in rows]
    if is_plain(stream):
        click.echo(plain_table(headers, cells, _given_width() or (WIDTH if wrap else None)), err=err)
        return
    from aotensor_cli.terminal.colours import print_table

    print_table(stream, headers, cells)


def _given_width() -> int | None:
    """The length of lines from the variable COLUMNS, at least 20; None if it is not set."""
    given = os.environ.get("COLUMNS", "")
    return max(int(given), 20) if given.isdecimal() and int(given) else None


def plain_table(headers: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Aligned columns, two blanks between them; the widest one is wrapped so that lines have `width` columns at most.

    What has no blank to wrap at, such as a path, keeps its length.
    """
    lines = [list(headers), *map(list, rows)] if any(headers) else [list(row) for row in rows]
    if not lines:
        return ""
    widths = [max(len(line[column]) for line in lines) for column in range(len(headers))]
    spare = (width or 0) - sum(widths) - 2 * (len(widths) - 1)
    if width is not None and spare < 0:
        widest = max(range(len(widths)), key=widths.__getitem__)
        room = max(widths[widest] + spare, _NARROW)
        lines = [part for line in lines for part in _wrapped(line, widest, room)]
        widths[widest] = max(len(line[widest]) for line in lines)
    padded = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    return "\n".join(line.rstrip() for line in padded)


def _wrapped(line: list[str], column: int, room: int) -> list[list[str]]:
    """Wrap one cell of a table line; the other cells are empty from the second line on."""
    indent = " " * (len(line[column]) - len(line[column].lstrip()))
    pieces = textwrap.wrap(
        line[column], room, break_long_words=False, break_on_hyphens=False, subsequent_indent=indent
    ) or [line[column]]
    first = [*line[:column], pieces[0], *line[column + 1 :]]
    empty = [""] * len(line)
    return [first, *([*empty[:column], piece, *empty[column + 1 :]] for piece in pieces[1:])]


def size_text(size: int) -> str:
    """Format a number of bytes: 312 bytes, 1.5 MB."""
    if size < 1000:
        return f"{size} bytes"
    units = ("kB", "MB", "GB", "TB")
    power = min((len(str(size)) - 1) // 3, len(units))
    return f"{size / 1000**power:.1f} {units[power - 1]}"


def time_text(seconds: float) -> str:
    """Format a time: 312 us, 1.5 s."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def show_json(value: Any, *, is_dense: bool = False) -> None:
    """Print a value as JSON to stdout.   is_dense: without line breaks, for programs only"""
    click.echo(json.dumps(value, indent=None if is_dense else 2))


def talk(message: str) -> None:
    """Print a line to stderr."""
    click.echo(printable(message), err=True)


@contextlib.contextmanager
def progress(what: str, *, is_quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Show progress on a terminal's stderr: the current step, its time, and finished steps; removed at the end.

    Gives a function that is told the name of each step when it begins.
    """
    if is_quiet or is_plain(sys.stderr):
        yield lambda step: None
        return
    from aotensor_cli.terminal.colours import columns

    line = _Line(what, columns())
    try:
        yield line.begin
    finally:
        line.close()


class _Line:
    """A line of a terminal that is redrawn several times a second.

    compiling logistic: optimise and generate code 1.4 s (lower 0.6, emit LLVM IR 0.3)
    """

    def __init__(self, what: str, columns: int) -> None:
        self._what, self._step, self._start, self._done = what, "", time.perf_counter(), list[str]()
        self._columns = columns
        self._first, self._is_closed = self._start, threading.Event()
        self._stream = os.fdopen(os.dup(sys.stderr.fileno()), "w")  # also while stderr leads elsewhere
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def begin(self, step: str) -> None:
        """End the current step and begin the next one."""
        now = time.perf_counter()
        if self._step:
            self._done.append(f"{self._step} {now - self._start:.1f}")
        self._step, self._start = step, now

    def close(self) -> None:
        """Remove the line; after more than 5 s print the total time instead."""
        self._is_closed.set()
        self._thread.join()
        self._write("\r\x1b[K")
        self._stream.close()
        seconds = time.perf_counter() - self._first
        if seconds > 5:
            talk(f"{self._what}: {seconds:.1f} s")

    def _run(self) -> None:
        while not self._is_closed.wait(0.1):
            now = time.perf_counter()
            text = f"{self._what}: {self._step} {now - self._start:.1f} s" if self._step else f"{self._what} ..."
            text += f" ({', '.join(self._done)})" if self._done else ""
            self._write(f"\r\x1b[K{printable(text)[: self._columns - 1]}")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()
