"""Variables, constants and shared variables, each with the line where it was made."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from aotensor.config import config
from aotensor.core import dtypes
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError
from aotensor.graph.operators import TensorOperators
from aotensor.graph.placeholder import DisconnectedType, NullType
from aotensor.graph.public import lookup

if TYPE_CHECKING:
    from aotensor.graph.op import Apply

Type: TypeAlias = TensorType | DisconnectedType | NullType


@dataclass(frozen=True, slots=True)
class Site:
    """A line of the user's program. Its text has no folder, so that artifacts do not depend on it."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"


@cache
def _is_ours(module: str) -> bool:
    return module.split(".")[0] in ("aotensor", "contextlib", "functools")


_SITE: ContextVar[Site | None] = ContextVar("site", default=None)


@contextmanager
def made_at(site: Site | None) -> Iterator[None]:
    """Variables that are made inside count as made at `site`: rewrites do not move what the user wrote."""
    token = _SITE.set(site)
    try:
        yield
    finally:
        _SITE.reset(token)


def user_site() -> Site | None:
    """The innermost line on the call stack that is not ours."""
    chosen = _SITE.get()
    if chosen is not None:
        return chosen
    frame = sys._getframe(1)
    while frame is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back  # type: ignore[assignment]
    return Site(frame.f_code.co_filename, frame.f_lineno) if frame is not None else None


class Variable(TensorOperators):
    """A value of the symbolic graph: a leaf, or output `index` of the node `owner`.

    `name` may be set at any time; all else is fixed. `==` is identity (use `eq` for the elementwise comparison).
    """

    __slots__ = ("index", "name", "owner", "site", "type")

    is_sparse = False

    def __new__(cls, type: Any = None, *args: Any, **options: Any) -> Variable:
        """A sparse type has a class of variables of its own."""
        chosen: Any = getattr(type, "variable_class", cls) if cls is Variable else cls
        made: Variable = object.__new__(chosen)
        return made

    def __init__(self, type: Type, owner: Apply | None = None, index: int = 0, name: str | None = None) -> None:
        self.type: Any = type
        self.owner = owner
        self.index = index
        self.name = name
        self.site = user_site()

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
        """The type, when the variable has a value.   Raises: GraphTypeError if it is disconnected or null."""
        if isinstance(self.type, TensorType):
            return self.type
        reason = self.type.why_null if isinstance(self.type, NullType) else "nothing depends on it"
        raise GraphTypeError(f"a variable of {self.type} has no value: {reason}")

    def __str__(self) -> str:
        return self.name or (f"{self.owner.op.name}.{self.index}" if self.owner else f"<{self.type}>")

    def __repr__(self) -> str:
        return f"{self}: {self.type}"

    def describe(self) -> str:
        """`a: float64[3, 4]   made at model.py:12`, as error messages list it."""
        return f"{self}: {self.type}" + (f"   made at {self.site}" if self.site else "")

    def eval(
        self, inputs_to_values: Mapping[Variable | str, object] | Mapping[Variable, object] | None = None
    ) -> Array:
        """The value by the NumPy reference, given the values of the leaves it depends on, by variable or by name.

        Raises: MissingInputError for a leaf without a value, GraphTypeError for a value of another type,
        GraphValueError for a name that none or several have.
        """
        return lookup("evaluate")(self, inputs_to_values or {})  # type: ignore[no-any-return]


class Constant(Variable):
    """A value known when the program is written."""

    __slots__ = ("data",)

    def __init__(self, data: Array, type: TensorType | None = None, name: str | None = None) -> None:
        data = np.array(data, order="C")
        data.flags.writeable = False
        super().__init__(type or TensorType(data.dtype.name, data.shape), name=name)
        self.data = data

    def __str__(self) -> str:
        return self.name or (str(self.data) if self.data.size == 1 else f"constant<{self.type}>")


class SharedVariable(Variable):
    """A variable with state: an input with a default value, and an output where `updates` replaces it.

    default_update: its next value in every function that reads it and says nothing else; may be set at any time.
    """

    __slots__ = ("_value", "default_update")

    def __init__(self, value: Array, type: TensorType, name: str | None = None) -> None:
        super().__init__(type, name=name)
        self._value = value
        self.default_update: Any = None

    def get_value(self, borrow: bool = False) -> Array:
        """The current value: a copy, unless `borrow`."""
        return self._value if borrow else self._value.copy()

    def set_value(self, value: object, borrow: bool = False) -> None:
        """Replace the value; extents may change where the type leaves them unknown.

        Raises: GraphTypeError for another dtype or rank.
        """
        array = self.tensor_type.filter(value)
        self._value = array if borrow and array is value else np.array(array)


def shared(
    value: object, name: str | None = None, borrow: bool = False, shape: tuple[int | str | None, ...] | None = None
) -> SharedVariable:
    """A shared variable of the dtype and rank of `value`; extents stay unknown unless `shape` says them.

    A Python float gives float64, an int int64, a SciPy matrix a sparse variable. The value is copied unless `borrow`.

    Raises: GraphTypeError for a Variable, UnsupportedError for a dtype that cannot be compiled.
    """
    if isinstance(value, Variable):
        raise GraphTypeError(f"shared needs a value, not the symbolic variable {value}")
    if value.__class__.__module__.startswith("scipy.sparse"):
        return lookup("sparse_shared")(value, name, borrow=borrow, shape=shape)  # type: ignore[no-any-return]
    array = np.asarray(value)
    type = TensorType(dtypes.canonical(array.dtype), shape if shape is not None else (None,) * array.ndim)
    return SharedVariable(type.filter(array) if borrow else np.array(type.filter(array)), type, name)


def constant(value: object, name: str | None = None, dtype: DTypeLike | None = None) -> Constant:
    """A constant. A Python int takes the smallest integer type that holds it, a Python float takes floatX.

    Raises: GraphTypeError for a Python bool without dtype (it is nearly always a misused `==`).
    """
    if isinstance(value, Variable):
        raise GraphTypeError(f"constant needs a value, not the symbolic variable {value}")
    if dtype is not None:
        return Constant(np.asarray(value, dtype=dtypes.canonical(dtype)), name=name)
    if isinstance(value, bool):
        raise GraphTypeError(
            "a Python bool is no tensor", hint="`==` on variables is identity; write eq(x, y), or pass np.bool_"
        )
    if isinstance(value, int | float) and not isinstance(value, np.generic):
        from_literal = dtypes.weak_scalar(value) if isinstance(value, int) else config.floatX
        return Constant(np.asarray(value, dtype=from_literal), name=name)
    array = np.asarray(value)
    return Constant(array.astype(dtypes.canonical(array.dtype)), name=name)


def as_tensor(value: object, name: str | None = None, ndim: int | None = None) -> Variable:
    """`value` as a variable: variables pass, numbers and arrays become constants, nested lists of variables stack.

    Raises: GraphTypeError for what is no tensor, or if `ndim` is given and the rank is higher.
    """
    if isinstance(value, Variable):
        if value.is_sparse:
            hint = "sp.dense_from_sparse makes it dense, aotensor.sparse has what works on sparse matrices"
            raise GraphTypeError("a sparse matrix where a dense tensor is needed", lines=[value.describe()], hint=hint)
        result = value
    elif isinstance(value, list | tuple) and _holds_variable(value):
        result = lookup("stack")([as_tensor(item) for item in value])
    elif isinstance(value, np.ndarray | np.generic | bool | int | float | list | tuple):
        result = constant(value, name=name)
    else:
        raise GraphTypeError(f"{type(value).__name__} {value!r:.60} is no tensor")
    if ndim is not None and result.ndim != ndim:
        if result.ndim > ndim:
            raise GraphTypeError(f"expected rank {ndim}, found rank {result.ndim}", lines=[result.describe()])
        result = lookup("shape_padleft")(result, ndim - result.ndim)
    return result


def _holds_variable(items: list[Any] | tuple[Any, ...]) -> bool:
    return any(isinstance(x, Variable) or (isinstance(x, list | tuple) and _holds_variable(x)) for x in items)
