"""Checkpointed loops compute the same bits as loops that store everything, for gradients of any order."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.driver.prepare import passes_over
from aotensor.errors import GraphIndexError
from aotensor.gradient import Rop
from aotensor.graph.op import Apply
from aotensor.graph.passes.pipeline import pipeline_of
from aotensor.graph.subgraph import Subgraph, all_nodes
from aotensor.graph.variable import Variable
from aotensor.ops.scan.op import Scan
from aotensor.ops.scan.rewrite.checkpoint import Checkpoints
from aotensor.ops.scan.rewrite.lengths import segment_lengths

UNMOVED = pipeline_of(None, ("sink", "licm", "stable-forms"))
Steps = int | str


def step(x: Variable, old: Variable, rate: Variable) -> Variable:
    return rate * at.sin(old) * (1 - old) + x


def inputs(steps: Steps) -> list[Variable]:
    return [at.vector("x", shape=(steps,)), at.vector("start", shape=(3,)), at.vector("rate", shape=(3,))]


def last_state(steps: Steps, **options: Any) -> tuple[list[Variable], list[Variable]]:
    x, start, rate = given = inputs(steps)
    states, _ = aot.scan(step, x, start, rate, **options)
    loss = at.sqr(states[-1]).sum()
    return given, [loss, *aot.grad(loss, given)]


def backwards(steps: Steps) -> tuple[list[Variable], list[Variable]]:
    return last_state(steps, go_backwards=True)


def all_states(steps: Steps) -> tuple[list[Variable], list[Variable]]:
    x, start, rate = given = inputs(steps)
    states, _ = aot.scan(step, x, start, rate)
    loss = at.sqr(states).sum()
    return given, [states, *aot.grad(loss, given)]


def second(steps: Steps) -> tuple[list[Variable], list[Variable]]:
    given, (_, _, by_start, by_rate) = last_state(steps)
    return given, [*aot.grad(by_rate.sum(), given), Rop(by_start, given[2], given[1])]


def several_taps(steps: Steps) -> tuple[list[Variable], list[Variable]]:
    x, start, rate = at.vector("x", shape=(steps,)), at.matrix("start", shape=(3, 3)), at.vector("rate", shape=(3,))
    info = {"initial": start, "taps": [-3, -1]}
    states, _ = aot.scan(lambda x, old, new: at.sin(old) * rate + at.cos(new) * x, x, info)
    return [x, start, rate], aot.grad(at.sqr(states[-1]).sum(), [x, start, rate])


def with_condition(steps: Steps) -> tuple[list[Variable], list[Variable]]:
    given = x, start, rate = inputs(steps)

    def grow(old: Variable) -> Any:
        new = old + at.sin(old) * rate / 8 + 0.1
        return new, aot.until(new.sum() > 12)

    states, _ = aot.scan(grow, None, start, n_steps=80)
    return list(given), [*aot.grad(at.sqr(states[-1]).sum(), [start, rate]), x.sum()]


def up_to_the_limit(steps: Steps) -> tuple[list[Variable], list[Variable]]:
    given = x, start, rate = inputs(steps)

    def turn(old: Variable) -> Any:
        return at.sin(old) * rate + 0.1, aot.until(old.sum() > 99)

    states, _ = aot.scan(turn, None, start, n_steps=83)  # prime, so the last segment is a shorter one
    return list(given), [*aot.grad(at.sqr(states[-1]).sum(), [start, rate]), x.sum()]


def with_condition_and_rows(steps: Steps) -> tuple[list[Variable], list[Variable]]:
    given = x, start, rate = inputs(steps)

    def grow(x: Variable, old: Variable) -> Any:
        new = step(x, old, rate)
        return new, aot.until(new.sum() > 12)

    states, _ = aot.scan(grow, x, start)
    return list(given), aot.grad(at.sqr(states[-1]).sum(), [x, start, rate])


def trajectory(steps: Steps) -> tuple[list[Variable], list[Variable]]:
    given = x, start, rate = inputs(steps)
    found = at.integrate.solve_ivp(
        lambda t, y: at.sin(rate * t) - y * rate[::-1], (0.0, 3.0), start, t_eval=[0.0, 1.0, 1.1, 3.0], rtol=1e-4
    )
    return list(given), [found.y, *aot.grad(at.sqr(found.y).sum(), [start, rate]), x.sum()]


def run(given: Sequence[Variable], outputs: Sequence[Variable], values: Sequence[Array]) -> list[Array]:
    return Subgraph(tuple(given), tuple(outputs)).evaluate(list(values))


def arguments(given: Sequence[Variable], steps: int) -> list[Array]:
    rng = np.random.default_rng(steps)
    return [rng.uniform(size=[steps if n is None else n for n in x.static_shape]) for x in given]


def nodes_within(outputs: Sequence[Variable]) -> Iterator[Apply]:
    """All nodes of a graph, and of the bodies of its loops."""
    for node in all_nodes(outputs):
        yield node
        if isinstance(node.op, Scan):
            yield from nodes_within(node.op.body.outputs)


def rewritten(given: list[Variable], outputs: list[Variable], levels: int, steps: int) -> list[Variable]:
    extents = {x: tuple(steps if n is None else n for n in x.static_shape) for x in given}
    *_, (_, found) = passes_over(outputs, given, UNMOVED, Checkpoints(levels, extents, is_exact=True))
    return found


PROGRAMS = [
    last_state, backwards, all_states, second, several_taps, with_condition, up_to_the_limit,
    with_condition_and_rows, trajectory,
]  # fmt: skip


@pytest.mark.parametrize("levels", [1, 2])
@pytest.mark.parametrize("steps", [61, "T"], ids=["static", "dynamic"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_same_bits(
    program: Callable[[Steps], tuple[list[Variable], list[Variable]]], steps: Steps, levels: int
) -> None:
    given, outputs = program(steps)
    found = rewritten(given, outputs, levels, 61)
    assert any(isinstance(node.op, Scan) and node.op.is_segment for node in nodes_within(found))
    for count in (61, 1, 5) if steps == "T" else (61,):
        values = arguments(given, count)
        for new, old in zip(run(given, found, values), run(given, outputs, values), strict=True):
            np.testing.assert_array_equal(new, old)


def test_the_last_of_no_steps_is_an_error() -> None:
    given, outputs = last_state("T")
    with pytest.raises(GraphIndexError, match="last row"):
        run(given, rewritten(given, outputs, 2, 61), arguments(given, 0))


def test_lengths_have_one_ratio_and_divide() -> None:
    assert segment_lengths(1000, 1, 8, 8) == [40]  # a divisor near √1000
    assert segment_lengths(1000, 2, 8, 8) == [100, 10]
    assert segment_lengths(997, 1, 8, 8) == [32]
    assert segment_lengths(2, 3, 8, 8) == []
