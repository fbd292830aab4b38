"""Operators and methods of a sparse variable. Each finds its function by name, because ops are built on variables.

What has a sparse meaning stays sparse; what has none makes the matrix dense and says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NoReturn

from aotensor.errors import GraphTypeError
from aotensor.graph.public import lookup
from aotensor.graph.site import warn_user

if TYPE_CHECKING:
    from aotensor.graph.variable import Variable


class SparseOperators:
    """What can be written on a sparse variable: `A + B`, `A @ x`, `A[1:, :]`, `A.sum(axis=0)`, `A.T`."""

    __slots__ = ()
    __hash__ = object.__hash__

    is_sparse = True

    def __add__(self, other: Any) -> Variable:
        return lookup("sparse_add")(self, other)  # type: ignore[no-any-return]

    def __radd__(self, other: Any) -> Variable:
        return lookup("sparse_add")(other, self)  # type: ignore[no-any-return]

    def __sub__(self, other: Any) -> Variable:
        return lookup("sparse_sub")(self, other)  # type: ignore[no-any-return]

    def __rsub__(self, other: Any) -> Variable:
        return lookup("sparse_sub")(other, self)  # type: ignore[no-any-return]

    def __mul__(self, other: Any) -> Variable:
        return lookup("sparse_mul")(self, other)  # type: ignore[no-any-return]

    def __rmul__(self, other: Any) -> Variable:
        return lookup("sparse_mul")(other, self)  # type: ignore[no-any-return]

    def __truediv__(self, other: Any) -> Variable:
        return lookup("sparse_div")(self, other)  # type: ignore[no-any-return]

    def __pow__(self, other: Any) -> Variable:
        return lookup("sparse_power")(self, other)  # type: ignore[no-any-return]

    def __matmul__(self, other: Any) -> Variable:
        return lookup("sparse_dot")(self, other)  # type: ignore[no-any-return]

    def __rmatmul__(self, other: Any) -> Variable:
        return lookup("sparse_dot")(other, self)  # type: ignore[no-any-return]

    def __lt__(self, other: Any) -> Variable:
        return lookup("sparse_lt")(self, other)  # type: ignore[no-any-return]

    def __le__(self, other: Any) -> Variable:
        return lookup("sparse_le")(self, other)  # type: ignore[no-any-return]

    def __gt__(self, other: Any) -> Variable:
        return lookup("sparse_gt")(self, other)  # type: ignore[no-any-return]

    def __ge__(self, other: Any) -> Variable:
        return lookup("sparse_ge")(self, other)  # type: ignore[no-any-return]

    def __neg__(self) -> Variable:
        return lookup("sparse_neg")(self)  # type: ignore[no-any-return]

    def __abs__(self) -> Variable:
        return lookup("sparse_abs")(self)  # type: ignore[no-any-return]

    def __getitem__(self, index: Any) -> Variable:
        return lookup("sparse_getitem")(self, index)  # type: ignore[no-any-return]

    def __len__(self) -> NoReturn:
        raise GraphTypeError(f"the length of the sparse matrix {self} is ambiguous", hint="use x.shape[0] or x.size")

    def __iter__(self) -> NoReturn:
        raise GraphTypeError(f"the sparse matrix {self} has no iteration over rows", hint="use x[i:i+1]")

    @property
    def T(self) -> Variable:
        return lookup("sparse_transpose")(self)  # type: ignore[no-any-return]

    @property
    def mT(self) -> Variable:
        """The transpose."""
        return lookup("sparse_transpose")(self)  # type: ignore[no-any-return]

    def transpose(self) -> Variable:
        """The transpose, in the other format on the same buffers."""
        return lookup("sparse_transpose")(self)  # type: ignore[no-any-return]

    def astype(self, dtype: Any) -> Variable:
        return lookup("sparse_cast")(self, dtype)  # type: ignore[no-any-return]

    def toarray(self) -> Variable:
        """The dense matrix."""
        return lookup("dense_from_sparse")(self)  # type: ignore[no-any-return]

    def todense(self) -> Variable:
        """The dense matrix."""
        return lookup("dense_from_sparse")(self)  # type: ignore[no-any-return]

    def sum(self, axis: Any = None, sparse_grad: bool = False, keepdims: bool = False) -> Variable:
        return lookup("sp_sum")(self, axis=axis, sparse_grad=sparse_grad, keepdims=keepdims)  # type: ignore[no-any-return]

    def mean(self, axis: Any = None, keepdims: bool = False) -> Variable:
        return lookup("sparse_mean")(self, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def max(self, axis: Any = None, keepdims: bool = False) -> Variable:
        return lookup("sparse_max")(self, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def min(self, axis: Any = None, keepdims: bool = False) -> Variable:
        return lookup("sparse_min")(self, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def trace(self) -> Variable:
        """Sum of the diagonal."""
        return lookup("sparse_trace")(self)  # type: ignore[no-any-return]

    def diagonal(self, k: int = 0) -> Variable:
        """The diagonal as a dense vector."""
        return lookup("sparse_diag")(self, k)  # type: ignore[no-any-return]

    def dot(self, other: Any) -> Variable:
        """The product, with a structured gradient."""
        return lookup("structured_dot")(self, other)  # type: ignore[no-any-return]

    def conj(self) -> Variable:
        return lookup("sparse_conj")(self)  # type: ignore[no-any-return]

    def zeros_like(self, dtype: Any = None) -> Variable:
        """A matrix of the same shape and format that stores nothing."""
        return lookup("sp_zeros_like")(self, dtype)  # type: ignore[no-any-return]

    def ones_like(self, dtype: Any = None) -> Variable:
        """The same pattern with ones."""
        return lookup("sp_ones_like")(self, dtype)  # type: ignore[no-any-return]

    def copy(self, name: str | None = None) -> Variable:
        """The same matrix as a new variable."""
        result = lookup("sparse_copy")(self)
        result.name = name
        return result  # type: ignore[no-any-return]

    @property
    def shape(self) -> Variable:
        """int64 vector of the extents."""
        return lookup("sparse_shape")(self)  # type: ignore[no-any-return]

    @property
    def size(self) -> Variable:
        """int64 number of stored entries."""
        return lookup("sparse_size")(self)  # type: ignore[no-any-return]


DENSIFYING: Final = [
    "__floordiv__", "__rfloordiv__", "__rtruediv__", "__mod__", "__rmod__", "__rpow__", "__and__", "__rand__",
    "__or__", "__ror__", "__xor__", "__rxor__", "__invert__", "any", "all", "nonzero", "nonzero_values",
    "flatten", "ravel", "prod", "var", "std", "argmin", "argmax", "argsort", "sort", "round", "cumsum",
    "cumprod", "squeeze", "reshape", "dimshuffle", "swapaxes", "repeat", "take", "compress", "clip", "fill",
    "norm",
]  # fmt: skip
"""Operators and methods without a sparse meaning."""


def _densifying(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        warn_user(f"{name.strip('_')} makes the sparse matrix {self} dense")
        return getattr(lookup("dense_from_sparse")(self), name)(*args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"`{name}` of the dense matrix, with a UserWarning."
    return method


for _name in DENSIFYING:
    setattr(SparseOperators, _name, _densifying(_name))
