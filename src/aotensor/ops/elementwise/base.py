"""Elementwise ops: one class, whose instances differ by a row of a table.

A row defines the scalar function's reference, emission and partial derivatives; typing, broadcasting, both
modes of differentiation and lowering are common to all and implemented here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType, broadcast_shapes
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.op import Apply, Op, connected, disconnected, is_null, null_gradient, sum_terms
from aotensor.graph.operations import KnownValues, dense, sparse
from aotensor.graph.public import Names, register
from aotensor.graph.sparse_type import is_sparse
from aotensor.graph.variable import Variable, Variables, as_tensor, constant
from aotensor.ops.batching import align_rank
from aotensor.ops.elementwise.signatures import Signature, floating
from aotensor.ops.linear import zero_gradient

Partial: TypeAlias = Callable[..., Variable] | None
"""g ↦ ∂f/∂xᵢ·g as `lambda g, *inputs, y: ...`, the map that both modes apply; None is zero."""

Routes: TypeAlias = Callable[..., tuple[tuple[Variable, bool] | None, ...]]
"""(*inputs) ↦ for each operand (condition under which y is that operand, whether it must hold or fail), or None."""

ELEMENTWISE: Final[dict[str, Elementwise]] = {}
"""The public elementwise ops by name."""

MAKERS: Final[dict[str, Callable[..., Elementwise]]] = {}
"""Name → constructor of ops from parameters."""

_KNOWN: Final[dict[tuple[str, tuple[tuple[str, Any], ...]], Elementwise]] = {}
"""All elementwise ops so far by name and parameters, which identify them."""


MOVES: Final = frozenset({"cast", "identity", "second", "switch"})
"""Ops that return an operand unchanged, or converted."""


def not_implemented(*_: Variable) -> Variable:
    """The partial derivative of a function without a known one; using it is an error that says so."""
    raise AssertionError("a marker, never called")


@frozen_dataclass
class Row:
    """A row of the table of elementwise ops: a scalar function. Rows are equal if name and parameters are.

    reference: NumPy on operands with the dtypes of `signature`.
    emit: (builder, *scalars) → scalar, of the same dtypes.
    partials: one per operand; for a variadic row a function (g, position, inputs, y).
    guard: (builder, *tensors): run-time checks before the loop.
    weak_from: position of the first operand that decides the dtype of Python literals.
    unread: positions of operands that only provide extents; they get no gradient.
    analytic: NumPy on complex operands, for the complex step; None if f is not analytic, or NumPy lacks it.
    routes: for a function that always returns one of its operands, instead of partials.
    notation: as of `Op`.
    """

    name: str
    doc: str = field(compare=False)
    reference: Callable[..., Any] = field(compare=False)
    emit: Callable[..., Scalar] = field(compare=False)
    partials: tuple[Partial, ...] | Callable[..., Variable] = field(compare=False)
    signature: Signature = field(default=floating, compare=False)
    parameters: tuple[tuple[str, Any], ...] = ()
    guard: Callable[..., None] | None = field(default=None, compare=False)
    weak_from: int = field(default=0, compare=False)
    unread: frozenset[int] = field(default=frozenset(), compare=False)
    analytic: Callable[..., Any] | None = field(default=None, compare=False)
    routes: Routes | None = field(default=None, compare=False)
    notation: str = field(default="", compare=False)

    @property
    def arity(self) -> int | None:
        """Number of operands; None for any number."""
        return len(self.partials) if isinstance(self.partials, tuple) else None


@dataclass(frozen=True, repr=False)
class Elementwise(Op):
    """y[…] = f(x₁[…], x₂[…], …) with broadcasting along dims that are statically 1.   Python literals are weak.

    Raises: GraphTypeError for a wrong number of operands or a dtype that f does not accept, GraphValueError for extents
    that differ (at run time too: an extent that merely happens to be 1 does not broadcast).
    """

    sees_discrete: ClassVar[bool] = False
    row: Row

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.row.doc)
        _KNOWN.setdefault((self.row.name, self.row.parameters), self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name and parameters, since the functions of a row cannot be pickled."""
        return (known_elementwise, (self.row.name, self.row.parameters))

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.row.name

    @property
    def notation(self) -> str:  # type: ignore[override]
        return self.row.notation

    @property
    def is_analytic(self) -> bool:  # type: ignore[override]
        return self.row.analytic is not None

    @property
    def takes_half(self) -> bool:  # type: ignore[override]
        return self.row.name in MOVES

    def __call__(self, *inputs: Any) -> Variable:
        if any(map(is_sparse, inputs)):
            return sparse.counterpart(self, inputs)
        return self.apply(*inputs).outputs[0]

    def __str__(self) -> str:
        parameters = ", ".join(f"{key}={value}" for key, value in self.row.parameters)
        return f"{self.name}{{{parameters}}}" if parameters else self.name

    __repr__ = __str__

    def convert_inputs(self, inputs: Sequence[Any]) -> list[Variable]:
        """Convert the inputs; Python numbers get a dtype that does not widen the others."""
        arity = self.row.arity
        if len(inputs) != arity if arity is not None else not inputs:
            wanted = "at least 1 operand" if arity is None else f"{arity} operand{'s' if arity > 1 else ''}"
            raise GraphTypeError(f"{self.name}: expected {wanted}, found {len(inputs)}")
        converted = [None if _is_literal(x) else as_tensor(x) for x in inputs]
        deciding = [x.dtype for x in converted[self.row.weak_from :] if x is not None]
        common = dtypes.promote(*deciding) if deciding else None
        return [x if x is not None else _weak(value, common) for x, value in zip(converted, inputs, strict=True)]

    def infer_type(self, *types: TensorType) -> TensorType:
        _, result = self.row.signature(*(x.dtype for x in types))
        return TensorType(result, broadcast_shapes([x.shape for x in types]))

    def reference(self, *inputs: Array) -> Any:
        operands, _ = self.row.signature(*(dtypes.name_of(x.dtype) for x in inputs))
        return self.row.reference(*(np.asarray(x, dtype) for x, dtype in zip(inputs, operands, strict=True)))

    def continued(self, *inputs: Any) -> Any:
        assert self.row.analytic is not None
        return self.row.analytic(*inputs)

    def evaluate(self, node: Apply, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """Evaluate the reference without NumPy's warnings, after checking that only static extents of 1 broadcast."""
        _check_extents(self.name, node.inputs, [x.shape for x in inputs], node.outputs[0].ndim)
        with np.errstate(all="ignore"):
            return super().evaluate(node, inputs)

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> TensorType:
        _check_extents(self.name, node.inputs, [x.static_shape for x in types], node.outputs[0].ndim)
        return self.infer_type(*types)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[position not in self.row.unread] for position in range(len(node.inputs))]

    def pullback_to(
        self, wanted: Sequence[bool], inputs: Variables, outputs: Variables, cotangents: Variables
    ) -> list[Variable]:
        (y,), (g,) = outputs, cotangents
        terms: list[Variable] = []
        for position, x in enumerate(inputs):
            if position in self.row.unread or not wanted[position]:
                terms.append(disconnected())
            else:
                scaled = self.scale_cotangent(g, position, inputs, y)
                terms.append(zero_gradient(x) if scaled is None else unbroadcast(scaled, x))
        return terms

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        (y,) = outputs
        moving = connected(tangents).items()
        scaled = [self.scale_cotangent(tangent, k, inputs, y) for k, tangent in moving if k not in self.row.unread]
        terms = [broadcast_to_result(term, y) for term in scaled if term is not None]
        return [sum_terms(terms, dense.add) if terms else zero_gradient(y)]

    def scale_cotangent(self, g: Variable, position: int, inputs: Sequence[Variable], y: Variable) -> Variable | None:
        """g·∂y/∂inputs[position] elementwise, of the shape of y; None if it is exactly zero."""
        operands, _ = self.row.signature(*(x.dtype for x in inputs))
        values = [
            dense.cast(x, dtype) if dtypes.is_float(dtype) else x for x, dtype in zip(inputs, operands, strict=True)
        ]
        if callable(self.row.partials):
            return self.row.partials(g, position, values, y)
        partial = self.row.partials[position]
        if partial is not_implemented:
            return null_gradient(self, position, inputs[position], "not implemented")
        return partial(g, *values, y) if partial is not None else None

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        rank = node.outputs[0].ndim
        return self.apply(*(align_rank(x, rank) if on else x for x, on in zip(inputs, is_batched, strict=True))).outputs

    def lower(self, b: TensorBuilder, *inputs: Tensor) -> Tensor:
        _, result = self.row.signature(*(x.dtype for x in inputs))
        if self.row.guard is not None:
            self.row.guard(b, *inputs)

        return b.map(self.emit, *inputs, dtype=result)  # type: ignore[no-any-return]

    def emit(self, s: ScalarBuilder, *scalars: Scalar) -> Scalar:
        """Emit one element of the result from one element of each operand."""
        operands, _ = self.row.signature(*(x.dtype for x in scalars))
        return self.row.emit(s, *(s.cast(x, dtype) for x, dtype in zip(scalars, operands, strict=True)))


def selection_partials(routes: Routes, count: int) -> tuple[Partial, ...]:
    """The partials of a function that returns one of its `count` operands: g for that operand, else 0."""

    def partial(position: int) -> Partial:
        def scaled(g: Variable, *inputs_and_y: Variable) -> Variable:
            route = routes(*inputs_and_y[:-1])[position]
            assert route is not None
            condition, holds = route
            found: Variable = dense.switch(condition, g, 0) if holds else dense.switch(condition, 0, g)
            return found

        return scaled

    return tuple(partial(position) for position in range(count))


def known_elementwise(name: str, parameters: tuple[tuple[str, Any], ...]) -> Elementwise:
    """The op of that name and parameters.   Raises: GraphValueError if the module that defines it was not imported"""
    found = _KNOWN.get((name, parameters))
    if found is None and name in MAKERS:
        return MAKERS[name](*(value for _, value in parameters))
    if found is None:
        raise GraphValueError(f"the elementwise op {name} is unknown", hint="import the module that defines it")
    return found


def elementwise_named(name: str) -> Elementwise | None:
    """The op of that name without parameters, public or not; None if there is none."""
    return _KNOWN.get((name, ()))


def elementwise(
    name: str,
    doc: str,
    reference: Callable[..., Any],
    emit: Callable[..., Scalar],
    partials: tuple[Partial, ...] | Callable[..., Variable],
    signature: Signature = floating,
    *,
    numpy: Names = (),
    scipy: Names = (),
    method: Names = (),
    operator: str = "",
    notation: str = "",
    **options: Any,
) -> Elementwise:
    """A public elementwise op from a row of its table; see `Row` for the columns and the further options.

    numpy, scipy, method, operator: as in `graph.public.public`
    """
    op = Elementwise(Row(name, doc, reference, emit, partials, signature, notation=notation or operator, **options))
    ELEMENTWISE[name] = op
    return register(op, numpy=numpy, scipy=scipy, method=method, operator=operator)


def unbroadcast(g: Variable, x: Variable) -> Variable:
    """The adjoint of broadcasting: g summed over the broadcast axes of x, in the dtype of a floating x."""
    if is_null(g):
        return g
    extra = g.ndim - x.ndim
    repeated = [
        extra + axis
        for axis, (dim, wide) in enumerate(zip(x.tensor_type.shape, g.tensor_type.shape[extra:], strict=True))
        if dim == 1 and wide != 1
    ]
    axes = (*range(extra), *repeated)
    if axes:
        g = dense.sum(g, axis=axes, keepdims=True)
    if extra:
        g = dense.dimshuffle(g, tuple(range(extra, g.ndim)))
    return dense.cast(g, x.dtype) if dtypes.is_inexact(x.dtype) else g


def broadcast_to_result(g: Variable, y: Variable) -> Variable:
    """g broadcast to the extents of y, in its dtype."""
    if is_null(g):
        return g
    g = dense.cast(g, y.dtype)
    wide = y.tensor_type.shape
    if g.ndim == y.ndim and all(dim != 1 or dim == other for dim, other in zip(g.tensor_type.shape, wide, strict=True)):
        return g
    return dense.full_like(y, g)


def _is_literal(value: object) -> bool:
    return isinstance(value, int | float | complex) and not isinstance(value, bool | np.generic)


def _weak(value: int | float | complex, common: str | None) -> Variable:
    """Convert a literal for operands of dtype `common`, without widening them if it fits."""
    if isinstance(value, complex):
        return as_tensor(value) if common is None else constant(value, dtype=_complex_literal_dtype(common))
    return as_tensor(value) if common is None else constant(value, dtype=dtypes.weak_scalar(value, common))


def _complex_literal_dtype(common: str) -> str:
    """The dtype of a complex literal: floats and complex dtypes keep their precision."""
    return dtypes.complex_of(common) if dtypes.is_inexact(common) else "complex128"


def _check_extents(name: str, inputs: Sequence[Variable], shapes: Sequence[Sequence[int | None]], rank: int) -> None:
    for axis in range(-rank, 0):
        found = {
            extent
            for x, shape in zip(inputs, shapes, strict=True)
            if len(shape) >= -axis and x.tensor_type.shape[axis] != 1 and (extent := shape[axis]) is not None
        }
        if len(found) > 1:
            listed = " and ".join(map(str, sorted(found)))
            raise GraphValueError(
                f"{name}: extents {listed} along axis {axis + rank} differ",
                lines=[f"{x.describe()}, here {list(shape)}" for x, shape in zip(inputs, shapes, strict=True)],
                hint="only a dim that the type says is 1 broadcasts" if 1 in found else None,
            )
