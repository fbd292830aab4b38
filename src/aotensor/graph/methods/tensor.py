"""Operators and methods of a tensor variable. Each finds its op by name, because ops are built on variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from aotensor.errors import GraphTypeError
from aotensor.graph.methods.elementary import ElementaryMethods
from aotensor.graph.methods.numpy_protocol import NumPyProtocol
from aotensor.graph.methods.refusals import Refusals
from aotensor.graph.public import lookup

if TYPE_CHECKING:
    from aotensor.graph.variable import Variable

    Axis = int | Sequence[int] | None


class TensorOperators(NumPyProtocol, ElementaryMethods, Refusals):
    """What can be written on a variable: `x + y`, `x[1:]`, `x.sum(axis=0)`, `x.T`."""

    __slots__ = ()

    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Variable:
        return lookup("add")(self, other)  # type: ignore[no-any-return]

    def __radd__(self, other: Any) -> Variable:
        return lookup("add")(other, self)  # type: ignore[no-any-return]

    def __sub__(self, other: Any) -> Variable:
        return lookup("sub")(self, other)  # type: ignore[no-any-return]

    def __rsub__(self, other: Any) -> Variable:
        return lookup("sub")(other, self)  # type: ignore[no-any-return]

    def __mul__(self, other: Any) -> Variable:
        return lookup("mul")(self, other)  # type: ignore[no-any-return]

    def __rmul__(self, other: Any) -> Variable:
        return lookup("mul")(other, self)  # type: ignore[no-any-return]

    def __truediv__(self, other: Any) -> Variable:
        return lookup("true_div")(self, other)  # type: ignore[no-any-return]

    def __rtruediv__(self, other: Any) -> Variable:
        return lookup("true_div")(other, self)  # type: ignore[no-any-return]

    def __floordiv__(self, other: Any) -> Variable:
        return lookup("int_div")(self, other)  # type: ignore[no-any-return]

    def __rfloordiv__(self, other: Any) -> Variable:
        return lookup("int_div")(other, self)  # type: ignore[no-any-return]

    def __mod__(self, other: Any) -> Variable:
        return lookup("mod")(self, other)  # type: ignore[no-any-return]

    def __rmod__(self, other: Any) -> Variable:
        return lookup("mod")(other, self)  # type: ignore[no-any-return]

    def __pow__(self, other: Any) -> Variable:
        return lookup("pow")(self, other)  # type: ignore[no-any-return]

    def __rpow__(self, other: Any) -> Variable:
        return lookup("pow")(other, self)  # type: ignore[no-any-return]

    def __and__(self, other: Any) -> Variable:
        return lookup("and_")(self, other)  # type: ignore[no-any-return]

    def __rand__(self, other: Any) -> Variable:
        return lookup("and_")(other, self)  # type: ignore[no-any-return]

    def __or__(self, other: Any) -> Variable:
        return lookup("or_")(self, other)  # type: ignore[no-any-return]

    def __ror__(self, other: Any) -> Variable:
        return lookup("or_")(other, self)  # type: ignore[no-any-return]

    def __xor__(self, other: Any) -> Variable:
        return lookup("xor")(self, other)  # type: ignore[no-any-return]

    def __rxor__(self, other: Any) -> Variable:
        return lookup("xor")(other, self)  # type: ignore[no-any-return]

    def __matmul__(self, other: Any) -> Variable:
        return lookup("matmul")(self, other)  # type: ignore[no-any-return]

    def __rmatmul__(self, other: Any) -> Variable:
        return lookup("matmul")(other, self)  # type: ignore[no-any-return]

    def __lt__(self, other: Any) -> Variable:
        return lookup("lt")(self, other)  # type: ignore[no-any-return]

    def __le__(self, other: Any) -> Variable:
        return lookup("le")(self, other)  # type: ignore[no-any-return]

    def __gt__(self, other: Any) -> Variable:
        return lookup("gt")(self, other)  # type: ignore[no-any-return]

    def __ge__(self, other: Any) -> Variable:
        return lookup("ge")(self, other)  # type: ignore[no-any-return]

    def __neg__(self) -> Variable:
        return lookup("neg")(self)  # type: ignore[no-any-return]

    def __abs__(self) -> Variable:
        return lookup("abs")(self)  # type: ignore[no-any-return]

    def __invert__(self) -> Variable:
        return lookup("invert")(self)  # type: ignore[no-any-return]

    def __pos__(self) -> Any:
        return self

    def __divmod__(self, other: Any) -> tuple[Variable, Variable]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Variable, Variable]:
        return other // self, other % self

    def __round__(self, ndigits: int = 0) -> Variable:
        return lookup("numpy.round")(self, ndigits)  # type: ignore[no-any-return]

    def __floor__(self) -> Variable:
        return lookup("floor")(self)  # type: ignore[no-any-return]

    def __ceil__(self) -> Variable:
        return lookup("ceil")(self)  # type: ignore[no-any-return]

    def __trunc__(self) -> Variable:
        return lookup("trunc")(self)  # type: ignore[no-any-return]

    def __getitem__(self, index: Any) -> Variable:
        return lookup("subtensor")(self, index)  # type: ignore[no-any-return]

    def __len__(self) -> int:
        """The extent of axis 0, where it is a number.   Raises: GraphTypeError where it is not."""
        return _static_extent(self, "len")

    def __iter__(self) -> Iterator[Variable]:
        """Rows of a tensor whose axis 0 has a known extent.   Raises: GraphTypeError where it is not known."""
        return iter([self[i] for i in range(_static_extent(self, "iteration"))])

    def sum(self, axis: Axis = None, keepdims: bool = False, dtype: str | None = None) -> Variable:
        return lookup("sum")(self, axis=axis, keepdims=keepdims, dtype=dtype)  # type: ignore[no-any-return]

    def prod(self, axis: Axis = None, keepdims: bool = False, dtype: str | None = None) -> Variable:
        return lookup("prod")(self, axis=axis, keepdims=keepdims, dtype=dtype)  # type: ignore[no-any-return]

    def mean(self, axis: Axis = None, keepdims: bool = False) -> Variable:
        return lookup("mean")(self, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def max(self, axis: Axis = None, keepdims: bool = False) -> Variable:
        return lookup("max")(self, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def min(self, axis: Axis = None, keepdims: bool = False) -> Variable:
        return lookup("min")(self, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def ptp(self, axis: Axis = None, keepdims: bool = False) -> Variable:
        return lookup("ptp")(self, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Variable:
        return lookup("argmax")(self, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Variable:
        return lookup("argmin")(self, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def any(self, axis: Axis = None, keepdims: bool = False) -> Variable:
        return lookup("any")(self, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def all(self, axis: Axis = None, keepdims: bool = False) -> Variable:
        return lookup("all")(self, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def var(self, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Variable:
        return lookup("var")(self, axis=axis, ddof=ddof, keepdims=keepdims)  # type: ignore[no-any-return]

    def std(self, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Variable:
        return lookup("std")(self, axis=axis, ddof=ddof, keepdims=keepdims)  # type: ignore[no-any-return]

    def norm(self, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Variable:
        return lookup("norm")(self, ord, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def cumsum(self, axis: int | None = None) -> Variable:
        return lookup("cumsum")(self, axis=axis)  # type: ignore[no-any-return]

    def cumprod(self, axis: int | None = None) -> Variable:
        return lookup("cumprod")(self, axis=axis)  # type: ignore[no-any-return]

    def sort(self, axis: int | None = -1) -> Variable:
        return lookup("sort")(self, axis=axis)  # type: ignore[no-any-return]

    def argsort(self, axis: int | None = -1) -> Variable:
        return lookup("argsort")(self, axis=axis)  # type: ignore[no-any-return]

    def trace(self, offset: int = 0) -> Variable:
        return lookup("trace")(self, offset)  # type: ignore[no-any-return]

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable:
        return lookup("diagonal")(self, offset, axis1, axis2)  # type: ignore[no-any-return]

    def dot(self, other: Any) -> Variable:
        return lookup("dot")(self, other)  # type: ignore[no-any-return]

    def astype(self, dtype: Any) -> Variable:
        return lookup("cast")(self, dtype)  # type: ignore[no-any-return]

    def clip(self, lower: Any, upper: Any) -> Variable:
        return lookup("clip")(self, lower, upper)  # type: ignore[no-any-return]

    def round(self, mode: str = "half_to_even") -> Variable:
        return lookup("round")(self, mode)  # type: ignore[no-any-return]

    def fill(self, value: Any) -> Variable:
        return lookup("second")(self, value)  # type: ignore[no-any-return]

    def flatten(self, ndim: int = 1) -> Variable:
        return lookup("flatten")(self, ndim)  # type: ignore[no-any-return]

    def ravel(self) -> Variable:
        return lookup("ravel")(self)  # type: ignore[no-any-return]

    def squeeze(self, axis: Axis = None) -> Variable:
        return lookup("squeeze")(self, axis)  # type: ignore[no-any-return]

    def swapaxes(self, axis1: int, axis2: int) -> Variable:
        return lookup("swapaxes")(self, axis1, axis2)  # type: ignore[no-any-return]

    def repeat(self, repeats: Any, axis: int | None = None) -> Variable:
        return lookup("repeat")(self, repeats, axis)  # type: ignore[no-any-return]

    def zeros_like(self, dtype: Any = None) -> Variable:
        return lookup("zeros_like")(self, dtype)  # type: ignore[no-any-return]

    def ones_like(self, dtype: Any = None) -> Variable:
        return lookup("ones_like")(self, dtype)  # type: ignore[no-any-return]

    def reshape(self, *shape: Any) -> Variable:
        """x.reshape(2, -1) or x.reshape((2, -1)); extents may be symbolic."""
        return lookup("reshape")(self, shape[0] if len(shape) == 1 and _is_shape(shape[0]) else shape)  # type: ignore[no-any-return]

    def dimshuffle(self, *pattern: Any) -> Variable:
        """x.dimshuffle(1, "x", 0): permute axes; "x" is a new axis of extent 1."""
        named = pattern[0] if len(pattern) == 1 and isinstance(pattern[0], list | tuple) else pattern
        return lookup("dimshuffle")(self, named)  # type: ignore[no-any-return]

    def transpose(self, *axes: Any) -> Variable:
        """Axes permuted, reversed when none are named."""
        named = axes[0] if len(axes) == 1 and isinstance(axes[0], list | tuple) else axes
        return lookup("transpose")(self, named or None)  # type: ignore[no-any-return]

    def take(self, indices: Any, axis: int | None = None, mode: str = "raise") -> Variable:
        return lookup("take")(self, indices, axis=axis, mode=mode)  # type: ignore[no-any-return]

    def nonzero(self, return_matrix: bool = False) -> Any:
        """Positions of the elements that are not 0, one vector per axis."""
        return lookup("nonzero")(self, return_matrix=return_matrix)

    def nonzero_values(self) -> Variable:
        """The elements that are not 0, in C order."""
        return lookup("nonzero_values")(self)  # type: ignore[no-any-return]

    def compress(self, condition: Any, axis: int | None = None) -> Variable:
        """The slices along an axis where a condition holds."""
        return lookup("compress")(condition, self, axis=axis)  # type: ignore[no-any-return]

    def choose(self, choices: Any, mode: str = "raise") -> Variable:
        """For every element the number of the choice to take it from."""
        return lookup("choose")(self, choices, mode=mode)  # type: ignore[no-any-return]

    def inc(self, value: Any, ignore_duplicates: bool = False) -> Variable:
        """For x[idx]: a copy of x with value added there."""
        return lookup("inc_subtensor")(self, value, ignore_duplicates)  # type: ignore[no-any-return]

    def set(self, value: Any) -> Variable:
        """For x[idx]: a copy of x with value put there."""
        return lookup("set_subtensor")(self, value)  # type: ignore[no-any-return]

    def copy(self, name: str | None = None) -> Variable:
        """The same value as a new variable."""
        result = lookup("identity")(self)
        result.name = name
        return result  # type: ignore[no-any-return]

    @property
    def T(self) -> Variable:
        return lookup("transpose")(self)  # type: ignore[no-any-return]

    @property
    def mT(self) -> Variable:
        """The last two axes exchanged."""
        return lookup("matrix_transpose")(self)  # type: ignore[no-any-return]

    @property
    def shape(self) -> Variable:
        """int64 vector of the extents."""
        return lookup("shape")(self)  # type: ignore[no-any-return]

    @property
    def size(self) -> Variable:
        """int64 number of elements."""
        return lookup("size")(self)  # type: ignore[no-any-return]


def _is_shape(value: Any) -> bool:
    return isinstance(value, list | tuple) or getattr(value, "ndim", 0) == 1


def _static_extent(x: Any, what: str) -> int:
    if x.ndim == 0:
        raise GraphTypeError(f"{what} over a scalar", lines=[x.describe()])
    extent = x.static_shape[0]
    if extent is None:
        raise GraphTypeError(
            f"{what} needs an extent that is known at compile time",
            lines=[x.describe()],
            hint="use scan to loop over rows",
        )
    return int(extent)
