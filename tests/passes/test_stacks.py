"""Stacked and joined columns: right for every axis and extent, beside what reads them, in any number of chunks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_target import TINY

import aotensor as aot
import aotensor.tensor as at
import aotensor_runtime
from aotensor.driver.recipe import Options, lower, make_library
from aotensor.gradient import Rop
from aotensor.passes.nest import fuse

Program = Callable[[Any], list[Any]]


def columns(u: Any) -> list[Any]:
    return [u[:, 0], u[:, 1], u[:, 2]]


def stacked(u: Any, axis: int) -> Any:
    a, b, c = columns(u)
    return at.stack([a * b, at.exp(c), b, a * b], axis=axis)


def nested(u: Any) -> Any:
    """Two rows of columns each, one of which, and a number, both of them have."""
    a, b, c = columns(u)
    shared, ones = at.tanh(a), at.ones_like(a)
    return at.stack([at.stack([a + b, shared, ones], axis=1), at.stack([shared, c, ones], axis=1)], axis=1)


def meeting(u: Any) -> Any:
    """Columns, then rows, of a square: no iteration of one loop has what the other one's has."""
    rows = at.stack([u[0], u[1] * 2.0, u[2]], axis=0)
    return rows[:, :3] + at.stack([rows[:, 0], rows[:, 1], rows[:, 2]], axis=1)


PROGRAMS: dict[str, Program] = {
    "rows": lambda u: [stacked(u, 0)],
    "columns": lambda u: [stacked(u, 1)],
    "what reads them as well": lambda u: [
        stacked(u, 1),
        (stacked(u, -1) ** 2).sum(axis=1),
        stacked(u, 1)[:, 3] + u[:, 0],
    ],
    "read along both axes": lambda u: [stacked(u, 1).sum(axis=0), stacked(u, 0).sum(axis=0), stacked(u, 1).max(axis=1)],
    "stacks of stacks": lambda u: [nested(u), nested(u).sum(axis=2)],
    "in another order": lambda u: [at.stack([u.T[0], u.T[2]], axis=1), stacked(u, 1).T],
    "sums": lambda u: [at.stack([u.sum(axis=1), (u * u).sum(axis=1), u.max(axis=1)], axis=1)],
    "one part": lambda u: [at.stack([u[:, 1] * 2.0], axis=1), at.stack([at.stack([u[:, 1]], axis=1)], axis=0)],
    "joined": lambda u: [at.join(1, u[:, 1:2], at.exp(u[:, :1]), u[:, 2:3]), at.join(1, u, u * 2.0, u[:, :1])],
    "products": lambda u: [stacked(u, 1).T @ stacked(u, 1), at.stack([u @ u[0], u[:, 0]], axis=1)],
    "gradients": lambda u: [aot.grad((stacked(u, 1) ** 3).sum(), u), aot.grad((nested(u) ** 2).sum(), u)],
    "of other types": lambda u: [
        at.stack([at.gt(u[:, 0], 0), at.lt(u[:, 1], u[:, 2])], axis=1),
        at.stack([(u[:, 0] * 10).astype("int32"), (u[:, 1] * 7).astype("int32")], axis=0),
    ],
}
ROWS = (0, 1, 2, 3, 5, 8, 17, 40)


def function(name: str, dtype: str = "float64") -> aot.Function:
    u = at.matrix("u", dtype=dtype, shape=("n", 3))
    return aot.function([u], PROGRAMS[name](u), name="f")


def inputs(name: str, dtype: str, rows: int) -> list[Any]:
    u = np.random.default_rng(rows).normal(size=(rows, 3)).astype(dtype)
    needed = 1 if name in ("sums", "products", "read along both axes") else 0  # maxima and first rows of nothing
    return [u, np.asfortranarray(u), np.repeat(u, 2, axis=0)[::2]] if rows >= needed else []


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_stacks_agree_with_the_reference(name: str, dtype: str) -> None:
    f = function(name, dtype)
    for rows in ROWS:
        for u in inputs(name, dtype, rows):
            for found, expected in zip(f(u), f.reference(u), strict=True):
                rtol = 1e-12 if dtype == "float64" else 1e-4
                np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


def test_rows_and_columns_of_a_square_do_not_share_a_loop() -> None:
    u = at.matrix("u", shape=(3, 3))
    f = aot.function([u], meeting(u), name="f")
    value = np.random.default_rng(0).normal(size=(3, 3))
    np.testing.assert_allclose(f(value), f.reference(value), rtol=1e-12)


@pytest.mark.parametrize("n", ["n", 5])
def test_rows_that_are_copied_in_another_order_are_all_there(n: str | int) -> None:
    """Directional derivatives of a gradient through a sort: no copy of one row is taken for the stack."""
    x, w, v = (at.vector(name, dtype="float64", shape=(n,)) for name in "xwv")
    g = aot.grad((at.sin(at.sort(x)) * w).sum(), x)
    rows = at.stack([Rop(g, x, tangent) for tangent in (v, at.cos(v), v * v - 0.5)])
    f = aot.function([x, w, v], [g * 2.0, rows + g], name="f")
    values = np.random.default_rng(0).normal(size=(3, 5))
    for found, expected in zip(f(*values), f.reference(*values), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_chunks_change_no_bit(name: str, tmp_path: Path) -> None:
    """On a machine on which every loop has several chunks."""
    f, path = function(name), tmp_path / "libf.so"
    path.write_bytes(make_library(lower([f], Options(facts=TINY, verify=True), texts=()), "f").shared())
    compiled = aotensor_runtime.load(path).functions["f"]
    for rows in ROWS:
        for u in inputs(name, "float64", rows):
            found, *others = ([x.tobytes() for x in _listed(compiled(u, num_threads=count))] for count in (1, 2, 3))
            assert all(other == found for other in others)
            for x, expected in zip(_listed(compiled(u)), f.reference(u), strict=True):
                np.testing.assert_allclose(x, expected, rtol=1e-12, atol=1e-12)


def _listed(x: Any) -> list[Any]:
    return x if isinstance(x, list) else [x]


def test_parts_are_fused_in_time_that_grows_as_they_do(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    axis_of = fuse.axis_of

    def counted(*arguments: Any) -> Any:
        counts[-1] += 1
        return axis_of(*arguments)

    monkeypatch.setattr(fuse, "axis_of", counted)
    for size in (10, 40):
        u = at.matrix("u", shape=("n", size))
        counts.append(0)
        lower(
            [aot.function([u], at.stack([at.exp(u[:, k]) for k in range(size)], axis=1), name="f")], Options(), texts=()
        )
    assert 0 < counts[1] < 5 * counts[0]
