"""A model file, and what a command line gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

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
