"""A model file, and what a command line gives back."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

PYTHON: Final = (sys.executable, "-m", "aotensor_cli")

LOGISTIC: Final = '''"""Logistic regression."""
import aotensor as aot
import aotensor.tensor as at

X = at.matrix("X", dtype="float64", shape=("n", "p"))
y = at.vector("y", dtype="float64", shape=("n",))
w = at.vector("w", dtype="float64", shape=("p",))
loss = at.softplus(-y * (X @ w)).mean()
logistic = aot.function([X, y, w], {"loss": loss})
twice = aot.function([w], 2 * w, name="doubled")
print("said while loading")
'''


SMALL: Final = (
    "import aotensor as aot, aotensor.tensor as at\n"
    "x = at.vector('x', dtype='float64', shape=('n',))\nf = aot.function([x], 2 * x, name='f')\n"
)


@dataclass(frozen=True)
class Answer:
    """What a command line gave."""

    code: int
    out: str
    err: str


Call: TypeAlias = Callable[..., Answer]


def on_a_terminal(arguments: Sequence[str], folder: Path, **environment: str) -> Answer:
    """What a command writes to a terminal, on stdout and stderr together."""
    master, slave = pty.openpty()
    variables = {**os.environ, "TERM": "xterm", **environment}
    process = subprocess.Popen([*PYTHON, *arguments], cwd=folder, stdout=slave, stderr=slave, env=variables)
    os.close(slave)
    found = b""
    with contextlib.suppress(OSError):  # the terminal is closed
        while piece := os.read(master, 4096):
            found += piece
    os.close(master)
    return Answer(process.wait(timeout=60), found.decode(), "")
