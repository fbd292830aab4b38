"""Simplify products and quotients of exp(±x), 1 + exp(±x), sigmoid(±x) and 1 − sigmoid(±x), common in derivatives.

With S = sigmoid(x) and T = sigmoid(−x) every such factor is a power of them:

    exp(x) = S/T    1 + exp(x) = 1/T    sigmoid(x) = S    1 − sigmoid(x) = T    logistic_density(x) = S·T

and S ↔ T for −x.

    (g/(1 + exp(x)))·exp(x)     →  g·S        where exp(x) may overflow to inf/inf = nan
    ((g/s)·s)·(1 − s), s = S    →  g·T        where s may underflow to 0/0 = nan
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.dialects import arith, math

from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.formula.match import Formula
from aotensor.passes.formula.terms import Term

LARGEST_PRODUCT: Final = 6  # operations deep


@dataclass(frozen=True)
class _Factor:
    """The factor S**s · T**t of a product, for one x.

    is_delicate: may the factor as written overflow, or divide by an underflowed value?
    """

    x: Term
    s: int
    t: int
    is_delicate: bool


def logistic_product(formula: Formula, product: Term) -> Scalar | None:
    """The product with its logistic factors combined, or None if that gains nothing for any x."""
    walk = _Walk(formula)
    walk.collect(product, is_inverse=False, depth=0)
    powers = walk.combined()
    if not powers:
        return None
    b = formula.b
    rest, is_negative = walk.rebuilt(product, frozenset(powers), depth=0)
    for x, (s, t) in powers.items():
        common = min(s, t)
        factors = [("logistic_density", x)] * common + [("sigmoid", x)] * (s - common)
        for name, u in factors:
            made = b.special(name, formula.use(u))
            rest = made if rest is None else rest * made
        for _ in range(t - common):
            made = b.special("sigmoid", formula.negated(x))
            rest = made if rest is None else rest * made
    assert rest is not None
    return -rest if is_negative else rest


class _Walk:
    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self.factors: list[_Factor] = []

    def collect(self, term: Term, is_inverse: bool, depth: int) -> None:
        """Collect all logistic factors of a product; `is_inverse` for a divisor."""
        factor = self._factor(term)
        if factor is not None:
            sign = -1 if is_inverse else 1
            self.factors.append(_Factor(factor.x, sign * factor.s, sign * factor.t, is_inverse or factor.is_delicate))
        elif depth < LARGEST_PRODUCT:
            for position, operand in enumerate(self._parts(term)):
                inverts = position == 1 and term.made_by(arith.DivfOp) is not None
                self.collect(operand, is_inverse != inverts, depth + 1)

    def combined(self) -> dict[Term, tuple[int, int]]:
        """x → (power of S, power of T), for every x where combining the factors gains."""
        found: dict[Term, tuple[int, int]] = {}
        for x in dict.fromkeys(f.x for f in self.factors):
            own = [f for f in self.factors if f.x == x]
            s, t = sum(f.s for f in own), sum(f.t for f in own)
            if min(s, t) >= 0 and s + t > 0 and any(f.is_delicate for f in own):
                found[x] = (s, t)
        return found

    def rebuilt(self, term: Term, dropped: frozenset[Term], depth: int) -> tuple[Scalar | None, bool]:
        """(the product without the logistic factors of `dropped`, or None for 1; whether its sign changes)."""
        factor = self._factor(term)
        if (factor is not None and factor.x in dropped) or self.formula.is_number(term, 1):
            return None, False
        parts = self._parts(term)
        if factor is not None or not parts or depth == LARGEST_PRODUCT:
            return self.formula.use(term), False
        b = self.formula.b
        (x, is_negative), *others = [self.rebuilt(part, dropped, depth + 1) for part in parts]
        if not others:
            return x, not is_negative
        ((y, is_other_negative),) = others
        sign = is_negative != is_other_negative
        if y is None:
            return x, sign
        if term.made_by(arith.MulfOp):
            return (y if x is None else x * y), sign
        return (b.constant(1.0, y.dtype) if x is None else x) / y, sign

    def _parts(self, term: Term) -> list[Term]:
        if isinstance(term.value.owner, arith.MulfOp | arith.DivfOp | arith.NegfOp):
            return self.formula.reader.operands(term)
        return []

    def _factor(self, term: Term) -> _Factor | None:
        f = self.formula
        if (u := f.argument(term, math.ExpOp)) is not None:
            return self._factor_of(u, 1, -1, is_delicate=True)
        if (u := f.special_argument(term, "sigmoid")) is not None:
            return self._factor_of(u, 1, 0)
        if (u := f.special_argument(term, "logistic_density")) is not None:
            return self._factor_of(u, 1, 1)
        if (t := f.one_plus(term)) is not None and (u := f.argument(t, math.ExpOp)) is not None:
            return self._factor_of(u, 0, -1, is_delicate=True)
        if (t := f.one_minus(term)) is not None and (u := f.special_argument(t, "sigmoid")) is not None:
            return self._factor_of(u, 0, 1)
        return None

    def _factor_of(self, u: Term, s: int, t: int, is_delicate: bool = False) -> _Factor:
        x = self.formula.argument(u, arith.NegfOp)
        return _Factor(u, s, t, is_delicate) if x is None else _Factor(x, t, s, is_delicate)
