"""Checks of distribution parameters."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.variable import Constant, Variable, Variables, as_tensor
from aotensor.ops.batching import SampleOp
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.linear import LinearOp

_LARGEST: Final = float(np.finfo(np.float64).max)


@frozen_dataclass
class Checked(SampleOp, LinearOp):
    """Base of ops that return x after a run-time check of its elements.   label: their name, at the start of the
    message
    """

    is_analytic: ClassVar[bool] = False
    label: str

    @property
    @abstractmethod
    def message(self) -> str:
        """The message of the error when the check fails."""

    @abstractmethod
    def is_good(self, x: Array) -> bool:
        """Does an array satisfy the check?"""

    @abstractmethod
    def holds(self, b: TensorBuilder, x: Tensor) -> Scalar:
        """Emit whether all elements of x satisfy the check, a bool scalar."""

    def infer_type(self, x: TensorType) -> TensorType:
        return x

    def reference(self, x: Array) -> Array:
        if not self.is_good(x):
            raise GraphValueError(self.message)
        return x.copy()

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return cotangent

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [tangents[0]]

    def lower(self, b: TensorBuilder, x: Tensor) -> Tensor:
        b.check(self.holds(b, x), self.message)
        return x


def _all(b: TensorBuilder, good: Tensor) -> Scalar:
    return b.item(b.reduce("and", good, range(len(good.extents))))


@frozen_dataclass
class Ascending(Checked):
    """Check that elements do not decrease along the last axis."""

    name: ClassVar[str] = "ascending"
    notation: ClassVar[str] = "{0}"

    @property
    def message(self) -> str:
        return f"{self.label} that do not ascend"

    def is_good(self, x: Array) -> bool:
        return not np.any(x[..., 1:] < x[..., :-1])

    def holds(self, b: TensorBuilder, x: Tensor) -> Scalar:
        v, *others = b.scalars, *x.extents[:-1]
        pairs = v.imax(x.extents[-1] - 1, 0)

        def in_order(v: ScalarBuilder, *at: Scalar) -> Scalar:
            *line, k = at
            return ~(v.load(x, *line, k + 1) < v.load(x, *line, k))

        return _all(b, b.tabulate([*others, pairs], "bool", in_order))


@frozen_dataclass
class Nonempty(Checked):
    """Check that an axis has an element.   label: the function that needs one. place: the axis, counted from the end"""

    name: ClassVar[str] = "nonempty"
    notation: ClassVar[str] = "{0}"
    axis: int
    place: int

    @property
    def message(self) -> str:
        return f"{self.label}: axis {self.axis} is empty"

    def is_good(self, x: Array) -> bool:
        return bool(x.shape[self.place])

    def holds(self, b: TensorBuilder, x: Tensor) -> Scalar:
        return b.scalars.compare("ne", x.extents[self.place], b.scalars.index(0))


def nonempty(label: str, x: Variable, axes: Sequence[int]) -> Variable:
    """x, after a check that each of `axes` has an element, at run time for unknown extents.

    Raises: GraphValueError for one that is known to have none.
    """
    for axis in axes:
        check = Nonempty(label, axis, axis - x.ndim)
        extent = x.static_shape[axis]
        if extent == 0:
            raise GraphValueError(check.message, lines=[x.describe()])
        x = check(x) if extent is None else x
    return x


@frozen_dataclass
class Parameter(Checked):
    """Check that all elements are in [low, high], or (low, high] if `is_open`, and not nan.   label: such as
    "poisson: lam", for messages
    """

    name: ClassVar[str] = "parameter"
    notation: ClassVar[str] = "{0}"
    low: float
    high: float
    is_open: bool = False

    @property
    def message(self) -> str:
        if (self.low, self.high) == (-_LARGEST, _LARGEST):
            return f"{self.label} has an element that is not finite"
        low, high = f"{'above' if self.is_open else 'at least'} {self.low:g}", f"at most {self.high:g}"
        wanted = " and ".join([low] * math.isfinite(self.low) + [high] * math.isfinite(self.high))
        return f"{self.label} has an element that is not {wanted}"

    def is_good(self, x: Array) -> bool:
        above = x > self.low if self.is_open else x >= self.low
        return bool(np.all(above & (x <= self.high)))

    def holds(self, b: TensorBuilder, x: Tensor) -> Scalar:
        def is_good(v: ScalarBuilder, element: Scalar) -> Scalar:
            wide = v.cast(element, "float64")
            above = v.compare("gt" if self.is_open else "ge", wide, v.constant(self.low, "float64"))
            return above & (wide <= self.high)

        return _all(b, b.map(is_good, x, dtype="bool"))


def parameter(
    label: str, value: Any, dtype: str, low: float = -math.inf, high: float = math.inf, is_open: bool = False
) -> Variable:
    """`value` in `dtype`, checked as `Parameter` says: at once if it is a constant, else at run time.

    Raises: GraphValueError for a constant outside, GraphTypeError for a fractional value where `dtype` is an integer's.
    """
    x = as_tensor(value)
    if dtypes.is_discrete(dtype) and dtypes.is_float(x.dtype):
        raise GraphTypeError(f"{label} must be an integer, not {x.type}", lines=[x.describe()])
    check = Parameter(label, low, high, is_open)
    converted = cast(x, dtype)
    if math.isinf(low) and math.isinf(high):
        return converted
    if isinstance(x, Constant):
        if not check.is_good(x.data):
            raise GraphValueError(check.message, lines=[x.describe()])
        return converted
    return check(converted)  # type: ignore[no-any-return]


def finite(label: str, x: Variable) -> Variable:
    """x, after a run-time check that all elements are finite."""
    return Parameter(label, -_LARGEST, _LARGEST)(x)  # type: ignore[no-any-return]
