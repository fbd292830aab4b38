"""Operators and methods of a sparse variable. Each finds its function by name, because ops are built on variables.

Operations with a sparse definition return sparse results; others convert the matrix to dense, with a warning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NoReturn

from aotensor.errors import GraphTypeError
from aotensor.graph.operations import sparse
from aotensor.graph.site import warn_user

if TYPE_CHECKING:
    from aotensor.graph.variable import Variable


class SparseOperators:
    """Operators and methods of a sparse variable: `A + B`, `A @ x`, `A[1:, :]`, `A.sum(axis=0)`, `A.T`."""

    __slots__ = ()
    __hash__ = object.__hash__

    is_sparse = True

    def __add__(self, other: Any) -> Variable:
        return sparse.add(self, other)

    def __radd__(self, other: Any) -> Variable:
        return sparse.add(other, self)

    def __sub__(self, other: Any) -> Variable:
        return sparse.sub(self, other)

    def __rsub__(self, other: Any) -> Variable:
        return sparse.sub(other, self)

    def __mul__(self, other: Any) -> Variable:
        return sparse.mul(self, other)

    def __rmul__(self, other: Any) -> Variable:
        return sparse.mul(other, self)

    def __truediv__(self, other: Any) -> Variable:
        return sparse.div(self, other)

    def __pow__(self, other: Any) -> Variable:
        return sparse.power(self, other)

    def __matmul__(self, other: Any) -> Variable:
        return sparse.dot(self, other)

    def __rmatmul__(self, other: Any) -> Variable:
        return sparse.dot(other, self)

    def __lt__(self, other: Any) -> Variable:
        return sparse.lt(self, other)

    def __le__(self, other: Any) -> Variable:
        return sparse.le(self, other)

    def __gt__(self, other: Any) -> Variable:
        return sparse.gt(self, other)

    def __ge__(self, other: Any) -> Variable:
        return sparse.ge(self, other)

    def __neg__(self) -> Variable:
        return sparse.neg(self)

    def __abs__(self) -> Variable:
        return sparse.abs(self)

    def __getitem__(self, index: Any) -> Variable:
        return sparse.getitem(self, index)

    def __len__(self) -> NoReturn:
        raise GraphTypeError(f"the length of the sparse matrix {self} is ambiguous", hint="use x.shape[0] or x.size")

    def __iter__(self) -> NoReturn:
        raise GraphTypeError(f"the sparse matrix {self} cannot be iterated over its rows", hint="use x[i:i+1]")

    @property
    def T(self) -> Variable:
        return sparse.transpose(self)

    @property
    def mT(self) -> Variable:
        """The transpose."""
        return sparse.transpose(self)

    def transpose(self) -> Variable:
        """The transpose: csr becomes csc, and csc csr, on the same buffers; that of bsr is bsr."""
        return sparse.transpose(self)

    def astype(self, dtype: Any) -> Variable:
        return sparse.cast(self, dtype)

    def toarray(self) -> Variable:
        """The matrix as a dense tensor."""
        return sparse.dense_from_sparse(self)

    def todense(self) -> Variable:
        """The matrix as a dense tensor, as `toarray`."""
        return sparse.dense_from_sparse(self)

    def tobsr(self, blocksize: Any) -> Variable:
        """Convert to the format bsr.   blocksize: (rows, columns) of a block"""
        return sparse.to_bsr(self, blocksize)

    def tocsc(self) -> Variable:
        """Convert to the format csc."""
        return sparse.to_csc(self)

    def tocsr(self) -> Variable:
        """Convert to the format csr."""
        return sparse.to_csr(self)

    def sum(self, axis: Any = None, sparse_grad: bool = False, keepdims: bool = False) -> Variable:
        return sparse.sum(self, axis=axis, sparse_grad=sparse_grad, keepdims=keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Variable:
        return sparse.mean(self, axis=axis, keepdims=keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Variable:
        return sparse.max(self, axis=axis, keepdims=keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Variable:
        return sparse.min(self, axis=axis, keepdims=keepdims)

    def trace(self) -> Variable:
        """Sum of the diagonal."""
        return sparse.trace(self)

    def diagonal(self, k: int = 0) -> Variable:
        """The diagonal as a dense vector."""
        return sparse.diag(self, k)

    def dot(self, other: Any) -> Variable:
        """The product, whose gradient has the pattern of the matrix (structured)."""
        return sparse.structured_dot(self, other)

    @property
    def real(self) -> Variable:
        """The real parts of the entries; the matrix itself where it is real."""
        return sparse.real(self)

    @property
    def imag(self) -> Variable:
        """The imaginary parts of the entries; zeros where the matrix is real."""
        return sparse.imag(self)

    def conj(self) -> Variable:
        return sparse.conj(self)

    def zeros_like(self, dtype: Any = None) -> Variable:
        """A matrix of the same shape and format that stores nothing."""
        return sparse.zeros_like(self, dtype)

    def ones_like(self, dtype: Any = None) -> Variable:
        """A matrix of the same sparsity pattern whose stored entries are 1."""
        return sparse.ones_like(self, dtype)

    def copy(self, name: str | None = None) -> Variable:
        """A new variable with the value of this matrix."""
        result = sparse.copy(self)
        result.name = name
        return result  # type: ignore[no-any-return]

    @property
    def shape(self) -> Variable:
        """int64 vector of the extents."""
        return sparse.shape(self)

    @property
    def size(self) -> Variable:
        """int64 number of stored entries."""
        return sparse.size(self)


DENSIFYING: Final = [
    "__invert__", "any", "all", "nonzero", "nonzero_values",
    "flatten", "ravel", "prod", "var", "std", "argmin", "argmax", "argsort", "sort", "round", "cumsum",
    "cumprod", "squeeze", "reshape", "dimshuffle", "swapaxes", "repeat", "take", "compress", "clip", "fill",
    "norm",
]  # fmt: skip
"""Operators and methods without a sparse definition."""

PAIRED: Final = {
    "floordiv": "int_div", "mod": "mod", "and": "and_", "or": "or_", "xor": "xor", "lshift": "left_shift",
    "rshift": "right_shift", "truediv": "true_div", "pow": "pow",
}  # fmt: skip
"""Operators → the op that may give a sparse result for two matrices; other operands make the matrix dense."""


def _dense_method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        warn_user(f"{name.strip('_')} makes the sparse matrix {self} dense")
        return getattr(sparse.dense_from_sparse(self), name)(*args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"`{name}` of the dense matrix, with a UserWarning."
    return method


def _operator(symbol: str, is_reflected: bool) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        return sparse.operator(PAIRED[symbol], *((other, self) if is_reflected else (self, other)))

    operator.__name__ = f"__{'r' * is_reflected}{symbol}__"
    operator.__doc__ = f"`{PAIRED[symbol]}` of two matrices where it is sparse, else of dense ones with a UserWarning."
    return operator


for _name in DENSIFYING:
    setattr(SparseOperators, _name, _dense_method(_name))
for _name in PAIRED:
    for _is_reflected in (False, True):
        _made = _operator(_name, _is_reflected)
        if _made.__name__ not in vars(SparseOperators):  # division and powers of a matrix have their own methods
            setattr(SparseOperators, _made.__name__, _made)
