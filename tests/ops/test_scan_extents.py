"""What a step gives keeps its extents from step to step, also where a branch or values decide them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphValueError
from aotensor.gradient import Lop, Rop
from aotensor.graph.variable import Variable
from aotensor_runtime.errors import ArgumentValueError

SIGNS = np.array([1.0, -1.0, 1.0])


def test_a_state_that_a_branch_sizes(tmp_path: Path) -> None:
    x, h, a, b = (at.vector(name) for name in "xhab")

    def step(row: Variable, h: Variable, a: Variable, b: Variable) -> Variable:
        return aot.ifelse(row > 0, a + h.sum(), b + h.sum())

    y = aot.scan(step, [x], [h], [a, b], return_updates=False)
    f = aot.function([x, h, a, b], [y], name="f")
    compiled = aot.compile(f, tmp_path).load().f
    found = compiled(SIGNS, np.zeros(3), np.ones(3), np.full(3, 2.0))[0]
    np.testing.assert_array_equal(found, np.repeat([[1.0], [5.0], [16.0]], 3, axis=1))
    for n in (5, 300_000):
        with pytest.raises(
            ArgumentValueError, match=f"state 0: extents before and after a step differ: (b_0 = )?{n} and h_0 = 3"
        ):
            compiled(SIGNS, np.zeros(3), np.ones(3), np.ones(n))
    with pytest.raises(GraphValueError, match="the shape of state 0 changes"):
        f.reference(SIGNS, np.zeros(3), np.ones(3), np.ones(5))


def test_a_state_that_values_size(tmp_path: Path) -> None:
    x, h, k = at.vector("x"), at.vector("h"), at.scalar("k", dtype="int64")
    y = aot.scan(lambda row, h, k: at.zeros((k,)) + row + h.sum(), [x], [h], [k], return_updates=False)
    compiled = aot.compile(aot.function([x, h, k], [y], name="f"), tmp_path).load().f
    np.testing.assert_array_equal(compiled(np.ones(2), np.zeros(3), 3)[0], [[1.0] * 3, [4.0] * 3])
    for n in (1, 2, 5, 100_000):
        with pytest.raises(
            ArgumentValueError, match=f"extents before and after a step differ: (b_0 = )?{n} and h_0 = 3"
        ):
            compiled(np.ones(2), np.zeros(3), n)


def test_a_state_that_a_sum_of_values_sizes() -> None:
    """Computed before the loop, here in a step of another loop."""
    k, x = at.lvector("k"), at.vector("x")

    def row(n: Variable) -> Variable:
        return aot.reduce(lambda q, r: 2 * r + q, at.arange(n), at.zeros((n,)), return_updates=False).sum()

    whole = aot.scan(lambda v, r: r + v, [x], [at.zeros((k.sum(),))], return_updates=False)
    f = aot.function([k, x], [whole, aot.scan(row, [k], return_updates=False)], name="f")
    for found in (f(np.array([1, 2, 3]), SIGNS), f.reference(np.array([1, 2, 3]), SIGNS)):
        np.testing.assert_array_equal(found[0], np.cumsum(SIGNS)[:, None] + np.zeros(6))
        np.testing.assert_array_equal(found[1], [0.0, 2.0, 12.0])


def test_an_index_into_an_extent_that_such_a_check_makes_known(tmp_path: Path) -> None:
    """row[0] of no elements is out of range at run time, not while compiling."""
    x, h = at.matrix("x"), at.vector("h")
    y = aot.scan(
        lambda row, h: aot.ifelse(row[0] > 0, row + at.tanh(h), at.zeros((0,))), [x], [h], return_updates=False
    )
    compiled = aot.compile(aot.function([x, h], [y], name="f"), tmp_path).load().f
    with pytest.raises(ArgumentValueError, match="extents before and after a step differ: h_0 = 3 and 0"):
        compiled(np.ones((2, 3)), np.ones(3))


def test_a_value_that_one_branch_hands_to_another(tmp_path: Path) -> None:
    """The product with the Hessian reads exp(row) in both: it has the extents of the side that made it."""
    x, d, ct = (at.matrix(name, shape=("n", "m")) for name in ("x", "d", "ct"))
    y = aot.scan(lambda row: aot.ifelse(row[0] > 0.0, at.exp(row), row * 2.0), [x], return_updates=False)
    pulled = Lop([y], [x], [ct])
    f = aot.function([x, ct, d], [*pulled, *Rop(pulled, [x], [d])], name="f")
    given = np.array([[0.5, -1.0], [-0.5, 2.0], [1.5, 0.1]])
    ways, tangents = np.arange(6.0).reshape(3, 2), np.linspace(-1, 1, 6).reshape(3, 2)
    is_exp = given[:, :1] > 0
    derivative, curved = aot.compile(f, tmp_path).load().f(given, ways, tangents)
    np.testing.assert_allclose(derivative, np.where(is_exp, ways * np.exp(given), 2.0 * ways), rtol=1e-14)
    np.testing.assert_allclose(curved, np.where(is_exp, ways * np.exp(given) * tangents, 0.0), rtol=1e-14)


@pytest.mark.parametrize("opt_level", [0, 3])
def test_a_state_decides_how_long_a_slice_is(opt_level: int, tmp_path: Path) -> None:
    """The slice has memory of its own in each step, none in the workspace, whose size follows from dims."""
    x, places = at.vector("x", shape=(4,)), at.vector("places", dtype="int64", shape=(4,))

    def step(i: Variable, row: Variable) -> list[Variable]:
        k = at.clip(i, 0, 3)
        return [i + 1, at.set_subtensor(row[k], row[places[k]] + row[k : k + 1].sum())]

    (_, rows), _ = aot.scan(step, outputs_info=[at.constant(np.int64(0)), x], n_steps=4)
    f = aot.function([x, places], rows[-1], name="f")
    library = aot.compile(f, tmp_path, opt_level=opt_level).load()
    np.testing.assert_array_equal(library.f(np.arange(1.0, 5.0), np.array([1, 3, 0, 2])), [3, 6, 6, 10])
