"""Updates of an array at positions that may repeat, combined by products, maxima or minima."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.importers.lax.shapes import extent
from aotensor.importers.lax.table import Extent


def updated(
    combine: Callable[..., at.Variable],
    x: at.Variable,
    index: Sequence[at.Variable],
    wholes: Sequence[Extent],
    updates: at.Variable,
) -> at.Variable:
    """x, with each element of x[index] combined with all updates of its position, in their order.

    index: integers for the first axes of x, of the extents `wholes`, negative ones from the end; they broadcast to the
    first axes of `updates`, whose other axes are those of x.

    The updates are sorted by position and folded from one to the next, which begins again from x at every new
    position: so a derivative is that of `combine`, also where positions repeat, and where factors are 0.
    """
    if not index:
        first = at.constant(np.zeros((1,) * (updates.ndim - x.ndim), "int64"))
        return updated(combine, x[None], [first], [1], updates)[0]
    lead = updates.ndim - x.ndim + len(index)
    shape = [extent(updates, d) for d in range(updates.ndim)]
    count = prod(shape[:lead], start=1)
    places = [at.reshape(at.broadcast_to(at.cast(one, "int64"), shape[:lead]), [count]) for one in index]
    position: at.Variable = at.constant(np.int64(0))
    for place, whole in zip(places, wholes, strict=True):
        position = position * whole + at.switch(at.lt(place, 0), place + whole, place)
    order = at.argsort(position)
    sorted_index, sorted_position = tuple(place[order] for place in places), position[order]
    before = at.concatenate([at.constant(np.array([-1], "int64")), sorted_position])[:count]
    olds = x[sorted_index]

    def step(is_new: at.Variable, old: at.Variable, update: at.Variable, last: at.Variable) -> at.Variable:
        return combine(at.switch(is_new, old, last), update)

    rows = [at.neq(sorted_position, before), olds, at.reshape(updates, [count, *shape[lead:]])[order]]
    folded = aot.scan(step, rows, [at.zeros(shape[lead:], dtype=x.dtype)], return_updates=False)
    return at.set_subtensor(olds, folded)
