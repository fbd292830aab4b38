"""`-o FILE`: write the output of a command to a file."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

from aotensor.codegen.files import write_file


@contextlib.contextmanager
def printed_to(out: Path | None) -> Iterator[None]:
    """Collect stdout and write it to `out` at the end unless an error occurs; None leaves stdout unchanged."""
    if out is None:
        yield
        return
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        yield
    write_file(out, stream.getvalue().encode(errors="backslashreplace"))
