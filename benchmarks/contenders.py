"""What one comparison consists of: a model that everybody writes, and the calls that take turns."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Contender: TypeAlias = Callable[[], Any]


class Model(ABC):
    """One computation, written once for each contender. A writer gets the contender's module as its argument.

    title: as tables show it. tolerance: greatest error of a value, as a part of the largest element.
    values: inputs by name, in the order in which everybody takes them.
    """

    title: str
    tolerance: float
    values: dict[str, Array]

    @abstractmethod
    def reference(self) -> list[Array]:
        """The outputs, by NumPy in float64."""

    @abstractmethod
    def aotensor(self, aot: Any) -> Any:
        """The Function, with its gradients."""

    @abstractmethod
    def jax(self, jax: Any) -> Callable[..., Any]:
        """A function of the inputs that gives all outputs, not yet jitted."""

    @abstractmethod
    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        """Inputs and outputs."""

    def casadi(self, ca: Any) -> Any:
        """The casadi.Function; None where it is not natural: no long loops, factorisations or big matrices there."""
        return None

    def numpy(self) -> Contender | None:
        """A call that gives all outputs as NumPy users write it; None where nobody does."""
        return None

    def c(self, kernels: ctypes.CDLL) -> tuple[Contender, list[Array]] | None:
        """A call of the hand-written kernel and the arrays that it fills; None without one."""
        return None


@dataclass
class Comparison:
    """The same computation by several contenders.

    contenders: name → a call without arguments that leaves nothing to be waited for.
    read: name → the values of the last call, the loss first, to be compared with those of `reference`.
    seconds: name → how long it took to make what is called, where that was not timed in a process of its own.
    missing: name → why it does not take part.
    """

    title: str
    tolerance: float
    reference: list[Array]
    contenders: dict[str, Contender] = field(default_factory=dict)
    read: dict[str, Callable[[], list[Array]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
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
                error = float(np.abs(found.reshape(expected.shape) - expected).max()) / scale
                if not error <= self.tolerance:
                    raise ValueError(f"{self.title}: value {position} of {name} is off by {error:.1e} of its scale")
