"""Draws of mostly zeros in sparse form: positions and counts, with memory for nonzero elements only."""

from __future__ import annotations

from typing import Any

from aotensor.graph.variable import Variable, constant
from aotensor.ops.elementwise.compare import cast, eq, switch
from aotensor.ops.elementwise.elementary import expm1, log1p
from aotensor.ops.random.discrete import LARGEST_COUNT
from aotensor.ops.random.parameter import parameter
from aotensor.ops.random.sizes import sample_op
from aotensor.ops.random.state import Drawn, after, as_state
from aotensor.ops.scan.frontend import scan


def subset(state: Any, count: Any, population: Any) -> Drawn:
    """`count` different numbers below `population`, ascending, all subsets equally likely.   → int64 (count,)

    Drawn sequentially by the gaps between them, so time and memory are proportional to `count`.

    Raises: GraphTypeError unless it is an integer scalar; GraphValueError for a negative count, at once where it is a
    constant, else at run time; at run time for more than the population.
    """
    state = as_state(state)
    picks = parameter("subset: count", count, "int64", 0, LARGEST_COUNT)
    cells = picks + parameter(
        "subset: population − count", cast(population, "int64") - picks, "int64", 0, LARGEST_COUNT
    )

    def step(start: Variable, picks: Variable, state: Variable) -> list[Variable]:
        here = start + sample_op("gap", state, None, [cells - start, picks])
        return [here, here + 1, picks - 1, after(state)]

    first = constant(0, dtype="int64")
    outputs, _ = scan(step, outputs_info=[None, first, picks, state], n_steps=picks)
    return after(state, picks), outputs[0]


def binomial_cells(state: Any, n: Any, p: Any, cells: Any) -> tuple[Variable, Variable, Variable]:
    """Binomial counts of many cells in sparse form, without the zeros: (next state, positions, counts).

    n, p: as in `binomial`, scalars. cells: their number. positions: ascending, int64; counts: int64, at least 1.

    Raises: as `binomial`.
    """
    state = as_state(state)
    n = parameter("binomial: n", n, "int64", 0, LARGEST_COUNT)
    p = parameter("binomial: p", p, "float64", 0, 1)
    cells = parameter("binomial: cells", cells, "int64", 0, LARGEST_COUNT)
    chance = switch(eq(n, 0), 0.0, -expm1(cast(n, "float64") * log1p(-p)))
    number = sample_op("binomial", state, None, [cells, chance])
    following, positions = subset(after(state), number, cells)
    counts = sample_op("positive_binomial", following, [number], [n, p])
    return after(following), positions, counts
