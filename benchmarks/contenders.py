"""What one comparison consists of: a model that everybody writes, and the calls that take turns."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Contender: TypeAlias = Callable[[], Any]


class Model(ABC):
    """One computation, written once for each contender. A writer gets the contender's module as its argument.

    title: as tables show it. tolerance: greatest error of a value, as a part of the largest element.
    values: inputs by name, in the order in which everybody takes them; arrays and SciPy's sparse matrices.
    kernels: the C file that has the hand-written kernel. moved: bytes that have to go through the processor at least,
    every array once; None where memory is not the limit. plain: what `numpy` is written with.
    peers: the other libraries that take part. pytensor_mode: the faster of its backends.
    """

    title: str
    tolerance: float
    values: dict[str, Any]
    kernels: str = "kernels.c"
    moved: int | None = None
    plain: str = "NumPy"
    peers: tuple[str, ...] = ("JAX", "PyTensor", "CasADi")
    pytensor_mode: str = "NUMBA"

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

    def collect(self, values: list[Any]) -> list[Any]:
        """What a contender gave, in the form of `reference`."""
        return values

    def casadi(self, ca: Any) -> Any:
        """The casadi.Function; None where it is not natural: no long loops, factorisations or big matrices there."""
        return None

    def numpy(self) -> Contender | None:
        """A call that gives all outputs as users of `plain`, NumPy or SciPy, write it; None where nobody does."""
        return None

    def mkl(self, multiply: Callable[..., Any]) -> Contender | None:
        """A call that takes every product from MKL, by `sparse_dot_mkl.dot_product_mkl`; None where that cannot be."""
        return None

    def c(self, kernels: ctypes.CDLL) -> tuple[Contender, list[Any]] | None:
        """A call of the hand-written kernel and the values that it fills; None without one."""
        return None


@dataclass
class Comparison:
    """The same computation by several contenders.

    contenders: name → a call without arguments that leaves nothing to be waited for.
    read: name → the values of the last call, the loss first, to be compared with those of `reference`.
    seconds: name → how long it took to make what is called, where that was not timed in a process of its own.
    missing: name → why it does not take part.
    """

    model: Model
    reference: list[Array]
    contenders: dict[str, Contender] = field(default_factory=dict)
    read: dict[str, Callable[[], list[Array]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, call: Contender, values: Callable[[Any], list[Any]]) -> None:
        """A contender whose values are found in what the call returns."""
        self.contenders[name] = call
        self.read[name] = lambda: arrays_of(self.model.collect(values(call())))

    def check(self) -> None:
        """Raises: ValueError if a contender computes something else."""
        for name, values in self.read.items():
            for position, (found, expected) in enumerate(zip(values(), self.reference, strict=True)):
                scale = max(float(np.abs(expected).max()), 1e-30)
                error = float(np.abs(found.reshape(expected.shape) - expected).max()) / scale
                if not error <= self.model.tolerance:
                    raise ValueError(
                        f"{self.model.title}: value {position} of {name} is off by {error:.1e} of its scale"
                    )


def arrays_of(values: list[Any]) -> list[Array]:
    """The arrays of every value. A sparse matrix has three, with the entries of each row in order."""
    return [array for value in values for array in (_csr(value) if hasattr(value, "todense") else [np.asarray(value)])]


def _csr(matrix: Any) -> list[Array]:
    """(data, indices, indptr) of a matrix of SciPy or of JAX."""
    if not scipy.sparse.issparse(matrix):
        rows, columns = np.asarray(matrix.indices).T
        matrix = scipy.sparse.coo_array((np.asarray(matrix.data), (rows, columns)), matrix.shape)
    ordered = matrix.tocsr(copy=True)
    ordered.sum_duplicates()
    return [ordered.data, ordered.indices, ordered.indptr]
