"""Branches and loops of formulas, and series that are summed by loops.

Loops and branches carry and return tuples of Values and jets. A sum ends when a term changes none of its coefficients;
a continued fraction is summed as the differences between successive approximants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, TypeVar

from xdsl.dialects import scf
from xdsl.ir import Block, Region

from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.scalar_math.parametric.jet import Jet
from aotensor.passes.scalar_math.value import Value

Item: TypeAlias = Value | Jet
T = TypeVar("T", bound=Item)

_NEGLIGIBLE: Final = 2.0**-54
"""A term smaller than this share of its sum is the last one."""
_LONGEST: Final = 1e6
"""Upper bound on the number of terms of a sum."""


def branch(condition: Value, then: Callable[[], T], otherwise: Callable[[], T]) -> T:
    """Evaluate then() if the condition holds, else otherwise(); only one of them is executed."""
    outer = condition.builder
    blocks, items = (Block(), Block()), list[T]()
    for block, formula in zip(blocks, (then, otherwise), strict=True):
        with outer.inside(block):
            items.append(formula())
            outer.builder.insert(scf.YieldOp(*(v.ssa for v in _flat([items[-1]]))))
    kinds = [v.ssa.type for v in _flat([items[0]])]
    op = scf.IfOp(condition.ssa, kinds, Region(blocks[0]), Region(blocks[1]))
    outer.builder.insert(op)
    (found,) = _like([items[0]], [Scalar(r, v.dtype) for r, v in zip(op.results, _flat([items[0]]), strict=True)])
    return found  # type: ignore[return-value]


def repeat(start: Sequence[Item], goes_on: Callable[..., Value], step: Callable[..., Sequence[Item]]) -> Sequence[Item]:
    """Emit a loop: while goes_on(*items): items = step(*items)."""
    flat = _flat(start)
    outer, kinds = flat[0].builder, [v.ssa.type for v in flat]
    before, after = Block(arg_types=kinds), Block(arg_types=kinds)

    def arguments(block: Block) -> Sequence[Item]:
        return _like(start, [Scalar(a, v.dtype) for a, v in zip(block.args, flat, strict=True)])

    with outer.inside(before):
        condition = goes_on(*arguments(before))
        outer.builder.insert(scf.ConditionOp(condition.ssa, *before.args))
    with outer.inside(after):
        outer.builder.insert(scf.YieldOp(*(v.ssa for v in _flat(step(*arguments(after))))))
    op = scf.WhileOp([v.ssa for v in flat], kinds, [before], [after])
    outer.builder.insert(op)
    return _like(start, [Scalar(r, v.dtype) for r, v in zip(op.results, flat, strict=True)])


def sum_terms(first: Jet, ratio: Callable[[Value], Jet]) -> Jet:
    """The series t₀ + t₁ + t₂ + … with t₀ = first and tₖ = tₖ₋₁·ratio(k)."""
    return _sum((first,), lambda k, term: (term * ratio(k),))


def continued_fraction(first: Jet, b: Callable[[Value], Jet], a: Callable[[Value], Jet]) -> Jet:
    """1/(first + a(1)/(b(1) + a(2)/(b(2) + …))), as the sum of the changes by each quotient.

    Requires that no denominator vanishes. Source: Steed's algorithm; Barnett, Feng, Steed & Goldfarb (1974).
    """
    quotient = 1.0 / first

    def following(k: Value, change: Jet, quotient: Jet) -> Sequence[Jet]:
        numerator = a(k)
        below = 1.0 / (b(k) + numerator * quotient)
        return -(change * (numerator * (quotient * below))), below

    return _sum((quotient, quotient), following)


def _sum(first: Sequence[Jet], following: Callable[..., Sequence[Jet]]) -> Jet:
    """The sum of a series. `following(k, *state)` returns the next term and the next state."""
    start = [jet.dense() for jet in first]
    model = start[0].value
    total, k = start[0], model.like(1.0)

    def goes_on(k: Value, total: Jet, term: Jet, *_: Jet) -> Value:
        is_open = [abs(part) > abs(total.parts[i]) * _NEGLIGIBLE for i, part in term.parts.items()]
        result = is_open[0]
        for other in is_open[1:]:
            result = result | other
        return result & (k < _LONGEST)

    def step(k: Value, total: Jet, *state: Jet) -> Sequence[Item]:
        state = tuple(jet.dense() for jet in following(k, *state))
        return (k + 1.0, (total + state[0]).dense(), *state)

    found = repeat((k, total, *start), goes_on, step)[1]
    assert isinstance(found, Jet)
    return found


def _flat(items: Sequence[Item]) -> list[Value]:
    """Flatten Values and jets to a list of Values, in a fixed order."""
    return [v for item in items for v in (item.dense().parts.values() if isinstance(item, Jet) else [item])]


def _like(items: Sequence[Item], scalars: Sequence[Scalar]) -> list[Item]:
    """Rebuild Values and jets from a list of Values, of the same kinds as `items`."""
    rest, found = iter(scalars), list[Item]()
    for item in items:
        model = item.value if isinstance(item, Jet) else item
        if isinstance(item, Jet):
            found.append(Jet(item.top, {i: model.builder.value(next(rest)) for i in item.dense().parts}))
        else:
            found.append(model.builder.value(next(rest)))
    return found
