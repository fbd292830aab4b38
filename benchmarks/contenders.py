"""The parts of a comparison: a model written for each contender, and their calls."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Contender: TypeAlias = Callable[[], Any]

OURS: Final = ("aotensor", "aotensor, checked", "aotensor, bound")
DENSE_PEERS: Final = ("JAX", "torch", "torch compiled", "PyTensor Numba", "PyTensor C", "CasADi")
ONNX_PEERS: Final = ("onnxruntime", "JAX", "torch", "torch compiled")
"""Of models with constant weights."""
SPARSE_PEERS: Final = ("JAX", "torch", "PyTensor Numba", "PyTensor C", "MKL")
UNWRITTEN: Final = "the model is not written for it"


class Absent(Exception):
    """The reason why a contender is left out."""


class Model(ABC):
    """One computation, written once for each contender. A writer gets the contender's module as its argument.

    title: as tables show it. tolerance: greatest error of a value, as a part of the largest element.
    values: inputs by name, in the order in which everybody takes them; arrays and SciPy's sparse matrices.
    kernels: the C file that has the hand-written kernel. plain: what `numpy` is written with.
    peers: the other libraries that take part. without: those among them that do not after all, and why.
    products: floating point operations in products of matrices. operations: all of them, where the library cannot
    know because loops depend on values. samples: how many the function of CasADi is mapped over, the leading axis of
    all inputs and outputs; 0 if it is not. gathered: the array that is read at places, its rows, and those places.
    """

    title: str
    tolerance: float
    values: dict[str, Any]
    kernels: str = "kernels.c"
    plain: str = "NumPy"
    peers: tuple[str, ...] = DENSE_PEERS
    without: ClassVar[dict[str, str]] = {}
    products: float = 0.0
    operations: float | None = None
    samples: int = 0
    gathered: tuple[Array, Array] | None = None

    @abstractmethod
    def reference(self) -> list[Array]:
        """The outputs, by NumPy in float64."""

    @abstractmethod
    def aotensor(self, aot: Any) -> Any:
        """The Function, with its gradients."""

    def jax(self, jax: Any) -> Callable[..., Any]:
        """A function of the inputs that gives all outputs, not yet jitted.   Raises: Absent"""
        raise Absent(UNWRITTEN)

    def pytensor(self, pt: Any) -> tuple[list[Any], list[Any]]:
        """Inputs and outputs.   Raises: Absent"""
        raise Absent(UNWRITTEN)

    def collect(self, values: list[Any]) -> list[Any]:
        """Convert the results of a contender to the form of `reference`."""
        return values

    def torch(self, torch: Any) -> Callable[..., Any] | None:
        """A function of the inputs that gives all outputs, which runs eagerly and can be compiled."""
        return None

    def casadi(self, ca: Any) -> Any:
        """The casadi.Function, of one sample if it is mapped.

        None where it is not natural: no long loops, factorisations or big matrices there.
        """
        return None

    def onnx(self, onnx: Any) -> bytes:
        """The model as a serialized ONNX file, its inputs named as in `values`.   Raises: Absent"""
        raise Absent(UNWRITTEN)

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
    missing: name → why it does not take part. compiled, bound: our library's function, and its call on fixed buffers.
    """

    model: Model
    reference: list[Array]
    compiled: Any = None
    bound: Any = None
    contenders: dict[str, Contender] = field(default_factory=dict)
    read: dict[str, Callable[[], list[Array]]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, call: Contender, values: Callable[[Any], list[Any]]) -> None:
        """Add a contender. values: extracts its values from the result of the call"""
        self.contenders[name] = call
        self.read[name] = lambda: arrays_of(self.model.collect(values(call())))

    def check(self) -> None:
        """Leave out contenders whose values differ.   Raises: ValueError if that is aotensor or the C kernel."""
        for name, values in [*self.read.items()]:
            problem = self._problem(values())
            if problem is not None and name in (*OURS, "C"):
                raise ValueError(f"{self.model.title}: {problem} of {name}")
            if problem is not None:
                self.missing[name] = f"its values are wrong: {problem}"
                del self.contenders[name], self.read[name]

    def _problem(self, values: list[Array]) -> str | None:
        for position, (found, expected) in enumerate(zip(values, self.reference, strict=True)):
            scale = max(float(np.abs(expected).max(initial=0.0)), 1e-30)
            error = float(np.abs(found.reshape(expected.shape) - expected).max(initial=0.0)) / scale
            if not error <= self.model.tolerance:
                return f"an error of {error:.1e} of the scale in value {position}"
        return None


def arrays_of(values: list[Any]) -> list[Array]:
    """The arrays of every value. A sparse matrix has three, with the entries of each row in order."""
    return [array for value in values for array in (_csr(value) if hasattr(value, "todense") else [np.asarray(value)])]


def value_and_gradient(torch: Any, loss: Callable[..., Any], by: Sequence[int]) -> Callable[..., list[Any]]:
    """(value, gradients...) of a loss in PyTorch: by its tape when run eagerly, by `torch.func` when compiled."""

    def outputs(*inputs: Any) -> list[Any]:
        if torch.compiler.is_compiling():
            gradients, value = torch.func.grad_and_value(loss, argnums=tuple(by))(*inputs)
            return [value, *gradients]
        leaves = [x.detach().requires_grad_(i in by) for i, x in enumerate(inputs)]
        value = loss(*leaves)
        return [value.detach(), *torch.autograd.grad(value, [leaves[i] for i in by])]

    return outputs


def _csr(matrix: Any) -> list[Array]:
    """(data, indices, indptr) of a matrix of SciPy or of JAX."""
    if not scipy.sparse.issparse(matrix):
        rows, columns = np.asarray(matrix.indices).T
        matrix = scipy.sparse.coo_array((np.asarray(matrix.data), (rows, columns)), matrix.shape)
    ordered = matrix.tocsr(copy=True)
    ordered.sum_duplicates()
    return [ordered.data, ordered.indices, ordered.indptr]
