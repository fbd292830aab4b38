"""Logarithms that are inverse hyperbolic functions: they overflow far out and cancel near 0 or below it.

log(u + √(u² + 1)), log(√(u² + 1) − u)        →  arcsinh(u), −arcsinh(u)
log(u + √(u² − 1))                            →  arccosh(u)
log((1 + u)/(1 − u)), log((1 − u)/(1 + u))    →  2·arctanh(u), −2·arctanh(u)
"""

from __future__ import annotations

from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.elementary import arccosh, arcsinh, arctanh
from aotensor.ops.stable.match import Look, is_same, kind_of
from aotensor.ops.stable.roots import radicand


def inverse_hyperbolic(look: Look, x: Variable) -> Variable | None:
    """log x for one of the arguments above."""
    node = look.node(x)
    if node is None or len(node.inputs) != 2:
        return None
    if kind_of(node) == "true_div":
        return _half_log_quotient(look, *node.inputs)
    if kind_of(node) not in ("add", "sub"):
        return None
    first, second = node.inputs
    pairs = ((first, second),) if kind_of(node) == "sub" else ((first, second), (second, first))
    for root, u in pairs:
        sign = _hyperbola_sign(look, root, u)
        if sign == 1:
            return arcsinh(u) if kind_of(node) == "add" else -arcsinh(u)
        if sign == -1 and kind_of(node) == "add":
            return arccosh(u)
    return None


def _hyperbola_sign(look: Look, x: Variable, u: Variable) -> int:
    """1 if x is √(u² + 1), −1 if it is √(u² − 1), else 0"""
    inner = radicand(look, x)
    if inner is None:
        return 0
    square, sign = look.one_plus(inner), 1
    if square is None:
        square, sign = look.less_one(inner), -1
    found = None if square is None else look.square_base(square)
    return sign if found is not None and is_same(found, u) and found.dtype == x.dtype else 0


def _half_log_quotient(look: Look, above: Variable, below: Variable) -> Variable | None:
    for one, other, sign in ((above, below, 2), (below, above, -2)):
        u, v = look.one_plus(one), look.one_minus(other)
        if u is not None and v is not None and is_same(u, v):
            return sign * arctanh(u)
    return None
