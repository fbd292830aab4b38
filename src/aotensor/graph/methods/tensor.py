"""Operators and methods of a tensor variable. Each finds its op by name, because ops are built on variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from aotensor.errors import GraphTypeError
from aotensor.graph.methods.numpy_protocol import NumPyProtocol
from aotensor.graph.methods.refusals import Refusals
from aotensor.graph.methods.registered import RegisteredMethods
from aotensor.graph.operations import dense, indexing

if TYPE_CHECKING:
    from aotensor.graph.variable import Variable

    Axis = int | Sequence[int] | None


class TensorOperators(NumPyProtocol, RegisteredMethods, Refusals):
    """Operators and methods of a tensor variable: `x + y`, `x[1:]`, `x.sum(axis=0)`, `x.T`."""

    __slots__ = ()

    __hash__ = object.__hash__

    def __pos__(self) -> Any:
        return self

    def __divmod__(self, other: Any) -> tuple[Variable, Variable]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Variable, Variable]:
        return other // self, other % self

    def __getitem__(self, index: Any) -> Variable:
        return indexing.subtensor(self, index)

    def __len__(self) -> int:
        """The static extent of axis 0.   Raises: GraphTypeError if it is not known."""
        return _static_extent(self, "len")

    def __iter__(self) -> Iterator[Variable]:
        """Iterate over the rows of a tensor.   Raises: GraphTypeError if the extent of axis 0 is not known."""
        return iter([self[i] for i in range(_static_extent(self, "iteration"))])

    def sum(
        self, axis: Axis = None, keepdims: bool = False, dtype: str | None = None, acc_dtype: str | None = None
    ) -> Variable:
        return dense.sum(self, axis=axis, keepdims=keepdims, dtype=dtype, acc_dtype=acc_dtype)

    def prod(
        self, axis: Axis = None, keepdims: bool = False, dtype: str | None = None, acc_dtype: str | None = None
    ) -> Variable:
        return dense.prod(self, axis=axis, keepdims=keepdims, dtype=dtype, acc_dtype=acc_dtype)

    def mean(
        self, axis: Axis = None, keepdims: bool = False, dtype: str | None = None, acc_dtype: str | None = None
    ) -> Variable:
        return dense.mean(self, axis=axis, keepdims=keepdims, dtype=dtype, acc_dtype=acc_dtype)

    def dot(self, other: Any) -> Variable:
        return dense.dot(self, other)

    def astype(self, dtype: Any) -> Variable:
        return dense.cast(self, dtype)

    def clip(self, lower: Any, upper: Any) -> Variable:
        return dense.clip(self, lower, upper)

    def fill(self, value: Any) -> Variable:
        return dense.second(self, value)

    def reshape(self, *shape: Any) -> Variable:
        """x.reshape(2, -1) or x.reshape((2, -1)); extents may be symbolic."""
        return dense.reshape(self, shape[0] if len(shape) == 1 and _is_shape(shape[0]) else shape)

    def dimshuffle(self, *pattern: Any) -> Variable:
        """x.dimshuffle(1, "x", 0): permute axes; "x" is a new axis of extent 1."""
        named = pattern[0] if len(pattern) == 1 and isinstance(pattern[0], list | tuple) else pattern
        return dense.dimshuffle(self, named)

    def transpose(self, *axes: Any) -> Variable:
        """The axes permuted, or reversed if none are given."""
        named = axes[0] if len(axes) == 1 and isinstance(axes[0], list | tuple) else axes
        return dense.transpose(self, named or None)

    def compress(self, condition: Any, axis: int | None = None) -> Variable:
        """The slices along an axis where the condition is not 0."""
        return dense.compress(condition, self, axis=axis)

    def inc(self, value: Any, ignore_duplicates: bool = False) -> Variable:
        """A copy of x with `value` added at x[idx]; call it on the variable x[idx]."""
        return dense.inc_subtensor(self, value, ignore_duplicates)

    def set(self, value: Any) -> Variable:
        """A copy of x with `value` assigned at x[idx]; call it on the variable x[idx]."""
        return dense.set_subtensor(self, value)

    def copy(self, name: str | None = None) -> Variable:
        """A new variable with the value of this one."""
        result = dense.tensor_copy(self)
        result.name = name
        return result

    @property
    def real(self) -> Variable:
        """The real part; the variable itself where it is real."""
        return dense.real(self)

    @property
    def imag(self) -> Variable:
        """The imaginary part; zeros where the variable is real."""
        return dense.imag(self)

    @property
    def T(self) -> Variable:
        return dense.transpose(self)

    @property
    def mT(self) -> Variable:
        """The transpose of the last two axes."""
        return dense.matrix_transpose(self)

    @property
    def shape(self) -> Variable:
        """int64 vector of the extents."""
        return dense.shape(self)

    @property
    def size(self) -> Variable:
        """int64 number of elements."""
        return dense.size(self)


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
