"""Variables, constants and shared variables, each with its source line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from aotensor.config import config
from aotensor.core import dtypes
from aotensor.core.types import DEEPEST, Array, TensorType, as_array, cast_array
from aotensor.errors import GraphOverflowError, GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.expression import expression_of
from aotensor.graph.methods.tensor import TensorOperators
from aotensor.graph.operations import dense, evaluation, sparse
from aotensor.graph.placeholder import DisconnectedType, NullType
from aotensor.graph.site import user_site

if TYPE_CHECKING:
    from aotensor.graph.op import Apply

Type: TypeAlias = TensorType | DisconnectedType | NullType


class Variable(TensorOperators):
    """A value of the symbolic graph: a leaf, or output `index` of the node `owner`.

    `name` may be set at any time; all else is fixed. `==` is identity (use `eq` for the elementwise comparison).

    origins: for a derivative, the functions that it was derived from, whose inputs count as used.
    """

    __slots__ = ("__weakref__", "index", "name", "origins", "owner", "site", "type")

    is_sparse = False

    def __new__(cls, type: Any = None, *args: Any, **options: Any) -> Variable:
        """Construct a SparseVariable for a sparse type."""
        chosen: Any = getattr(type, "variable_class", cls) if cls is Variable else cls
        made: Variable = object.__new__(chosen)
        return made

    def __init__(self, type: Type, owner: Apply | None = None, index: int = 0, name: str | None = None) -> None:
        self.type: Any = type
        self.owner = owner
        self.index = index
        self.name = name
        self.site = user_site()
        self.origins: tuple[Variable, ...] = ()

    @property
    def dtype(self) -> str:
        return self.tensor_type.dtype

    @property
    def ndim(self) -> int:
        return self.tensor_type.rank

    @property
    def static_shape(self) -> tuple[int | None, ...]:
        return self.tensor_type.static_shape

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        return self.tensor_type.broadcastable

    @property
    def tensor_type(self) -> TensorType:
        """The type of a variable that has a value.   Raises: GraphTypeError if it is disconnected or null."""
        if isinstance(self.type, TensorType):
            return self.type
        reason = self.type.why_null if isinstance(self.type, NullType) else "nothing depends on it"
        raise GraphTypeError(f"a variable of {self.type} has no value: {reason}")

    def __str__(self) -> str:
        """The name, or else the expression: `x + y`."""
        return self.name or expression_of(self)

    def __repr__(self) -> str:
        return f"{self}: {self.type}"

    def describe(self) -> str:
        """`a: float64[3, 4]   made at model.py:12`, as listed in error messages."""
        return f"{self}: {self.type}" + (f"   made at {self.site}" if self.site else "")

    def eval(
        self, inputs_to_values: Mapping[Variable | str, object] | Mapping[Variable, object] | None = None
    ) -> Array:
        """The value by the NumPy reference, given the values of the leaves it depends on, by variable or by name.

        Raises: MissingInputError for a leaf without a value, GraphTypeError for a value of another type,
        GraphValueError for a name that none or several have.
        """
        return evaluation.evaluate(self, {} if inputs_to_values is None else inputs_to_values)


Variables: TypeAlias = Sequence[Variable]
"""Inputs, outputs, tangents or cotangents of a node."""


class Constant(Variable):
    """A value that is known when the graph is built."""

    __slots__ = ("data",)

    def __init__(self, data: Array, type: TensorType | None = None, name: str | None = None) -> None:
        data = np.array(as_array(data), order="C")
        data.flags.writeable = False
        super().__init__(type or TensorType(data.dtype.name, data.shape), name=name)
        self.data = data


class SharedVariable(Variable):
    """A variable with state: an implicit input with a value, and an implicit output where `updates` replaces it.

    default_update: its next value in every function that reads it and has no other update for it; can be set anytime.
    """

    __slots__ = ("_value", "default_update")

    def __init__(self, value: Array, type: TensorType, name: str | None = None) -> None:
        super().__init__(type, name=name)
        self._value = value
        self.default_update: Any = None

    @coerced
    def get_value(self, borrow: bool = False) -> Array:
        """The current value: a copy, unless `borrow`."""
        return self._value if borrow else self._value.copy()

    @coerced
    def set_value(self, value: object, borrow: bool = False) -> None:
        """Replace the value; extents may change where the type leaves them unknown.

        Raises: GraphTypeError for another dtype or rank.
        """
        array = self.tensor_type.filter(value)
        self._value = array if borrow and array is value else np.array(array)


@coerced
def shared(
    value: object, name: str | None = None, borrow: bool = False, shape: Sequence[int | str | None] | None = None
) -> SharedVariable:
    """A shared variable of the dtype and rank of `value`; its dims are unknown unless `shape` gives them.

    A Python float gives float64, an int int64, a SciPy matrix a sparse variable. The value is copied unless `borrow`.

    Raises: GraphTypeError for a Variable, a masked array and anything but an array, UnsupportedError for a dtype that
    cannot be compiled.
    """
    if isinstance(value, Variable):
        raise GraphTypeError(f"shared needs a value, not the symbolic variable {value}")
    if value.__class__.__module__.startswith("scipy.sparse"):
        return sparse.shared(value, name, borrow=borrow, shape=shape)
    array = as_array(value)
    type = TensorType(dtypes.canonical(array.dtype), tuple(shape) if shape is not None else (None,) * array.ndim)
    return SharedVariable(type.filter(array) if borrow else np.array(type.filter(array)), type, name)


@coerced
def constant(value: object, name: str | None = None, dtype: DTypeLike | None = None) -> Constant:
    """A constant. A Python int gets the smallest integer type that holds it, a Python float floatX, a complex
    number the complex dtype of floatX.

    dtype: rounds floats to float32, and converts what fits exactly; `cast` does more.

    Raises: GraphTypeError for a Python bool without dtype (it is nearly always a misused `==`), a masked array, a
    np.matrix, whose operators mean something else, and what is not an array; GraphOverflowError for an integer beyond
    64 bits; UnsupportedError for a dtype that cannot be compiled; GraphValueError if `dtype` would change the values.
    """
    if isinstance(value, Variable):
        raise GraphTypeError(f"constant needs a value, not the symbolic variable {value}")
    if isinstance(value, np.matrix):
        raise GraphTypeError(
            "np.matrix is not supported as a tensor: its * is the matrix product", hint="pass np.asarray(m)"
        )
    if dtype is not None:
        if type(value) is int and dtypes.is_inexact(dtypes.canonical(dtype)):
            value = _float(value)
        return Constant(_exact(as_array(value), dtypes.canonical(dtype)), name=name)
    if isinstance(value, bool):
        raise GraphTypeError(
            "a Python bool is not a tensor", hint="`==` on variables is identity; write eq(x, y), or pass np.bool_"
        )
    if isinstance(value, int | float) and not isinstance(value, np.generic):
        from_literal = dtypes.weak_scalar(value) if isinstance(value, int) else config.floatX
        return Constant(np.asarray(value, dtype=from_literal), name=name)
    if isinstance(value, complex) and not isinstance(value, np.generic):
        return Constant(np.asarray(value, dtype=dtypes.complex_of(config.floatX)), name=name)
    array = as_array(value)
    return Constant(array.astype(dtypes.canonical(array.dtype)), name=name)


def _float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        raise GraphOverflowError(f"an integer of {number.bit_length()} bits does not fit float64") from None


def _exact(array: Array, dtype: str) -> Array:
    """Convert an array to another dtype.   Raises: GraphValueError if more than the rounding of floats changes."""
    kind = dtypes.kind_of(array.dtype)
    if kind not in "fc":
        dtypes.canonical(array.dtype)
    if kind == "c" and not dtypes.is_complex(dtype):
        raise GraphTypeError(f"a complex value does not fit {dtype}", hint="pass its real part, .real")
    with np.errstate(all="ignore"):
        found = cast_array(array, dtype)
        if kind in "fc" and dtypes.is_inexact(dtype):
            is_same = np.array_equal(np.isinf(found), np.isinf(array))
        else:
            is_same = np.array_equal(found, array)
    if not is_same:
        shown = str(array) if array.size <= 4 else f"an array of {array.dtype}"
        raise GraphValueError(f"{shown} does not fit {dtype}", hint="cast(x, dtype) truncates, saturates or wraps")
    return found


@coerced
def as_tensor(value: object, name: str | None = None, ndim: int | None = None) -> Variable:
    """`value` as a variable: variables are returned, numbers and arrays become constants, nested lists are stacked.

    Raises: GraphTypeError for what is not a tensor, or if `ndim` is given and the rank is higher.
    """
    if isinstance(value, Variable):
        if value.is_sparse:
            hint = "sp.dense_from_sparse makes it dense; functions of aotensor.sparse accept sparse matrices"
            raise GraphTypeError("expected a dense tensor, found a sparse matrix", lines=[value.describe()], hint=hint)
        result = value
    elif isinstance(value, list | tuple) and _holds_variable(value):
        result = dense.stack([as_tensor(item) for item in value])
    elif isinstance(value, np.ndarray | np.generic | bool | int | float | complex | list | tuple) or _is_array_like(
        value
    ):
        result = constant(value, name=name)
    elif value.__class__.__module__.startswith("scipy.sparse"):
        hint = "pass its .toarray(), or use functions of aotensor.sparse"
        raise GraphTypeError(f"expected a dense tensor, found {type(value).__name__}", hint=hint)
    else:
        raise GraphTypeError(f"{type(value).__name__} {value!r:.60} is not a tensor")
    if ndim is not None and result.ndim != ndim:
        if result.ndim > ndim:
            raise GraphTypeError(f"expected rank {ndim}, found rank {result.ndim}", lines=[result.describe()])
        result = dense.shape_padleft(result, ndim - result.ndim)
    return result


def _is_array_like(value: object) -> bool:
    """Does a foreign object implement an array protocol?"""
    return any(hasattr(value, name) for name in ("__array__", "__array_interface__"))


def _holds_variable(items: list[Any] | tuple[Any, ...], depth: int = DEEPEST) -> bool:
    """Is there a variable in nested lists? Searched to the largest rank of NumPy's arrays."""
    return depth > 0 and any(
        isinstance(x, Variable) or (isinstance(x, list | tuple) and _holds_variable(x, depth - 1)) for x in items
    )
