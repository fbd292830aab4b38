"""Reductions by arbitrary scalar functions: fold rows one after the other, over all remaining axes at once.

XLA combines in any order, so only results of associative functions are defined; here elements are combined in C order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import aotensor as aot
import aotensor.tensor as at
from aotensor.importers.lax.shapes import extent
from aotensor.importers.lax.table import Context, Equation, Extent, Program, rule

Values = Sequence[at.Variable]


def combined(
    context: Context, program: Program, outer: Values, first: Values, second: Values, inside: at.Variable | None = None
) -> list[at.Variable]:
    """Apply a program of scalars elementwise to arrays of one shape.

    outer: captured values. inside: mask of the elements that have a second one; elsewhere the first ones stay
    """
    given = [*first, *second]
    elements = [at.tensor(dtype=x.dtype, shape=()) for x in given]
    made = context.run(program, [*outer, *elements])
    found = at.vectorize_graph(made, dict(zip(elements, given, strict=True)))
    found = [y if y.ndim == x.ndim else at.fill(x, y) for x, y in zip(first, found, strict=True)]
    return found if inside is None else [at.switch(inside, y, x) for x, y in zip(first, found, strict=True)]


def folded(
    context: Context, program: Program, outer: Values, rows: Values, first: Values, inside: at.Variable | None = None
) -> list[at.Variable]:
    """Fold the rows of arrays into initial values.   rows, inside: (k, …); first: (…), what no rows give"""
    count, masks = len(rows), [] if inside is None else [inside]

    def step(*values: at.Variable) -> list[at.Variable]:
        new, rest = values[:count], values[count + len(masks) :]
        mask = values[count] if masks else None
        return combined(context, program, rest[count:], rest[:count], new, mask)

    found = aot.reduce(step, [*rows, *masks], list(first), list(outer) or None, return_updates=False)
    return [found] if count == 1 else list(found)


def operands_of(equation: Equation, inputs: Values) -> tuple[Values, Values, Values]:
    """Split operands into arrays, initial values, and values that the program captures."""
    count = len(equation.outvars)
    return inputs[:count], inputs[count : 2 * count], inputs[2 * count :]


@rule("reduce", note="by any function of numbers, in C order")
def _reduce(context: Context, equation: Equation, *inputs: at.Variable) -> list[at.Variable]:
    xs, starts, outer = operands_of(equation, inputs)
    if not equation.params["dimensions"]:
        return list(xs)  # as XLA does
    axes = [int(d) for d in equation.params["dimensions"]]
    kept = [d for d in range(xs[0].ndim) if d not in axes]
    shape: list[Extent] = [extent(xs[0], d) for d in kept]
    count = prod((extent(xs[0], d) for d in axes), start=1)
    rows = [at.reshape(at.dimshuffle(x, [*axes, *kept]), [count, *shape]) for x in xs]
    first = [at.broadcast_to(start, shape) if kept else start for start in starts]
    return folded(context, equation.params["jaxpr"], outer, rows, first)
