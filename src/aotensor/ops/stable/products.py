"""Products and quotients of exponentials and of sums of them, whose factors overflow where the product does not.

exp(x)/(1 + exp(x)), c/(1 + exp(−x))   →  sigmoid(x), c·sigmoid(x)       exp(x)·sigmoid(−x)   →  sigmoid(x)
exp(x)/Σ exp(x)                        →  softmax(x)                     exp(a)·exp(b)        →  exp(a + b)
exp(a)/(exp(b) + exp(c))               →  exp(a − logaddexp(b, c))       exp(−x²)/erfc(x)     →  1/erfcx(x)
exp(x)/expm1(x)                        →  −bose(x)                       1/cosh(x)            →  sech(x)
(exp(a) − exp(b))/(exp(a) + exp(b))    →  tanh((a − b)/2)                sinh(x)/cosh(x)      →  tanh(x)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final, TypeAlias

from aotensor.core.frozen import frozen_dataclass
from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.arithmetic import add, mul, neg
from aotensor.ops.elementwise.elementary import exp, tanh
from aotensor.ops.elementwise.probability import erfcx
from aotensor.ops.elementwise.special import bose, logistic_density, sigmoid
from aotensor.ops.reduce.normalise import Softmax
from aotensor.ops.reduce.sums import Sum
from aotensor.ops.shape.axes import DimShuffle
from aotensor.ops.stable.functions import csch, sech
from aotensor.ops.stable.match import Look, is_same, kind_of

LARGEST_PRODUCT: Final = 4
"""Most levels of operations."""


@frozen_dataclass
class Factor:
    """A factor of a product: x to a nonzero integer power."""

    x: Variable
    power: int


@frozen_dataclass
class _Logistic:
    """A factor as S**s · T**t with S = sigmoid(u), T = sigmoid(−u).   is_sum: it is 1 + exp(±u)"""

    factor: Factor
    u: Variable
    s: int
    t: int
    is_exponential: bool


def factors_of(look: Look, node: Apply, power: int = 1, depth: int = 0) -> tuple[list[Factor], bool]:
    """The factors of a product, and whether its sign is negative."""
    kind, inputs = kind_of(node), node.inputs
    if kind == "mul":
        operands = [(x, power) for x in inputs]
    elif kind == "true_div":
        operands = [(inputs[0], power), (inputs[1], -power)]
    elif kind == "reciprocal":
        operands = [(inputs[0], -power)]
    elif kind == "sqr":
        operands = [(inputs[0], 2 * power)]
    else:
        operands = [(inputs[0], power)]
    is_negative = kind == "neg" and power % 2 == 1
    found: list[Factor] = []
    for x, exponent in operands:
        inner = look.node(x) if depth < LARGEST_PRODUCT else None
        if inner is not None and kind_of(inner) in ("mul", "true_div", "reciprocal", "sqr", "neg"):
            parts, changes = factors_of(look, inner, exponent, depth + 1)
            found += parts
            is_negative ^= changes
        else:
            found.append(Factor(x, exponent))
    return found, is_negative


Logarithms: TypeAlias = Callable[[Look, Variable], Variable | None]
"""x ↦ log x where that has a stable formula: `logarithms.stable_logarithm`, which uses products itself."""


def stable_product(look: Look, node: Apply, logarithm: Logarithms) -> Variable | None:
    """The product with the factors that overflow combined; None if there are none."""
    return _Product(look, node).combined(logarithm)


def logistic_or_softmax(look: Look, node: Apply) -> Variable | None:
    """The product, if it is only a sigmoid, an exponential or a softmax."""
    product = _Product(look, node)
    product.take_logistic()
    product.take_softmax()
    return product.made[0] if len(product.made) == 1 and not product.left and not product.is_negative else None


class _Product:
    """A product while factors are combined. left: factors that remain. made: factors that replace others"""

    def __init__(self, look: Look, node: Apply) -> None:
        self.look = look
        self.left, self.is_negative = factors_of(look, node)
        self.left = [one for one in self.left if look.number(one.x) != 1 or one.x.ndim]
        self.made: list[Variable] = []

    def combined(self, logarithm: Logarithms) -> Variable | None:
        if not self._has_candidates():
            return None
        self.take_logistic_density()
        if self.take_logistic() and self.look.is_value:
            return None
        self.take_softmax()
        self.take_scaled_error_function()
        self.take_bose()
        self.take_hyperbolic()
        self.take_exponentials(logarithm)
        if not self.made:
            return None
        above = [self._power(one) for one in self.left if one.power > 0]
        below = [self._power(one) for one in self.left if one.power < 0]
        total = reduce(mul, [*above, *self.made])
        total = total / reduce(mul, below) if below else total
        return neg(total) if self.is_negative else total

    def _has_candidates(self) -> bool:
        """Are there two exponentials, or a divisor that contains one?"""
        if any(one.power < 0 and one.x in self.look.distance for one in self.left):
            return True
        is_exponential = any(self.look.argument(one.x, "exp") is not None for one in self.left)
        return len(self.left) > 1 and (
            is_exponential or any(self._rest_of_sigmoid(one) is not None for one in self.left)
        )

    def _rest_of_sigmoid(self, factor: Factor) -> Variable | None:
        """u where a factor is 1 − sigmoid(u)."""
        x = self.look.one_minus(factor.x) if factor.power == 1 else None
        return None if x is None else self.look.argument(x, "sigmoid")

    @staticmethod
    def _power(factor: Factor) -> Variable:
        return reduce(mul, [factor.x] * abs(factor.power))

    # --- sigmoids ----------------------------------------------------------------------------------------------------

    def take_logistic(self) -> bool:
        """Combine exp(±u), 1 + exp(±u), sigmoid(±u) and 1 − sigmoid(±u) of one u; returns whether there were any."""
        found = [one for one in map(self._logistic, self.left) if one is not None]
        is_changed = False
        while found:
            first = found[0]
            group = [one for one in found if is_same(one.u, first.u)]
            found = [one for one in found if one not in group]
            is_changed |= self._take_group(group)
        return is_changed

    def take_logistic_density(self) -> None:
        """Combine sigmoid(u)·(1 − sigmoid(u)); returns whether there was one."""
        for rest in self.left.copy():
            u = self._rest_of_sigmoid(rest)
            for one in self.left.copy() if u is not None else ():
                v = self.look.argument(one.x, "sigmoid") if one.power == 1 else None
                if u is not None and v is not None and is_same(u, v) and rest in self.left:
                    self.left = [x for x in self.left if x is not one and x is not rest]
                    self.made.append(logistic_density(u))

    def _take_group(self, group: Sequence[_Logistic]) -> bool:
        has_sums = not all(one.is_exponential for one in group)
        gains = any(one.factor.power < 0 for one in group) or (
            len(group) > 1 and any(one.is_exponential for one in group)
        )
        u, s, t = group[0].u, sum(one.s for one in group), sum(one.t for one in group)
        if not has_sums or not gains or not (min(s, t) >= 0 or s * t == 0 or s + t == 0):
            return False
        self.left = [one for one in self.left if all(one is not other.factor for other in group)]
        if s + t == 0:
            if s:
                self.made.append(exp(u if s == 1 else s * u))
        elif min(s, t) >= 0:
            self.made += [sigmoid(u)] * s + [sigmoid(-u)] * t
        else:
            self.made += [1 + exp(-u)] * -s + [1 + exp(u)] * -t
        return True

    def _logistic(self, factor: Factor) -> _Logistic | None:
        x, look = factor.x, self.look
        if (u := look.argument(x, "exp")) is not None:
            return self._of(factor, u, 1, -1, is_exponential=True)
        if (u := look.argument(x, "sigmoid")) is not None:
            return self._of(factor, u, 1, 0)
        if (v := look.one_plus(x)) is not None and (u := look.argument(v, "exp")) is not None:
            return self._of(factor, u, 0, -1)
        if (v := look.one_minus(x)) is not None and (u := look.argument(v, "sigmoid")) is not None:
            return self._of(factor, u, 0, 1)
        return None

    def _of(self, factor: Factor, u: Variable, s: int, t: int, is_exponential: bool = False) -> _Logistic:
        opposite = self.look.opposite(u)
        if opposite is not None:
            u, s, t = opposite, t, s
        return _Logistic(factor, u, s * factor.power, t * factor.power, is_exponential)

    # --- softmax -----------------------------------------------------------------------------------------------------

    def take_softmax(self) -> None:
        """Combine exp(u)/Σ exp(u) to softmax(u)."""
        for below in [one for one in self.left if one.power == -1]:
            for above in [one for one in self.left if one.power == 1]:
                found = self._softmax(above.x, below.x)
                if found is not None:
                    self.left = [one for one in self.left if one is not above and one is not below]
                    self.made.append(found)
                    break

    def _softmax(self, weight: Variable, total: Variable) -> Variable | None:
        look = self.look
        u, moved = look.argument(weight, "exp"), look.node(total)
        if u is None or moved is None or look.is_shifted(u):
            return None
        summed, pattern = moved, None
        if isinstance(moved.op, DimShuffle):
            pattern = moved.op.pattern
            inner = look.node(moved.inputs[0])
            if inner is None:
                return None
            summed = inner
        if not isinstance(summed.op, Sum):
            return None
        other = look.argument(summed.inputs[0], "exp")
        if other is None or not is_same(u, other):
            return None
        axes = summed.op.axes
        return Softmax(axes)(u) if _is_in_place(axes, u.ndim, pattern) else None

    # --- hyperbolic functions ----------------------------------------------------------------------------------------

    def take_bose(self) -> None:
        """exp(u)ⁱ/expm1(u)ᵏ; each divisor is combined with one exponential."""
        for below in [one for one in self.left if one.power < 0]:
            found = expm1_of(self.look, below.x)
            if found is None:
                continue
            u, is_negative = found
            powers = [one for one in self.left if (v := self.look.argument(one.x, "exp")) is not None and is_same(u, v)]
            count, above = -below.power, sum(one.power for one in powers)
            if not 0 <= above <= count or (self.look.is_value and not above):
                continue
            self.left = [one for one in self.left if one is not below and one not in powers]
            self.made += [bose(u)] * above + [bose(-u)] * (count - above)
            self.is_negative ^= (above + (count if is_negative else 0)) % 2 == 1

    def take_hyperbolic(self) -> None:
        """Combine sinh(u)/cosh(u), its inverse, and their formulas by exponentials to tanh(u); keep 1/cosh(u) and
        1/sinh(u).
        """
        for below in [one for one in self.left if one.power < 0]:
            others = [one for one in self.left if one.power == -below.power]
            found = next(
                ((one, pair) for one in others if (pair := self._hyperbolic(one.x, below.x)) is not None), None
            )
            if found is not None:
                above, (u, is_inverse) = found
                self.left = [one for one in self.left if one is not below and one is not above]
                self.made += [1 / tanh(u) if is_inverse else tanh(u)] * above.power
            for name, inverse in (("cosh", sech), ("sinh", csch)):
                v = self.look.argument(below.x, name)
                if found is None and v is not None and not self.look.is_value:
                    self.left = [one for one in self.left if one is not below]
                    self.made += [inverse(v)] * -below.power

    def _hyperbolic(self, above: Variable, below: Variable) -> tuple[Variable, bool] | None:
        """u where above/below is tanh(u), or 1/tanh(u)."""
        look = self.look
        for first, second, is_inverse in (("sinh", "cosh", False), ("cosh", "sinh", True)):
            u, v = look.argument(above, first), look.argument(below, second)
            if u is not None and v is not None and is_same(u, v):
                return u, is_inverse
        for one, other, is_inverse in ((above, below, False), (below, above, True)):
            rise, total = look.node(one), look.node(other)
            if rise is None or total is None or (kind_of(rise), kind_of(total)) != ("sub", "add"):
                continue
            pairs = [[look.argument(x, "exp") for x in node.inputs] for node in (rise, total)]
            (a, b), (c, d, *more) = pairs[0], pairs[1]
            if a is None or b is None or c is None or d is None or more:
                continue
            if (is_same(a, c) and is_same(b, d)) or (is_same(a, d) and is_same(b, c)):
                return 0.5 * (a - b), is_inverse
        return None

    # --- other exponentials ------------------------------------------------------------------------------------------

    def take_scaled_error_function(self) -> None:
        """Combine exp(−x²)/erfc(x) to 1/erfcx(x)."""
        for below in [one for one in self.left if one.power == -1]:
            x = self.look.argument(below.x, "erfc")
            for above in [one for one in self.left if one.power == 1]:
                u = self.look.argument(above.x, "exp")
                if x is not None and u is not None and self._is_minus_square(u, x):
                    self.left = [one for one in self.left if one is not above and one is not below]
                    self.made.append(1 / erfcx(x))
                    break

    def _is_minus_square(self, u: Variable, x: Variable) -> bool:
        node, look = self.look.node(u), self.look
        if node is None or kind_of(node) not in ("neg", "mul"):
            return False
        found, is_negative = factors_of(look, node)
        squared = [one for one in found if look.number(one.x) != -1]
        opposite = look.opposite(x)
        base = x if opposite is None else opposite
        is_negative ^= (len(found) - len(squared)) % 2 == 1
        return is_negative and sum(one.power for one in squared) == 2 and all(is_same(one.x, base) for one in squared)

    def take_exponentials(self, logarithm: Logarithms) -> None:
        """Π exp(a)/Π x as exp(Σ a − Σ log x), where one of the x overflows or may vanish."""
        found = [(one, self._logarithm_of(one, logarithm)) for one in self.left]
        known = [(one, u) for one, u in found if u is not None]
        weights = [one for one, _ in known if one.power > 0]
        if len(weights) == len(known) and (len(known) < 2 or len({one.x.broadcastable for one in weights}) > 1):
            return  # exponentials of rows and columns are fewer than those of their products
        if self.look.is_value and not (weights and len(known) > 1 and all(map(self._is_read_here, weights))):
            return
        self.left = [one for one in self.left if all(one is not other for other, _ in known)]
        self.made.append(exp(reduce(add, (u if one.power == 1 else one.power * u for one, u in known))))

    def _is_read_here(self, factor: Factor) -> bool:
        return self.look.readers.get(factor.x, 0) <= 1

    def _logarithm_of(self, factor: Factor, logarithm: Logarithms) -> Variable | None:
        """log x for an exponential (its argument) and for a nonnegative divisor; None for other factors."""
        u = self.look.argument(factor.x, "exp")
        if u is not None or factor.power > 0 or not self.look.is_nonnegative(factor.x):
            return u
        return logarithm(self.look, factor.x)


def expm1_of(look: Look, x: Variable) -> tuple[Variable, bool] | None:
    """(u, False) if x is exp(u) − 1, (u, True) if it is 1 − exp(u); else None."""
    node = look.node(x)
    if (u := look.argument(x, "expm1")) is not None:
        return u, False
    if (v := look.one_minus(x)) is not None and (u := look.argument(v, "exp")) is not None:
        return u, True
    if node is None or kind_of(node) not in ("add", "sub") or len(node.inputs) != 2:
        return None
    one = -1 if kind_of(node) == "add" else 1
    pairs = (node.inputs, node.inputs[::-1]) if one < 0 else (node.inputs,)
    for v, other in pairs:
        if look.number(other) == one and (u := look.argument(v, "exp")) is not None:
            return u, False
    return None


def _is_in_place(axes: Sequence[int], rank: int, pattern: Sequence[int | None] | None) -> bool:
    """Does a sum over `axes`, reshaped by `pattern`, broadcast against the summed value with each axis in its place?"""
    kept = [axis for axis in range(rank) if axis not in axes]
    places = tuple(range(len(kept))) if pattern is None else tuple(pattern)
    shift = rank - len(places)
    if shift < 0 or sorted(k for k in places if k is not None) != list(range(len(kept))):
        return False
    return all(k is None or kept[k] == place + shift for place, k in enumerate(places))
