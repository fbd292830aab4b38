"""Logarithms of positive formulas without their exponentials: log Σ exp(u) is logsumexp(u)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Final, TypeAlias

import numpy as np

from aotensor.config import config
from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.graph.op import Apply
from aotensor.graph.variable import Constant, Variable, constant
from aotensor.ops.elementwise.arithmetic import abs as absolute
from aotensor.ops.elementwise.compare import eq, ge, gt, lt, switch
from aotensor.ops.elementwise.elementary import expm1, log, sinh
from aotensor.ops.elementwise.parametric.beta import betaln
from aotensor.ops.elementwise.parametric.modified_bessel import ive, kve
from aotensor.ops.elementwise.probability import log_ndtr
from aotensor.ops.elementwise.special import gammaln, log1mexp, logaddexp, softplus
from aotensor.ops.index import Subtensor
from aotensor.ops.integer_indexing import AdvancedSubtensor
from aotensor.ops.linalg.determinant import Determinant, slogdet
from aotensor.ops.reduce.normalise import LogSoftmax, LogSumExp, Softmax
from aotensor.ops.reduce.sums import Prod, Sum
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import DimShuffle
from aotensor.ops.shape.broadcast import SpecifyShape
from aotensor.ops.shape.reshape import Reshape
from aotensor.ops.stable.functions import log_cosh, log_of_gompertz_rest, log_of_softplus
from aotensor.ops.stable.match import DEEPEST, Look, as_float, is_same, kind_of
from aotensor.ops.stable.products import logistic_or_softmax
from aotensor.ops.stable.quotients import function_of, quotient_of


@frozen_dataclass
class Logarithm:
    """shift + term.

    shift: a number, kept apart so that log(½) and log 2 cancel. overflows: may the formula itself overflow?
    """

    term: Variable
    shift: float = 0.0
    overflows: bool = False

    @property
    def value(self) -> Variable:
        if isinstance(self.term, Constant):
            return constant(self.term.data + self.shift, dtype=self.term.dtype)
        return self.term + self.shift if self.shift else self.term

    def times(self, factor: float) -> Logarithm:
        """The logarithm of a power."""
        term = self.term if factor == 1 else -self.term if factor == -1 else factor * self.term
        return Logarithm(term, factor * self.shift, self.overflows or factor < 0)


_Rule: TypeAlias = Callable[[Look, Apply, int], Logarithm | None]


def stable_logarithm(look: Look, x: Variable, depth: int = 0) -> Logarithm | None:
    """log x by a formula that neither overflows nor cancels; None if log(x) itself is as good."""
    node = look.node(x)
    rule = LOGARITHMS.get(kind_of(node)) if node is not None and depth < DEEPEST else None
    return rule(look, node, depth + 1) if rule is not None and node is not None else None


def log_of_one_plus(look: Look, u: Variable, depth: int = 0) -> Logarithm | None:
    """log(1 + u)."""
    if (v := look.argument(u, "expm1")) is not None:
        return Logarithm(v)
    if (v := look.argument(u, "erf")) is not None:
        return _log_erfc(-v)
    if (v := look.argument(u, "tanh")) is not None:
        return Logarithm(-softplus(-2 * v), math.log(2))
    if (v := look.opposite(u)) is not None:
        return log_of_one_minus(look, v)
    found = stable_logarithm(look, u, depth) if look.is_nonnegative(u) else None
    return Logarithm(softplus(found.value), overflows=True) if found is not None and found.overflows else None


def log_of_one_minus(look: Look, u: Variable) -> Logarithm | None:
    """log(1 − u)."""
    if (v := look.argument(u, "sigmoid")) is not None:
        return Logarithm(-softplus(v))
    if (v := look.argument(u, "erf")) is not None:
        return _log_erfc(v)
    if (v := look.argument(u, "tanh")) is not None:
        return Logarithm(-softplus(2 * v), math.log(2))
    if (v := look.square_base(u)) is not None and (w := look.argument(v, "tanh")) is not None:
        return Logarithm(-2 * log_cosh(w))
    if (v := look.argument(u, "exp")) is not None:
        return _log1mexp(look, v)
    if (v := look.argument(u, "expm1")) is None and (v := look.opposite(u)) is not None:
        return log_of_one_plus(look, v)
    return None


def _log_of_nonnegative(look: Look, x: Variable, depth: int) -> tuple[Logarithm | None, bool]:
    """(log x for an x that is provably nonnegative, whether this is better than the logarithm of the value)."""
    number = look.number(x)
    if number is not None and number > 0 and x.ndim == 0:
        return Logarithm(constant(0.0, dtype=_floating(x)), math.log(number)), False
    if not look.is_nonnegative(x):
        return None, False
    found = stable_logarithm(look, x, depth)
    return (Logarithm(log(x)), False) if found is None else (found, True)


def _floating(x: Variable) -> str:
    return x.dtype if dtypes.is_float(x.dtype) else config.floatX


def _log1mexp(look: Look, u: Variable) -> Logarithm:
    """A stable form of log(1 − exp u), or None."""
    found = log1mexp_of_exponential(look, u)
    return Logarithm(log1mexp(u) if found is None else found)


def log1mexp_of_exponential(look: Look, u: Variable) -> Variable | None:
    """A stable form of log(1 − exp u) for u = −exp v; else None."""
    v = look.opposite(u)
    w = None if v is None else look.argument(v, "exp")
    return None if w is None else log_of_gompertz_rest(w)


def _log_erfc(u: Variable) -> Logarithm:
    """log(erfc u) = log 2 + log Φ(−√2·u)."""
    return Logarithm(log_ndtr(-math.sqrt(2) * u), math.log(2))


# --- rules -----------------------------------------------------------------------------------------------------------


def _operand(node: Apply) -> Variable:
    return as_float(node.inputs[0], node)


def _log_of_sum(look: Look, node: Apply, depth: int) -> Logarithm | None:
    """A stable form of log(1 + u), and of log(a + b + …) if a term may overflow or all may underflow; else None."""
    u = look.one_plus(node.outputs[0])
    found = log_of_one_plus(look, u, depth) if u is not None else None
    if found is not None:
        return found
    for x, other in (node.inputs, node.inputs[::-1]) if len(node.inputs) == 2 else ():
        if look.number(other) == -1 and (v := look.argument(x, "exp")) is not None:
            return _log_of_expm1(v)
    parts = [_log_of_nonnegative(look, x, depth) for x in node.inputs if look.number(x) != 0]
    terms = [one for one, _ in parts if one is not None]
    is_better = all(is_better for _, is_better in parts) or any(one.overflows for one in terms)
    if len(terms) < len(parts) or not is_better:
        return None
    return Logarithm(reduce(logaddexp, (one.value for one in terms)), overflows=any(one.overflows for one in terms))


def _log_of_difference(look: Look, node: Apply, depth: int) -> Logarithm | None:
    """A stable form of log(1 − u), and of log(exp a − exp b) = a + log(1 − exp(b − a)); else None."""
    a, b = node.inputs
    if look.number(a) == 1:
        return log_of_one_minus(look, b)
    if look.number(b) == 1 and (u := look.argument(a, "exp")) is not None:
        return _log_of_expm1(u)
    larger, smaller = look.argument(a, "exp"), look.argument(b, "exp")
    if larger is None or smaller is None:
        return None
    return Logarithm(larger + log1mexp(smaller - larger), overflows=True)


def _log_of_expm1(u: Variable) -> Logarithm:
    """log(exp u − 1) = u + log(1 − exp(−u))"""
    return Logarithm(u + log1mexp(-u), overflows=True)


def _log_of_negative(look: Look, node: Apply, depth: int) -> Logarithm | None:
    """A stable form of log(−(exp u − 1)), and of log(−log(sigmoid u)); else None."""
    (x,) = node.inputs
    if (u := look.argument(x, "expm1")) is not None:
        return _log1mexp(look, u)
    v = look.argument(x, "log")
    u = None if v is None else look.argument(v, "sigmoid")
    return None if u is None else Logarithm(log_of_softplus(-u))


def _log_of_log1p(look: Look, node: Apply, depth: int) -> Logarithm | None:
    """A stable form of log(log(1 + exp u)), or None."""
    u = look.argument(node.inputs[0], "exp")
    return None if u is None else Logarithm(log_of_softplus(u))


def _log_of_product(look: Look, node: Apply, depth: int) -> Logarithm | None:
    return _sum_of_logs(look, [(x, 1) for x in node.inputs], depth)


def _log_of_quotient(look: Look, node: Apply, depth: int) -> Logarithm | None:
    found = logistic_or_softmax(look, node)
    if found is not None:
        return stable_logarithm(look, found, depth)
    a, b = node.inputs
    for one, other, power in ((a, b, 1), (b, a, -1)):
        quotient = function_of(look, one)
        if quotient is not None and quotient[0] in ("expm1", "sinh") and is_same(quotient[1], other):
            return _log_of_growing_quotient(look, *quotient).times(power)
    return _sum_of_logs(look, [(a, 1), (b, -1)], depth)


def _log_of_growing_quotient(look: Look, name: str, u: Variable, sign: float) -> Logarithm:
    """A stable form of log(sinh(u)/u) and log(expm1(u)/u), which is u − log u for large u; nan at 0"""
    size = absolute(u) if name == "sinh" else u
    is_far = gt(size, 40)
    near, far = switch(is_far, 1, u), switch(is_far, size, 40)
    value = (
        (sinh(near) if name == "sinh" else expm1(near)) / near
        if look.is_value
        else switch(eq(near, 0), np.nan, quotient_of(name, near))
    )
    term = switch(is_far, far, 0) + log(switch(is_far, (0.5 if name == "sinh" else 1.0) / far, sign * value))
    return Logarithm(term, overflows=True)


def _sum_of_logs(look: Look, factors: list[tuple[Variable, int]], depth: int) -> Logarithm | None:
    """log(Π x/Π y) as Σ log x − Σ log y."""
    parts = [_log_of_nonnegative(look, x, depth) for x, _ in factors]
    known = [(one, power) for (one, _), (_, power) in zip(parts, factors, strict=True) if one is not None]
    if len(known) < len(factors) or not any(is_better for _, is_better in parts):
        return None
    total: Variable | None = None
    for one, power in known:
        if look.number(one.term) == 0:
            continue
        if total is None:
            total = one.term if power > 0 else -one.term
        else:
            total = total + one.term if power > 0 else total - one.term
    assert total is not None
    shift = sum(power * one.shift for one, power in known)
    return Logarithm(total, shift, any(one.overflows or power < 0 for one, power in known))


def _power(factor: float) -> _Rule:
    def rule(look: Look, node: Apply, depth: int) -> Logarithm | None:
        (x,) = node.inputs
        inner = look.node(x)
        if factor == 2 and inner is not None and isinstance(inner.op, Determinant):
            return Logarithm(2 * slogdet(inner.inputs[0])[1], overflows=True)
        found = stable_logarithm(look, x, depth) if look.is_nonnegative(x) else None
        return None if found is None else found.times(factor)

    return rule


def _log_of_reduced_sum(look: Look, node: Apply, depth: int) -> Logarithm | None:
    """log Σ x = logsumexp(log x)"""
    assert isinstance(node.op, Sum)
    (x,) = node.inputs
    u = look.argument(x, "exp")
    if u is not None and look.is_shifted(u):
        return None
    found = stable_logarithm(look, x, depth) if look.is_nonnegative(x) else None
    return None if found is None else Logarithm(LogSumExp(node.op.axes)(found.term), found.shift, found.overflows)


def _log_of_reduced_product(look: Look, node: Apply, depth: int) -> Logarithm | None:
    """log Π x = Σ log x"""
    assert isinstance(node.op, Prod)
    found, _ = _log_of_nonnegative(look, node.inputs[0], depth)
    return None if found is None else Logarithm(sum_over(found.value, axis=node.op.axes), overflows=True)


def _log_of_softmax(look: Look, node: Apply, depth: int) -> Logarithm | None:
    assert isinstance(node.op, Softmax)
    return None if node.op.at_limits else Logarithm(LogSoftmax(node.op.axes)(node.inputs[0]))


def _log_of_rearranged(look: Look, node: Apply, depth: int) -> Logarithm | None:
    """The logarithm of chosen or rearranged elements, applied before the choice or rearrangement; else None."""
    found = stable_logarithm(look, node.inputs[0], depth)
    if found is None:
        return None
    moved = node.op.apply(found.term, *node.inputs[1:]).outputs[0]
    return Logarithm(moved, found.shift, found.overflows)


def _log_of_choice(look: Look, node: Apply, depth: int) -> Logarithm | None:
    """log(switch(c, a, b)) = switch(c, log a, log b)"""
    condition, *sides = node.inputs
    found = [stable_logarithm(look, x, depth) for x in sides]
    if found == [None, None]:
        return None
    one, other = (log(x) if part is None else part.value for x, part in zip(sides, found, strict=True))
    overflows = any(part is not None and part.overflows for part in found)
    return Logarithm(switch(condition, one, other), overflows=overflows)


def _log_of_modified_bessel(look: Look, node: Apply, depth: int) -> Logarithm:
    """log I_v(x) from I_v(x) = e^{|x|}·(e^{−|x|}·I_v(x))."""
    x = _operand(node) if kind_of(node) == "i0" else node.inputs[1]
    order = constant(0.0, dtype=x.dtype) if kind_of(node) == "i0" else node.inputs[0]
    return Logarithm(log(ive(order, x)) + absolute(x), overflows=True)


def _log_of_determinant(look: Look, node: Apply, depth: int) -> Logarithm:
    sign, size = slogdet(node.inputs[0])
    return Logarithm(switch(lt(sign, 0), np.nan, size), overflows=True)


def _log_of_absolute(look: Look, node: Apply, depth: int) -> Logarithm | None:
    """log |det A|, and log |Π x| = Σ log |x|"""
    (x,) = node.inputs
    inner = look.node(x)
    if inner is not None and isinstance(inner.op, Determinant):
        return Logarithm(slogdet(inner.inputs[0])[1], overflows=True)
    if inner is not None and isinstance(inner.op, Prod):
        return Logarithm(sum_over(log(absolute(inner.inputs[0])), axis=inner.op.axes), overflows=True)
    return stable_logarithm(look, x, depth) if look.is_nonnegative(x) else None


def _log_of_gamma_ratio(look: Look, node: Apply, depth: int) -> Logarithm | None:
    return Logarithm(switch(ge(node.outputs[0], 0), gammaln(_operand(node)), np.nan), overflows=True)


LOGARITHMS: Final[Mapping[str | type, _Rule]] = {
    "exp": lambda look, node, depth: Logarithm(_operand(node), overflows=True),
    "exp2": lambda look, node, depth: Logarithm(math.log(2) * _operand(node), overflows=True),
    "sigmoid": lambda look, node, depth: Logarithm(-softplus(-_operand(node))),
    "erfc": lambda look, node, depth: _log_erfc(_operand(node)),
    "kv": lambda look, node, depth: Logarithm(log(kve(*node.inputs)) - node.inputs[1]),
    "iv": _log_of_modified_bessel,
    "i0": _log_of_modified_bessel,
    "gamma": _log_of_gamma_ratio,
    "beta": lambda look, node, depth: Logarithm(
        switch(ge(node.outputs[0], 0), betaln(*node.inputs), np.nan), overflows=True
    ),
    "cosh": lambda look, node, depth: Logarithm(log_cosh(_operand(node)), overflows=True),
    "sinh": lambda look, node, depth: Logarithm(
        _operand(node) + log1mexp(-2 * _operand(node)), -math.log(2), overflows=True
    ),
    "softplus": lambda look, node, depth: Logarithm(log_of_softplus(_operand(node))),
    "abs": _log_of_absolute,
    Determinant: _log_of_determinant,
    "expm1": lambda look, node, depth: _log_of_expm1(_operand(node)),
    "neg": _log_of_negative,
    "log1p": _log_of_log1p,
    "add": _log_of_sum,
    "sub": _log_of_difference,
    "mul": _log_of_product,
    "true_div": _log_of_quotient,
    "reciprocal": _power(-1.0),
    "sqr": _power(2.0),
    "sqrt": _power(0.5),
    "switch": _log_of_choice,
    Sum: _log_of_reduced_sum,
    Prod: _log_of_reduced_product,
    Softmax: _log_of_softmax,
    DimShuffle: _log_of_rearranged,
    Reshape: _log_of_rearranged,
    Subtensor: _log_of_rearranged,
    AdvancedSubtensor: _log_of_rearranged,
    SpecifyShape: _log_of_rearranged,
}
"""Ops with positive results → the logarithm of the result, by the name of an elementwise op or by a class."""
