"""Loops and branches over subgraphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import aotensor.tensor as at
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable
from aotensor.ops.scan.branch import Branch
from aotensor.ops.scan.op import Scan
from corpus.program import InOut, matrix, program, vector


def body(inputs: Sequence[Variable], make: Callable[..., Sequence[Variable]]) -> Subgraph:
    """A subgraph over copies of the inputs."""
    own = tuple(Variable(x.type) for x in inputs)
    return Subgraph(own, tuple(make(*own)))


def scalar(name: str) -> Variable:
    """A float64 symbol of rank 0."""
    return at.scalar(name, dtype="float64")


@program
def running_sum() -> InOut:
    x, start = vector("x", "n"), vector("start", 1)
    loop = Scan(body([scalar("row"), scalar("sum")], lambda row, s: [row + s]), 1, ((-1,),), (True,), 0)
    return [x, start], [loop(x.shape[0], x, start)]


@program
def last_of_a_recurrence() -> InOut:
    x, h, u = matrix("x", "n", "m"), matrix("h", 1, "m"), matrix("u", "m", "m")
    step = body(
        [vector("row", "m"), vector("state", "m"), u], lambda row, s, u: [at.tanh(row + 0.2 * at.dot(u, s)), s.sum()]
    )
    loop = Scan(step, 1, ((-1,),), (False,), 1)
    return [x, h, u], loop(x.shape[0], x, h, u)


@program
def backwards_with_two_lags() -> InOut:
    x, h = matrix("x", "n", "m"), matrix("h", 3, "m")
    rows = [vector(name, "m") for name in ("row", "old", "new")]
    step = body(rows, lambda row, old, new: [row - 0.5 * old + 0.25 * new, row * new])
    loop = Scan(step, 1, ((-3, -1),), (True,), 1, is_reversed=True)
    return [x, h], loop(x.shape[0], x, h)


@program
def steps_until_large() -> InOut:
    x, start = vector("x", "n"), vector("start", 1)
    step = body([scalar("row"), scalar("sum")], lambda row, s: [at.abs(row) + s, row * s, s > 4.0])
    loop = Scan(step, 1, ((-1,),), (False,), 1, has_condition=True)
    total, products, count = loop(x.shape[0], x, start)
    return [x, start], [total, products.sum(), count]


@program
def products_in_a_loop() -> InOut:
    h, u = matrix("h", 1, "n", "m"), matrix("u", "m", "m")
    step = body([matrix("state", "n", "m"), u], lambda s, u: [at.tanh(at.matmul(s, u)), at.matmul(s, u)])
    return [h, u], Scan(step, 0, ((-1,),), (True,), 1)(at.constant(3, dtype="int64"), h, u)


@program
def rows_of_a_state() -> InOut:
    """A loop inside of one reads rows of a state, which itself is a row of either the first values or the result."""
    h, start = matrix("h", 1, "n", "m"), matrix("start", 1, "m")
    inner = body([vector("row", "m"), vector("sum", "m")], lambda row, s: [s + 0.5 * row])

    def step(state: Variable, start: Variable) -> Sequence[Variable]:
        return [at.tanh(state + Scan(inner, 1, ((-1,),), (False,), 0)(state.shape[0], state, start))]

    outer = body([matrix("state", "n", "m"), start], step)
    return [h, start], [Scan(outer, 0, ((-1,),), (True,), 0)(at.constant(3, dtype="int64"), h, start)]


@program
def sums_of_a_gradient_in_a_loop() -> InOut:
    """Cores sum the rows of a product into a row of the state, or into parts of their own."""
    h, u = matrix("h", 1, "m"), matrix("u", "m", "m")
    step = body([vector("state", "m"), u], lambda s, u: [at.dot((1 - at.cos(s) ** 2) * at.sin(s), u)])
    return [h, u], [Scan(step, 0, ((-1,),), (True,), 0)(at.constant(3, dtype="int64"), h, u)]


@program
def one_of_two() -> InOut:
    c, x, y = scalar("c"), vector("x", "n"), vector("y", "n")
    sides = [body([x, y], lambda x, y: [x * y, x.sum()]), body([x, y], lambda x, y: [at.exp(x), y.sum()])]
    return [c, x, y], Branch(*sides)(c > 0.5, x, y)
