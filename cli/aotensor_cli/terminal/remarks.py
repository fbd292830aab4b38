"""Filter remarks that LLVM itself prints to stderr, for example about loops that it did not vectorise."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from aotensor_runtime.systems.scratch import new_file

_REMARK: Final = re.compile(rb"(remark|warning): .*:\d+:\d+: .*(loop|vectori|unroll|interleav|inlin)", re.IGNORECASE)


@contextmanager
def without_remarks() -> Iterator[None]:
    """Redirect the process's stderr to a file inside the context; print all but LLVM's remarks at the end."""
    if sys.stderr is not None:
        sys.stderr.flush()
    with new_file() as kept:
        real = os.dup(2)
        os.dup2(kept.fileno(), 2)
        try:
            yield
        finally:
            if sys.stderr is not None:
                sys.stderr.flush()
            os.dup2(real, 2)
            os.close(real)
            kept.seek(0)
            for line in kept.read().splitlines(keepends=True):
                if _REMARK.match(line.rstrip()) is None:
                    os.write(2, line)
