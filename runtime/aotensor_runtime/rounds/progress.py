"""Progress bars for rounds on a terminal: by rich if it is installed, else a line that is overwritten."""

from __future__ import annotations

import sys
from typing import IO, Any, Final

_WIDTH: Final = 30


class Bar:
    """A value for `progress=`: shows function, chunks done and chunks of each round on stderr, or another stream.

    rich draws it if it is installed; else it is a line, overwritten on terminals and written once per round elsewhere.
    """

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream
        self._rich: Any = None
        self._task: Any = None

    def __call__(self, function: str, done: int, count: int) -> None:
        """Report that a chunk of a round is done."""
        stream = self._stream or sys.stderr
        is_last = done == count
        try:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        except ImportError:
            if stream.isatty():
                full = _WIDTH * done // count
                line = f"\r{function} [{'#' * full}{'.' * (_WIDTH - full)}] {done}/{count}"
                print(line, end="\n" if is_last else "", file=stream, flush=True)
            elif is_last:
                print(f"{function} {done}/{count}", file=stream, flush=True)
            return
        if self._rich is None:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self._rich = Progress(*columns, console=Console(file=stream))
            self._rich.start()
            self._task = self._rich.add_task(function, total=count)
        self._rich.update(self._task, completed=done)
        if is_last:
            self.close()

    def close(self) -> None:
        """Stop the bar of a failed round as it is; other bars have ended."""
        if self._rich is not None:
            self._rich.stop()
            self._rich = None
