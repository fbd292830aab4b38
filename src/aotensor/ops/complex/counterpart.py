"""Counterparts of ops on real tensors for complex operands; ops without one are refused by name.

f(z), holomorphic      one node, `functions`
A·z, linear            complex(A·real(z), A·imag(z))
B(w, z), bilinear      complex(B(u, x) − B(v, y), B(u, y) + B(v, x))
shape(z)               shape(real(z))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Final

from aotensor.core import dtypes
from aotensor.errors import GraphTypeError
from aotensor.graph.op import Apply, Op
from aotensor.graph.variable import Variable
from aotensor.ops.complex.formulas import direction
from aotensor.ops.complex.functions import FUNCTIONS, ComplexFunction
from aotensor.ops.complex.holomorphic import holomorphic_in
from aotensor.ops.complex.parts import FromParts, join_parts, parts, real, to_complex
from aotensor.ops.create import zeros_like
from aotensor.ops.elementwise.arithmetic import identity, second
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.elementwise.compare import and_, cast, eq, isfinite, isinf, isnan, neq, or_, switch
from aotensor.ops.elementwise.points import hypot
from aotensor.ops.gradient_control import ViewOp
from aotensor.ops.index import IncSubtensor
from aotensor.ops.integer_indexing import IncAdvancedSubtensor
from aotensor.ops.linear import MultilinearOp
from aotensor.ops.mask import Nonzero
from aotensor.ops.reduce.cumulate import CumProd
from aotensor.ops.reduce.sums import Prod, Quantifier
from aotensor.ops.scan.frontend import scan
from aotensor.ops.shape.axes import transpose
from aotensor.ops.shape.extents import Shape, ShapeI, product, shape_i
from aotensor.ops.shape.join import Split, concatenate
from aotensor.ops.shape.reshape import reshape

__all__ = ["SUPPORTED", "counterpart", "refusal", "to_complex"]

_ORDERED: Final = frozenset(
    [
        "lt",
        "le",
        "gt",
        "ge",
        "maximum",
        "minimum",
        "clip",
        "sort",
        "argsort",
        "max",
        "min",
        "argmax",
        "argmin",
        "extremum",
        "arg_extremum",
        "mod",
        "int_div",
        "fmod",
        "trunc_div",
        "ceil",
        "floor",
        "trunc",
        "rint",
        "round_half_to_even",
        "round_half_away_from_zero",
        "sparse_max",
        "sparse_min",
        "less_than_s_s",
        "less_than_s_d",
        "less_equal_s_s",
        "less_equal_s_d",
        "greater_than_s_s",
        "greater_than_s_d",
        "greater_equal_s_s",
        "greater_equal_s_d",
    ]
)
"""Ops that need ordered operands."""
SUPPORTED: Final = (
    "use real(z), imag(z), abs(z) or angle(z), which are real; elementary functions, sums, products, shapes and "
    "indices take complex values as they are"
)


def counterpart(op: Op, inputs: Sequence[Variable]) -> Apply:
    """The node that computes `op` when some inputs are complex.   Raises: GraphTypeError by the op's name"""
    found = _elementwise(op, inputs) if isinstance(op, Elementwise) else _other(op, inputs)
    if found is None:
        raise refusal(op.name, inputs)
    return found


def refusal(name: str, inputs: Sequence[Variable]) -> GraphTypeError:
    """The error for an op that is not defined, or not implemented, for complex values."""
    if not any(dtypes.is_complex(x.dtype) for x in inputs):
        hint = "make it with a real dtype, then cast(x, 'complex128')"
        return GraphTypeError(
            f"{name}: does not return complex values", lines=[x.describe() for x in inputs], hint=hint
        )
    reason = "complex numbers have no order" if name in _ORDERED else "does not accept complex values"
    return GraphTypeError(f"{name}: {reason}", lines=[x.describe() for x in inputs], hint=SUPPORTED)


def _other(op: Op, inputs: Sequence[Variable]) -> Apply | None:
    match op:
        case Quantifier() | Nonzero():
            return op.apply(neq(inputs[0], 0))
        case Shape() | ShapeI():
            return op.apply(*map(real, inputs))
        case Prod() | CumProd():
            return _node(_product(op, inputs[0]))
        case IncSubtensor() | IncAdvancedSubtensor() if not dtypes.is_complex(inputs[0].dtype):
            return None
        case MultilinearOp():
            first, *others = op.groups(len(inputs))
            return _bilinear(op, inputs, (first[0], others[0][0])) if others else _linear(op, inputs, len(first))
        case Split() | ViewOp():
            return _linear(op, inputs, 1)
    return None


def _product(op: Prod | CumProd, z: Variable) -> Variable:
    """Products along axes, in order, accumulated in complex128."""
    axes = op.axes if isinstance(op, Prod) else (op.axis,)
    rest = [axis for axis in range(z.ndim) if axis not in axes]
    rows = transpose(cast(z, "complex128"), [*axes, *rest])
    if len(axes) > 1:
        count = product(shape_i(z, axis) for axis in axes)  # not -1, which is undefined beside an extent of 0
        rows = reshape(rows, [count, *(shape_i(z, axis) for axis in rest)])
    one = to_complex(zeros_like(real(rows).sum(axis=0)) + 1, "complex128")
    found = scan(lambda row, total: total * row, rows, one, return_updates=False)
    if isinstance(op, CumProd):
        found = transpose(found, [rest.index(k) + 1 if k in rest else 0 for k in range(z.ndim)])
    else:
        found = concatenate([one[None], found])[-1]
    return holomorphic_in(cast(found, op.dtype), z)


def _linear(op: Op, inputs: Sequence[Variable], count: int) -> Apply | None:
    """Apply a real op to the real and the imaginary parts of its first `count` inputs, in which it is linear."""
    values, nondifferentiable = inputs[:count], [real(x) for x in inputs[count:]]
    if not any(dtypes.is_complex(x.dtype) for x in values):
        return op.apply(*values, *nondifferentiable)
    on_parts = _real_counterpart(op)
    if on_parts is None:
        return None
    sides = [on_parts.apply(*side, *nondifferentiable).outputs for side in zip(*map(parts, values), strict=True)]
    common = [dtypes.promote(x.dtype, y.dtype) for x, y in zip(*sides, strict=True)]
    whole_parts = [cast(x, dtype) for side in sides for x, dtype in zip(side, common, strict=True)]
    return FromParts(len(common)).apply(*whole_parts)


def _real_counterpart(op: Op) -> Op | None:
    """The op with complex dtypes among its parameters replaced by the dtypes of their parts; None for a real result."""
    if not is_dataclass(op):
        return op
    given = {field.name: getattr(op, field.name) for field in fields(op) if field.name in ("dtype", "acc_dtype")}
    if any(not dtypes.is_complex(dtype) for dtype in given.values()):
        return None
    return replace(op, **{name: dtypes.part_of(dtype) for name, dtype in given.items()}) if given else op


def _bilinear(op: Op, inputs: Sequence[Variable], factors: tuple[int, int]) -> Apply:
    """Apply a bilinear op to complex factors by four real products, or two if one factor is real."""
    first, second = factors
    a, b = inputs[first], inputs[second]

    def product(x: Variable, y: Variable) -> Variable:
        known = {first: x, second: y}
        return op(*(known.get(k, z) for k, z in enumerate(inputs)))  # type: ignore[no-any-return]

    if not dtypes.is_complex(a.dtype):
        return _node(join_parts(*(_cast_to_part(product(a, part), (a, b)) for part in parts(b))))
    if not dtypes.is_complex(b.dtype):
        return _node(join_parts(*(_cast_to_part(product(part, b), (a, b)) for part in parts(a))))
    (u, v), (x, y) = parts(a), parts(b)
    return _node(join_parts(product(u, x) - product(v, y), product(u, y) + product(v, x)))


def _cast_to_part(x: Variable, inputs: Sequence[Variable]) -> Variable:
    return cast(x, dtypes.part_of(dtypes.promote(*(y.dtype for y in inputs))))


def _elementwise(op: Elementwise, inputs: Sequence[Variable]) -> Apply | None:
    name = op.name
    if name == "int_pow":
        return ComplexFunction(name, dict(op.row.parameters)["exponent"]).apply(*inputs)
    if name in FUNCTIONS:
        return ComplexFunction(name).apply(*inputs)
    if name == "cast":
        return _cast(dict(op.row.parameters)["dtype"], inputs)
    made = _COMPOSED.get(name)
    return None if made is None else _node(made(*inputs))


def _cast(dtype: str, inputs: Sequence[Variable]) -> Apply | None:
    (z,) = inputs
    if dtypes.is_complex(dtype):
        return _node(join_parts(*(cast(part, dtypes.part_of(dtype)) for part in parts(z))))
    if dtype == "bool":
        return _node(neq(z, 0))
    raise GraphTypeError(
        f"cast: {z.dtype} to {dtype} would drop the imaginary part", lines=[z.describe()], hint="use real(z) or abs(z)"
    )


def _switch(condition: Variable, a: Variable, b: Variable) -> Variable:
    condition = neq(condition, 0) if dtypes.is_complex(condition.dtype) else condition
    if not any(dtypes.is_complex(x.dtype) for x in (a, b)):
        return switch(condition, a, b)
    part = dtypes.part_of(dtypes.promote(a.dtype, b.dtype))
    return join_parts(*(cast(switch(condition, x, y), part) for x, y in zip(parts(a), parts(b), strict=True)))


def _second(a: Variable, b: Variable) -> Variable:
    if not dtypes.is_complex(b.dtype):
        return second(real(a), b)
    return join_parts(*(second(real(a), part) for part in parts(b)))


def _equal(a: Variable, b: Variable) -> Variable:
    return and_(*(eq(x, y) for x, y in zip(parts(a), parts(b), strict=True)))


def _differ(a: Variable, b: Variable) -> Variable:
    return or_(*(neq(x, y) for x, y in zip(parts(a), parts(b), strict=True)))


_COMPOSED: Final[dict[str, Callable[..., Variable]]] = {
    "abs": lambda z: hypot(*parts(z)),
    "eq": _equal,
    "identity": lambda z: join_parts(*map(identity, parts(z))),
    "isfinite": lambda z: and_(*map(isfinite, parts(z))),
    "isinf": lambda z: or_(*map(isinf, parts(z))),
    "isnan": lambda z: or_(*map(isnan, parts(z))),
    "neq": _differ,
    "second": _second,
    "sign": lambda z: join_parts(*direction(parts(z))),
    "switch": _switch,
}
"""Functions that are not holomorphic → the same by real and imaginary parts."""


def _node(x: Variable) -> Apply:
    assert x.owner is not None
    return x.owner
