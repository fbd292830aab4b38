"""What one comparison consists of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Contender: TypeAlias = Callable[[], Any]


@dataclass
class Comparison:
    """The same computation by several contenders.

    contenders: name → a call without arguments that leaves nothing to be waited for.
    read: name → the values of the last call, the loss first, to be compared with those of `reference`.
    missing: name → why it does not take part.
    """

    title: str
    tolerance: float
    reference: list[Array]
    contenders: dict[str, Contender] = field(default_factory=dict)
    read: dict[str, Callable[[], list[Array]]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, call: Contender, values: Callable[[Any], list[Array]]) -> None:
        """A contender whose values are found in what the call returns."""
        self.contenders[name] = call
        self.read[name] = lambda: [np.asarray(x) for x in values(call())]

    def check(self) -> None:
        """Raises: ValueError if a contender computes something else."""
        for name, values in self.read.items():
            for position, (found, expected) in enumerate(zip(values(), self.reference, strict=True)):
                scale = max(float(np.abs(expected).max()), 1e-30)
                error = float(np.abs(found - expected).max()) / scale
                if not error <= self.tolerance:
                    raise ValueError(f"{self.title}: value {position} of {name} is off by {error:.1e} of its scale")
