"""Elementwise ops: a table of scalar ops, and Composite and ScalarLoop, which combine them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.importers.base import Unsuited
from aotensor.importers.pytensor.rules import Walk, as_bool, rule

_SAME: Final[Mapping[str, Callable[..., Any]]] = {
    "Add": lambda *xs: reduce(at.add, xs),
    "Mul": lambda *xs: reduce(at.mul, xs),
    "Sub": at.sub, "TrueDiv": at.true_div, "IntDiv": at.floor_div, "Mod": at.mod, "Pow": at.pow,
    "Maximum": at.maximum, "Minimum": at.minimum, "MulWithoutZeros": at.mul_without_zeros,
    "OR": at.or_, "XOR": at.xor, "AND": at.and_, "Invert": at.invert,
    "Neg": at.neg, "Sign": at.sign, "Reciprocal": at.reciprocal, "Sqr": at.sqr, "Sqrt": at.sqrt,
    "Ceil": at.ceil, "Floor": at.floor, "Trunc": at.trunc,
    "RoundHalfToEven": at.round_half_to_even, "RoundHalfAwayFromZero": at.round_half_away_from_zero,
    "Log": at.log, "Log2": at.log2, "Log10": at.log10, "Log1p": at.log1p,
    "Exp": at.exp, "Exp2": at.exp2, "Expm1": at.expm1, "Deg2Rad": at.deg2rad, "Rad2Deg": at.rad2deg,
    "Cos": at.cos, "ArcCos": at.arccos, "Sin": at.sin, "ArcSin": at.arcsin, "Tan": at.tan, "ArcTan": at.arctan,
    "ArcTan2": at.arctan2, "Cosh": at.cosh, "ArcCosh": at.arccosh, "Sinh": at.sinh, "ArcSinh": at.arcsinh,
    "Tanh": at.tanh, "ArcTanh": at.arctanh,
    "Erf": at.erf, "Erfc": at.erfc, "Erfcx": at.erfcx, "Erfinv": at.erfinv, "Erfcinv": at.erfcinv,
    "Owens_t": at.owens_t, "Gamma": at.gamma, "GammaLn": at.gammaln, "Psi": at.psi, "TriGamma": at.tri_gamma,
    "GammaInc": at.gammainc, "GammaIncC": at.gammaincc, "GammaIncInv": at.gammaincinv,
    "GammaIncCInv": at.gammainccinv, "GammaU": at.gammau, "GammaL": at.gammal,
    "Jv": at.jv, "J1": at.j1, "J0": at.j0, "I1": at.i1, "I0": at.i0, "Ive": at.ive, "Kve": at.kve, "Iv": at.iv,
    "Sigmoid": at.sigmoid, "Softplus": at.softplus, "Log1mexp": at.log1mexp,
    "BetaInc": at.betainc, "BetaIncInv": at.betaincinv, "Hyp2F1": at.hyp2f1,
    "XlogX": at.xlogx, "XlogY0": at.xlogy,
}  # fmt: skip
"""Scalar op → function of operands that have the dtype of the result."""

_MIXED: Final[Mapping[str, Callable[..., Any]]] = {
    "LT": at.lt, "GT": at.gt, "LE": at.le, "GE": at.ge, "EQ": at.eq, "NEQ": at.neq,
    "IsNan": at.isnan, "IsInf": at.isinf, "Abs": at.abs, "Real": at.real, "Imag": at.imag, "Angle": at.angle,
    "Conj": at.conj, "Complex": at.complex, "ComplexFromPolar": at.polar, "PolyGamma": at.polygamma,
    "Identity": at.tensor_copy,
}  # fmt: skip
"""Scalar op → function of operands as they are."""


def _clip(x: Any, low: Any, high: Any) -> Any:
    """Clip in PyTensor's order, which determines the result if the lower bound exceeds the upper one."""
    below, above = (getattr(bound, "data", None) for bound in (low, high))
    if below is not None and above is not None and np.all(below <= above):
        return at.clip(x, low, high)
    return at.switch(at.lt(x, low), low, at.switch(at.gt(x, high), high, x))


def _converted(x: Any, dtype: str) -> Any:
    """Cast x; a constant, such as an extent, is converted at import."""
    new = at.cast(x, dtype)
    return at.constant(new.eval(), name=x.name) if isinstance(x, at.Constant) and new is not x else new


@rule("Elemwise")
def elemwise(walk: Walk, node: Any, *inputs: Any) -> list[Any]:
    """Apply a scalar op to tensors, which broadcast along dims that are statically 1."""
    return scalar_op(walk, node, node.op.scalar_op, inputs)


@rule("ScalarOp")
def on_scalars(walk: Walk, node: Any, *inputs: Any) -> list[Any]:
    """Apply a scalar op to scalars; inside a Composite these may be tensors."""
    return scalar_op(walk, node, node.op, inputs)


def scalar_op(walk: Walk, node: Any, op: Any, inputs: Sequence[Any]) -> list[Any]:
    """The outputs of a scalar op.   Raises: Unsuited for one that has no row"""
    name, dtype = type(op).__name__, node.outputs[0].type.dtype
    if type(op).__module__.split(".")[0] != "pytensor":
        raise Unsuited("scalar ops that are not part of PyTensor are not supported")
    match name:
        case "Composite":
            return _composite(walk, op, inputs)
        case "ScalarLoop" | "Grad2F1Loop":
            return _scalar_loop(walk, op, inputs)
        case "Second":
            return [at.fill(inputs[0], at.cast(inputs[1], dtype))]
        case "Cast":
            return [_converted(inputs[0], dtype)]
        case "Switch":
            return [at.switch(as_bool(inputs[0]), *(at.cast(x, dtype) for x in inputs[1:]))]
        case "Clip":
            return [_clip(*(at.cast(x, dtype) for x in inputs))]
    if name in _MIXED:
        return [_MIXED[name](*inputs)]
    if name in _SAME:
        return [_SAME[name](*(at.cast(x, dtype) for x in inputs))]
    raise Unsuited("")


def _composite(walk: Walk, op: Any, inputs: Sequence[Any]) -> list[Any]:
    """Apply the scalar graph to tensors; every output gets their common shape, also if it uses only some of them."""
    rank = max(x.ndim for x in inputs)
    spread = [at.shape_padleft(x, rank - x.ndim) if x.ndim < rank else x for x in inputs]
    outputs = walk.inner(op.fgraph.inputs, op.fgraph.outputs, spread)
    shape = [max((x.static_shape[axis] != 1 for x in spread), default=False) for axis in range(rank)]
    found = []
    for y in outputs:
        y = at.shape_padleft(y, rank - y.ndim) if y.ndim < rank else y
        if any(is_long and extent == 1 for is_long, extent in zip(shape, y.static_shape, strict=True)):
            y = reduce(lambda value, x: at.fill(x, value), spread, y)
        found.append(y)
    return found


def _scalar_loop(walk: Walk, op: Any, inputs: Sequence[Any]) -> list[Any]:
    """A loop per element, as one loop over all elements; finished elements keep their values."""
    n_steps, *operands = inputs
    count = len(op.outputs) - op.is_while
    limit, *whole = at.broadcast_arrays(n_steps, *operands)
    states, constants = whole[:count], whole[count:]

    def step(k: Any, *previous: Any) -> Any:
        is_done, old = previous[0], previous[1:]
        new = walk.inner(op.fgraph.inputs, op.fgraph.outputs, [*old, *constants])
        is_over = at.or_(is_done, at.ge(k, limit))
        kept = [at.switch(is_over, x, at.cast(y, x.dtype)) for x, y in zip(old, new, strict=False)]
        if not op.is_while:
            return [is_done, *kept]
        stops = at.or_(is_done, at.and_(at.lt(k, limit), as_bool(new[-1])))
        return [stops, *kept], aot.until(at.all(at.or_(stops, at.ge(k + 1, limit))))

    running = at.lt(limit, limit)
    longest = at.maximum(at.max(at.concatenate([at.zeros((1,), limit.dtype), at.flatten(limit)])), 0)
    is_done, *last = aot.reduce(step, at.arange(longest), [running, *states], return_updates=False)
    return [*last, at.or_(is_done, at.le(limit, 0))] if op.is_while else last


SCALAR_OPS: Final = frozenset({*_SAME, *_MIXED, "Clip"})
"""Scalar ops that have a row of their own."""
