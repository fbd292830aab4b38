"""Choices among categories, and orders: draws along an axis.

Every function takes the state first and gives (next state, draw). The last axis of probabilities runs over the
categories; they are weights, taken in proportion to their sum. The choice has no derivative with respect to them.

All raise GraphValueError for a weight that is negative or not finite, or weights whose sum is 0: at once where they are
constants, else at run time.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from aotensor.core import dtypes
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, as_tensor, constant
from aotensor.ops.create import alloc
from aotensor.ops.elementwise.compare import cast, ge, gt, neq, switch
from aotensor.ops.gradient_control import undefined_grad
from aotensor.ops.random.discrete import LARGEST_COUNT, integers
from aotensor.ops.random.parameter import parameter
from aotensor.ops.random.sizes import count_dtype, extents_for, noise, sample_op
from aotensor.ops.random.state import Drawn, after, as_state
from aotensor.ops.reduce.cumulate import cumsum
from aotensor.ops.reduce.recurrence import LinearRecurrence
from aotensor.ops.reduce.sort import argsort
from aotensor.ops.reduce.sums import sum as total
from aotensor.ops.scan.frontend import scan
from aotensor.ops.shape.axes import moveaxis, shape_padright
from aotensor.ops.shape.extents import SymbolicExtent, as_extent, as_extents, extent_of, product
from aotensor.ops.shape.join import concatenate
from aotensor.ops.shape.rearrange import flip
from aotensor.ops.shape.reshape import reshape
from aotensor.ops.take import take


def _weights(name: str, p: Any) -> Variable:
    """Convert the weights of categories to float64.   Raises: GraphTypeError without an axis of categories."""
    p = as_tensor(p)
    if p.ndim == 0:
        raise GraphTypeError(
            f"{name}: expected probabilities with an axis of categories, found a scalar", lines=[p.describe()]
        )
    checked = parameter(f"{name}: p", p, "float64", low=0, high=sys.float_info.max)
    sums = parameter(f"{name}: the sum of p", total(checked, axis=-1, keepdims=True), "float64", 0, is_open=True)
    return undefined_grad(checked / sums)


def categorical(state: Any, p: Any, size: Any = None, dtype: Any = None) -> Drawn:
    """Number k with probability p[…, k]: the position of a uniform number among the running sums.   p: (…, K) → (…)

    Its leading axes broadcast to `size` where that is given.
    """
    state, p = as_state(state), _weights("categorical", p)
    sums = cumsum(p, axis=-1)
    extents = extents_for(size, [sums[..., 0]])
    u = shape_padright(noise("uniform", state, extents, "float64"))
    wide = alloc(sums, [*extents, extent_of(p, -1)])
    passed = total(cast(ge(u * shape_padright(wide[..., -1]), wide), "int64"), axis=-1)
    return after(state), cast(passed, count_dtype(dtype))


def multinomial(state: Any, n: Any, p: Any, size: Any = None, dtype: Any = None) -> Drawn:
    """The count of each category in n trials.   n: (…), p: (…, K) → (…, K)

    n and the leading axes of p broadcast together, and to `size` where that is given. Each category in turn is binomial
    among the trials that are left.   Source: Davis, "The computer generation of multinomial random variates" (1993).
    """
    state, p = as_state(state), _weights("multinomial", p)
    n = parameter("multinomial: n", n, "int64", 0, LARGEST_COUNT)
    extents = extents_for(size, [n, p[..., 0]])
    rows = moveaxis(alloc(p, [*extents, extent_of(p, -1)]), -1, 0)
    shares = _share(rows, flip(cumsum(flip(rows, axis=0), axis=0), axis=0))

    def step(share: Variable, left: Variable, state: Variable) -> list[Variable]:
        chosen = sample_op("binomial", state, None, [left, share])
        return [chosen, left - chosen, after(state)]

    outputs, _ = scan(step, sequences=[shares], outputs_info=[None, alloc(n, extents), state])
    return after(state, extent_of(p, -1)), cast(moveaxis(outputs[0], 0, -1), count_dtype(dtype))


def multinomial_in_groups(state: Any, n: Any, p: Any, groups: Any) -> Drawn:
    """`multinomial` for consecutive groups of different sizes: int64 counts of the categories of all groups.

    n: trials of each group. p: weights of the categories of all groups, a vector. groups: the group of each category,
    an integer vector, ascending. A group whose weights are all 0 gets no counts.
    """
    state, groups = as_state(state), as_tensor(groups)
    p = undefined_grad(parameter("multinomial: p", p, "float64", 0, sys.float_info.max))
    n = parameter("multinomial: n", n, "int64", 0, LARGEST_COUNT)
    border, change = constant(np.ones(1, bool)), neq(groups[1:], groups[:-1])
    is_first, is_last = concatenate([border, change])[: extent_of(p, 0)], concatenate([change, border])
    inside = switch(is_last[: extent_of(p, 0)], 0.0, 1.0)
    shares = _share(p, LinearRecurrence(0, reverse=True)(inside, p))

    def step(share: Variable, trials: Variable, is_new: Variable, left: Variable, state: Variable) -> list[Variable]:
        here = switch(is_new, trials, left)
        chosen = sample_op("binomial", state, None, [here, share])
        return [chosen, here - chosen, after(state)]

    sequences = [shares, take(n, groups, axis=0), is_first]
    outputs, _ = scan(step, sequences=sequences, outputs_info=[None, constant(0, dtype="int64"), state])
    return after(state, extent_of(p, 0)), outputs[0]


def _share(p: Variable, mass: Variable) -> Variable:
    """The probability of a category among the remaining ones, exactly 1 for the last with a positive weight."""
    return switch(gt(p, 0.0), p / mass, 0.0)


def permutation(state: Any, x: Any) -> Drawn:
    """The rows of x in random order; for an integer scalar n, the numbers 0 … n − 1. All orders are equally likely.

    Sorted by random keys of 64 bits; two keys are equal with probability n²·2^-65.
    """
    rows, count = _population("permutation", x)
    following, order = distinct(state, [], count, [count])
    return following, order if rows is None else take(rows, order, axis=0)


@coerced
def choice(state: Any, a: Any, size: Any = (), replace: bool = True, p: Any = None) -> Drawn:
    """Rows of a, or numbers 0 … a − 1 for an integer scalar, with probabilities p or equally likely.

    replace: rows may repeat. Otherwise there are at least as many rows as draws; with p, the order of the chosen
    is that of sequential drawing, rows with p = 0 last.   Source: Efraimidis & Spirakis, "Weighted random
    sampling with a reservoir" (2006).

    Raises: GraphValueError for weights of another number than rows, or more draws than rows without replacement, where
    this is known; else at run time.
    """
    state, extents = as_state(state), as_extents(size)
    rows, count = _population("choice", a)
    if replace:
        following, chosen = integers(state, 0, count, extents) if p is None else categorical(state, p, extents)
    else:
        following, chosen = distinct(state, [], count, extents, p)
    return following, chosen if rows is None else take(rows, chosen, axis=0)


def distinct(
    state: Any, batch: list[SymbolicExtent], count: SymbolicExtent, size: list[SymbolicExtent], p: Any = None
) -> Drawn:
    """Draw different numbers below `count` for each sample of a batch.   p: (…, count) → (*batch, *size)"""
    state, number = as_state(state), product(size)
    if isinstance(number, int) and isinstance(count, int) and number > count:
        raise GraphValueError(f"choice: cannot draw {number} of {count} elements without replacement")
    if p is None:
        keys = noise("bits", state, [*batch, count], "uint64")
    else:
        keys = noise("exponential", state, [*batch, count], "float64") / _weights("choice", p)
    return after(state), reshape(argsort(keys, axis=-1)[..., :number], [*batch, *size])


def _population(name: str, x: Any) -> tuple[Variable | None, SymbolicExtent]:
    """(rows to choose from, or None for the numbers 0 … n − 1; size of the population)."""
    x = as_tensor(x)
    if x.ndim:
        return x, extent_of(x, 0)
    if x.dtype not in dtypes.INTEGERS:
        raise GraphTypeError(
            f"{name}: a scalar must be an integer, the number of elements, not {x.type}", lines=[x.describe()]
        )
    return None, as_extent(x)
