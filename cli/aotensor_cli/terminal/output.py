"""`-o FILE`: what a command would print goes into a file."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

from aotensor.codegen.files import write_file


@contextlib.contextmanager
def printed_to(out: Path | None) -> Iterator[None]:
    """Write what is printed to stdout into `out` at the end, unless an error ends it; None leaves stdout as it is."""
    if out is None:
        yield
        return
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        yield
    write_file(out, stream.getvalue().encode(errors="backslashreplace"))
