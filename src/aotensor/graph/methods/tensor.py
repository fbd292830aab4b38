"""Operators and methods of a tensor variable. Each finds its op by name, because ops are built on variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from aotensor.errors import GraphTypeError
from aotensor.graph.methods.elementary import ElementaryMethods
from aotensor.graph.methods.numpy_protocol import NumPyProtocol
from aotensor.graph.methods.refusals import Refusals
from aotensor.graph.operations import dense, indexing, numpy_functions

if TYPE_CHECKING:
    from aotensor.graph.variable import Variable

    Axis = int | Sequence[int] | None


class TensorOperators(NumPyProtocol, ElementaryMethods, Refusals):
    """Operators and methods of a tensor variable: `x + y`, `x[1:]`, `x.sum(axis=0)`, `x.T`."""

    __slots__ = ()

    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Variable:
        return dense().add(self, other)

    def __radd__(self, other: Any) -> Variable:
        return dense().add(other, self)

    def __sub__(self, other: Any) -> Variable:
        return dense().sub(self, other)

    def __rsub__(self, other: Any) -> Variable:
        return dense().sub(other, self)

    def __mul__(self, other: Any) -> Variable:
        return dense().mul(self, other)

    def __rmul__(self, other: Any) -> Variable:
        return dense().mul(other, self)

    def __truediv__(self, other: Any) -> Variable:
        return dense().true_div(self, other)

    def __rtruediv__(self, other: Any) -> Variable:
        return dense().true_div(other, self)

    def __floordiv__(self, other: Any) -> Variable:
        return dense().int_div(self, other)

    def __rfloordiv__(self, other: Any) -> Variable:
        return dense().int_div(other, self)

    def __mod__(self, other: Any) -> Variable:
        return dense().mod(self, other)

    def __rmod__(self, other: Any) -> Variable:
        return dense().mod(other, self)

    def __pow__(self, other: Any) -> Variable:
        return dense().pow(self, other)

    def __rpow__(self, other: Any) -> Variable:
        return dense().pow(other, self)

    def __and__(self, other: Any) -> Variable:
        return dense().and_(self, other)

    def __rand__(self, other: Any) -> Variable:
        return dense().and_(other, self)

    def __or__(self, other: Any) -> Variable:
        return dense().or_(self, other)

    def __ror__(self, other: Any) -> Variable:
        return dense().or_(other, self)

    def __xor__(self, other: Any) -> Variable:
        return dense().xor(self, other)

    def __rxor__(self, other: Any) -> Variable:
        return dense().xor(other, self)

    def __lshift__(self, other: Any) -> Variable:
        return dense().left_shift(self, other)

    def __rlshift__(self, other: Any) -> Variable:
        return dense().left_shift(other, self)

    def __rshift__(self, other: Any) -> Variable:
        return dense().right_shift(self, other)

    def __rrshift__(self, other: Any) -> Variable:
        return dense().right_shift(other, self)

    def __matmul__(self, other: Any) -> Variable:
        return dense().matmul(self, other)

    def __rmatmul__(self, other: Any) -> Variable:
        return dense().matmul(other, self)

    def __lt__(self, other: Any) -> Variable:
        return dense().lt(self, other)

    def __le__(self, other: Any) -> Variable:
        return dense().le(self, other)

    def __gt__(self, other: Any) -> Variable:
        return dense().gt(self, other)

    def __ge__(self, other: Any) -> Variable:
        return dense().ge(self, other)

    def __neg__(self) -> Variable:
        return dense().neg(self)

    def __abs__(self) -> Variable:
        return dense().abs(self)

    def __invert__(self) -> Variable:
        return dense().invert(self)

    def __pos__(self) -> Any:
        return self

    def __divmod__(self, other: Any) -> tuple[Variable, Variable]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Variable, Variable]:
        return other // self, other % self

    def __round__(self, ndigits: int = 0) -> Variable:
        return numpy_functions().numpy_round(self, ndigits)

    def __floor__(self) -> Variable:
        return dense().floor(self)

    def __ceil__(self) -> Variable:
        return dense().ceil(self)

    def __trunc__(self) -> Variable:
        return dense().trunc(self)

    def __getitem__(self, index: Any) -> Variable:
        return indexing().subtensor(self, index)

    def __len__(self) -> int:
        """The static extent of axis 0.   Raises: GraphTypeError if it is not known."""
        return _static_extent(self, "len")

    def __iter__(self) -> Iterator[Variable]:
        """Iterate over the rows of a tensor.   Raises: GraphTypeError if the extent of axis 0 is not known."""
        return iter([self[i] for i in range(_static_extent(self, "iteration"))])

    def sum(
        self, axis: Axis = None, keepdims: bool = False, dtype: str | None = None, acc_dtype: str | None = None
    ) -> Variable:
        return dense().sum(self, axis=axis, keepdims=keepdims, dtype=dtype, acc_dtype=acc_dtype)

    def prod(
        self, axis: Axis = None, keepdims: bool = False, dtype: str | None = None, acc_dtype: str | None = None
    ) -> Variable:
        return dense().prod(self, axis=axis, keepdims=keepdims, dtype=dtype, acc_dtype=acc_dtype)

    def mean(
        self, axis: Axis = None, keepdims: bool = False, dtype: str | None = None, acc_dtype: str | None = None
    ) -> Variable:
        return dense().mean(self, axis=axis, keepdims=keepdims, dtype=dtype, acc_dtype=acc_dtype)

    def max(self, axis: Axis = None, keepdims: bool = False) -> Variable:
        return dense().max(self, axis=axis, keepdims=keepdims)

    def min(self, axis: Axis = None, keepdims: bool = False) -> Variable:
        return dense().min(self, axis=axis, keepdims=keepdims)

    def ptp(self, axis: Axis = None, keepdims: bool = False) -> Variable:
        return dense().ptp(self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Variable:
        return dense().argmax(self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Variable:
        return dense().argmin(self, axis=axis, keepdims=keepdims)

    def any(self, axis: Axis = None, keepdims: bool = False) -> Variable:
        return dense().any(self, axis=axis, keepdims=keepdims)

    def all(self, axis: Axis = None, keepdims: bool = False) -> Variable:
        return dense().all(self, axis=axis, keepdims=keepdims)

    def var(self, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Variable:
        return dense().var(self, axis=axis, ddof=ddof, keepdims=keepdims)

    def std(self, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Variable:
        return dense().std(self, axis=axis, ddof=ddof, keepdims=keepdims)

    def norm(self, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Variable:
        return dense().norm(self, ord, axis=axis, keepdims=keepdims)

    def cumsum(self, axis: int | None = None) -> Variable:
        return dense().cumsum(self, axis=axis)

    def cumprod(self, axis: int | None = None) -> Variable:
        return dense().cumprod(self, axis=axis)

    def sort(self, axis: int | None = -1, kind: str | None = None) -> Variable:
        return dense().sort(self, axis=axis, kind=kind)

    def argsort(self, axis: int | None = -1, kind: str | None = None) -> Variable:
        return dense().argsort(self, axis=axis, kind=kind)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Variable:
        """Insertion positions of elements in this ascending vector."""
        return dense().searchsorted(self, v, side=side, sorter=sorter)

    def trace(self, offset: int = 0) -> Variable:
        return dense().trace(self, offset)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable:
        return dense().diagonal(self, offset, axis1, axis2)

    def dot(self, other: Any) -> Variable:
        return dense().dot(self, other)

    def astype(self, dtype: Any) -> Variable:
        return dense().cast(self, dtype)

    def clip(self, lower: Any, upper: Any) -> Variable:
        return dense().clip(self, lower, upper)

    def round(self, mode: str = "half_to_even") -> Variable:
        return dense().round(self, mode)

    def fill(self, value: Any) -> Variable:
        return dense().second(self, value)

    def flatten(self, ndim: int = 1) -> Variable:
        return dense().flatten(self, ndim)

    def ravel(self) -> Variable:
        return dense().ravel(self)

    def squeeze(self, axis: Axis = None) -> Variable:
        return dense().squeeze(self, axis)

    def swapaxes(self, axis1: int, axis2: int) -> Variable:
        return dense().swapaxes(self, axis1, axis2)

    def repeat(self, repeats: Any, axis: int | None = None) -> Variable:
        return dense().repeat(self, repeats, axis)

    def zeros_like(self, dtype: Any = None) -> Variable:
        return dense().zeros_like(self, dtype)

    def ones_like(self, dtype: Any = None) -> Variable:
        return dense().ones_like(self, dtype)

    def reshape(self, *shape: Any) -> Variable:
        """x.reshape(2, -1) or x.reshape((2, -1)); extents may be symbolic."""
        return dense().reshape(self, shape[0] if len(shape) == 1 and _is_shape(shape[0]) else shape)

    def dimshuffle(self, *pattern: Any) -> Variable:
        """x.dimshuffle(1, "x", 0): permute axes; "x" is a new axis of extent 1."""
        named = pattern[0] if len(pattern) == 1 and isinstance(pattern[0], list | tuple) else pattern
        return dense().dimshuffle(self, named)

    def transpose(self, *axes: Any) -> Variable:
        """The axes permuted, or reversed if none are given."""
        named = axes[0] if len(axes) == 1 and isinstance(axes[0], list | tuple) else axes
        return dense().transpose(self, named or None)

    def take(self, indices: Any, axis: int | None = None, mode: str = "raise") -> Variable:
        return dense().take(self, indices, axis=axis, mode=mode)

    def nonzero(self, return_matrix: bool = False) -> Any:
        """Positions of the elements that are not 0, one vector per axis."""
        return dense().nonzero(self, return_matrix=return_matrix)

    def nonzero_values(self) -> Variable:
        """The elements that are not 0, in C order."""
        return dense().nonzero_values(self)

    def compress(self, condition: Any, axis: int | None = None) -> Variable:
        """The slices along an axis where the condition is not 0."""
        return dense().compress(condition, self, axis=axis)

    def choose(self, choices: Any, mode: str = "raise") -> Variable:
        """choices[x[i]][i] for each position i, where this tensor x has the numbers of the choices."""
        return dense().choose(self, choices, mode=mode)

    def inc(self, value: Any, ignore_duplicates: bool = False) -> Variable:
        """A copy of x with `value` added at x[idx]; call it on the variable x[idx]."""
        return dense().inc_subtensor(self, value, ignore_duplicates)

    def set(self, value: Any) -> Variable:
        """A copy of x with `value` assigned at x[idx]; call it on the variable x[idx]."""
        return dense().set_subtensor(self, value)

    def copy(self, name: str | None = None) -> Variable:
        """A new variable with the value of this one."""
        result = dense().tensor_copy(self)
        result.name = name
        return result

    @property
    def real(self) -> Variable:
        """The real part; the variable itself where it is real."""
        return dense().real(self)

    @property
    def imag(self) -> Variable:
        """The imaginary part; zeros where the variable is real."""
        return dense().imag(self)

    @property
    def T(self) -> Variable:
        return dense().transpose(self)

    @property
    def mT(self) -> Variable:
        """The transpose of the last two axes."""
        return dense().matrix_transpose(self)

    @property
    def shape(self) -> Variable:
        """int64 vector of the extents."""
        return dense().shape(self)

    @property
    def size(self) -> Variable:
        """int64 number of elements."""
        return dense().size(self)


def _is_shape(value: Any) -> bool:
    return isinstance(value, list | tuple) or getattr(value, "ndim", 0) == 1


def _static_extent(x: Any, what: str) -> int:
    if x.ndim == 0:
        raise GraphTypeError(f"{what} needs an axis, and a scalar has none", lines=[x.describe()])
    extent = x.static_shape[0]
    if extent is None:
        raise GraphTypeError(
            f"{what} needs an extent that is known at compile time",
            lines=[x.describe()],
            hint="use scan to loop over rows",
        )
    return int(extent)
