"""A kind of program: its text for any framework, its inputs and its derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Derivative: TypeAlias = Literal["none", "gradient", "jacobian", "hessian"]


@dataclass(frozen=True)
class Kind:
    """Programs of one kind, by size.

    outputs: (inputs, functions of the framework, size) → outputs; for a gradient or a Hessian one number.
    inputs: the inputs for a size, NumPy arrays of float64 or SciPy's CSR matrices; by default one number.
    derivative: by the first `wrt` inputs, all by default. Jacobians and Hessians are sparse in aotensor and CasADi.
    is_static: the extents are known when compiling; otherwise all axes have the same unknown extent.
    is_imported: the program is written for JAX, and aotensor imports it.
    casadi: CasADi has the functions.
    """

    title: str
    sizes: tuple[int, ...]
    outputs: Callable[[Sequence[Any], Any, int], Sequence[Any]]
    inputs: Callable[[int], Sequence[Any]] = lambda _: [np.array(0.5)]
    derivative: Derivative = "gradient"
    wrt: int | None = None
    is_static: bool = False
    is_imported: bool = False
    casadi: bool = False

    def targets(self, inputs: Sequence[Any]) -> list[Any]:
        """Those inputs by which the program is differentiated."""
        return list(inputs[: self.wrt])


def numbers(count: int) -> list[NDArray[np.float64]]:
    """So many numbers as inputs."""
    return [np.array(0.5)] * count


def vectors(count: int) -> list[NDArray[np.float64]]:
    """So many vectors of ten elements as inputs."""
    return [np.full(10, 0.5)] * count
