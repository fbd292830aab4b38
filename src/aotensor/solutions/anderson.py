"""Anderson acceleration for fixed points x = g(x), which combines the last steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aotensor.graph.variable import Variable
from aotensor.ops.contract import dot
from aotensor.ops.create import zeros
from aotensor.ops.diagonal import diag, eye
from aotensor.ops.elementwise.compare import invert, or_
from aotensor.ops.linalg.solve import solve
from aotensor.ops.reduce.sums import sum as sum_of
from aotensor.ops.shape.axes import expand_dims
from aotensor.ops.shape.extents import shape_i
from aotensor.ops.shape.join import join
from aotensor.solutions.formulas import (
    ending,
    first,
    is_all_finite,
    is_short,
    is_zero,
    iterate,
    number,
    rounding,
    started,
)
from aotensor.solutions.results import Ending


def anderson(
    g: Callable[[Variable], Variable], x0: Variable, tolerance: Variable, max_steps: int, memory: int
) -> tuple[Variable, Variable, Variable, Variable]:
    """x, the number of steps, g(x) − x and the status.   Source: Walker & Ni (2011).

    memory: number of differences of earlier steps that are combined for the smallest g(x) − x; 0 is plain iteration.
    """

    def step(x: Variable, f: Variable, *history: Variable) -> tuple[list[Variable], Variable]:
        following = x + f
        if memory:
            steps, changes = history
            gram = dot(changes, changes.T)
            ridge = rounding(x, 100) * sum_of(diag(gram)) + number(float(np.finfo(x.dtype).tiny), x)
            share = solve(gram + ridge * eye(memory, dtype=x.dtype), dot(changes, f), b_ndim=1, on_error="nan")
            following = following - dot(share, steps + changes)
        new_f = g(following) - following
        status = first(
            (invert(is_all_finite(new_f)), ending(Ending.NO_PROGRESS)),
            (or_(is_zero(new_f), is_short(new_f, following, tolerance)), ending(Ending.CONVERGED)),
            otherwise=ending(Ending.RUNNING),
        )
        pairs = zip(history, (following - x, new_f - f), strict=False)
        kept = [join(0, rows[1:], expand_dims(new, 0)) for rows, new in pairs]
        return [following, new_f, *kept], status

    f0 = g(x0) - x0
    rows = [zeros([memory, shape_i(x0, 0)], x0.dtype) for _ in range(2)] if memory else []
    (x, f, *_), count, status = iterate("anderson", step, [x0, f0, *rows], started(f0), max_steps)
    return x, count, f, status
