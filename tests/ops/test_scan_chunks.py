"""Loops over steps that go by chunks of rows: the results of NumPy, and the same bits on any number of threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
import aotensor_runtime as rt
from aotensor.core.types import Array

THREADS = (1, 2, 3, 7)
rng = np.random.default_rng(0)


def _library(tmp_path: Path, f: aot.Function) -> Any:
    aot.compile(f, tmp_path, name="lib")
    return rt.load(tmp_path / "liblib.so").f


def _results(f: Any, values: Sequence[Array]) -> list[Array]:
    """The results, which are the same to the last bit on any number of threads."""
    found = [[np.array(x) for x in f.with_threads(n)(*values)] for n in THREADS]
    for other in found[1:]:
        assert all(x.tobytes() == y.tobytes() for x, y in zip(found[0], other, strict=True))
    return found[0]


def _is_cut(f: aot.Function) -> bool:
    return "cut = array" in f.ir("nest", short=True)


def _net(np: Any, x: Any, h: Any, c: Any, u: Any, m: Any) -> tuple[Any, Any]:
    """A step of a gated net: products, slices of columns, a value of each row that is the same in all steps."""
    z = x + h @ u
    c = np.tanh(z[:, :8]) * c + np.sin(z[:, 8:16]) * m
    return np.tanh(c) * z[:, 16:], c


def _net_by_numpy(x: Array, h: Array, c: Array, u: Array, m: Array) -> list[Array]:
    states = []
    for row in x:
        h, c = _net(np, row, h, c, u, m)
        states.append(h)
    return [np.array(states).reshape(len(x), *h.shape), c]


def _net_of(steps: Any, rows: Any) -> aot.Function:
    inputs = [
        at.tensor("x", dtype="float64", shape=(steps, rows, 24)), at.dmatrix("h", shape=(rows, 8)),
        at.dmatrix("c", shape=(rows, 8)), at.dmatrix("u", shape=(8, 24)), at.dmatrix("m", shape=(rows, 8)),
    ]  # fmt: skip
    x, h, c, u, m = inputs
    (states, last), _ = aot.scan(lambda row, h, c: _net(at, row, h, c, u, m), sequences=[x], outputs_info=[h, c])
    return aot.function(inputs, [states, last[-1]], name="f")


def _values_of_net(steps: int, rows: int) -> list[Array]:
    return [0.3 * rng.normal(size=shape) for shape in ((steps, rows, 24), (rows, 8), (rows, 8), (8, 24), (rows, 8))]


def test_rows_of_unknown_number(tmp_path: Path) -> None:
    f = _net_of("t", "n")
    assert _is_cut(f)
    compiled = _library(tmp_path, f)
    for steps, rows in ((1, 0), (3, 1), (50, 7), (60, 300), (40, 1001), (1, 5000)):
        values = _values_of_net(steps, rows)
        for found, expected in zip(_results(compiled, values), _net_by_numpy(*values), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("rows", "is_cut"), [(640, True), (100, True), (1009, False), (1, False)])
def test_rows_of_known_number(tmp_path: Path, rows: int, is_cut: bool) -> None:
    """Chunks have equal numbers of rows there: of a prime number there are none."""
    f = _net_of(200, rows)
    assert _is_cut(f) == is_cut
    values = _values_of_net(200, rows)
    for found, expected in zip(_results(_library(tmp_path, f), values), _net_by_numpy(*values), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


SQUARE: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "a row as a whole": lambda np, x, h, w: np.tanh(h + x),
    "a product": lambda np, x, h, w: np.tanh(h @ w + x),
    "slices of columns": lambda np, x, h, w: np.concatenate([h[:, 1:], h[:, :1] + x[0]], axis=1) * 0.5 + np.sin(h),
    "another shape": lambda np, x, h, w: np.tanh((h * x).reshape((-1,)).reshape(h.shape)),
    "its number of columns": lambda np, x, h, w: np.tanh(h) * (1.0 / (1.0 + w.shape[1])) + x,
}
"""A state with as many rows as columns, and others of that extent."""


@pytest.mark.parametrize("name", SQUARE)
def test_rows_of_square_matrices(tmp_path: Path, name: str) -> None:
    """Only rows are cut, whatever else has as many elements."""
    x, h, w = at.matrix("x", shape=("t", "m")), at.matrix("h", shape=("m", "m")), at.matrix("w", shape=("m", "m"))
    states = aot.scan(lambda row, old, w: SQUARE[name](at, row, old, w), [x], [h], [w], return_updates=False)
    loss = at.sqr(states).sum()
    f = aot.function([x, h, w], [states, aot.grad(loss, h)], name="f", on_unused_input="ignore")
    compiled = _library(tmp_path, f)
    for steps, m in ((3, 1), (40, 37), (9, 130)):
        drawn = np.random.default_rng(m)
        values = [drawn.normal(size=shape) / m**0.5 for shape in ((steps, m), (m, m), (m, m))]
        found, expected = _results(compiled, values), f.reference(*values)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


def test_search_of_a_matrix_in_its_own_rows(tmp_path: Path) -> None:
    """The steps of a bisection read what is searched as a whole, and it has as many elements as there are rows."""
    u = at.vector("u", shape=("m",))
    f = aot.function([u], [at.searchsorted(u, u[:, None] * at.cos(u)[None, :], side="right")], name="f")
    assert _is_cut(f)
    compiled = _library(tmp_path, f)
    for m in (1, 2, 31, 64, 300):
        values = np.sort(np.random.default_rng(m).normal(size=m))
        expected = np.searchsorted(values, values[:, None] * np.cos(values), side="right")
        np.testing.assert_array_equal(_results(compiled, [values])[0], expected)


def test_gradient(tmp_path: Path) -> None:
    """Backwards the loop goes by chunks as well; what all rows share is added up behind it."""
    x, h, u = at.dtensor3("x", shape=(100, 64, 48)), at.dmatrix("h", shape=(64, 48)), at.dmatrix("u", shape=(48, 48))
    states, _ = aot.scan(lambda row, old: at.tanh(row + old @ u), sequences=[x], outputs_info=[h])
    loss = (states[-1] ** 2).sum()
    f = aot.function([x, h, u], [loss, *aot.grad(loss, [u, h])], name="f")
    assert f.ir("nest", short=True).count("cut = array") == 2
    values = [0.1 * rng.normal(size=shape) for shape in ((100, 64, 48), (64, 48), (48, 48))]
    plain = aot.function([x, h, u], [loss, *aot.grad(loss, [u, h])], name="f", disable_passes=["tile-scan-batch"])
    for found, expected in zip(_results(_library(tmp_path, f), values), plain(*values), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12 * float(np.abs(expected).max()))


def test_several_former_values(tmp_path: Path) -> None:
    """A state that looks two steps back, of which only the last value is wanted: each chunk has rows of a ring."""
    h = at.dmatrix("h", shape=(2, "n"))
    states, _ = aot.scan(
        lambda before, last: 1.5 * last - 0.7 * before + at.sin(last),
        outputs_info=[{"initial": h, "taps": [-2, -1]}], n_steps=500,
    )  # fmt: skip
    f = aot.function([h], [states[-1]], name="f")
    assert _is_cut(f)
    compiled = _library(tmp_path, f)
    for n in (1, 3000, 10_001):
        start = rng.normal(size=(2, n))
        before, last = start
        for _ in range(500):
            before, last = last, 1.5 * last - 0.7 * before + np.sin(last)
        np.testing.assert_allclose(_results(compiled, [start])[0], last, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "step",
    [
        lambda h: h - h.mean(axis=0),
        lambda h: h[::-1] * 0.5,
        lambda h: at.cumsum(h, axis=0) * 0.01,
        lambda h: at.tanh(h @ h.T @ h),
        lambda h: h * h[0],
    ],
    ids=["mean", "reversed", "running sum", "product with itself", "first row"],
)
def test_rows_that_need_others(step: Callable[[Any], Any]) -> None:
    """These steps are taken for all rows at once."""
    h = at.dmatrix("h", shape=(4096, 4))
    states, _ = aot.scan(step, outputs_info=[h], n_steps=300)
    assert not _is_cut(aot.function([h], [states[-1]], name="f"))


def test_steps_that_are_work_enough() -> None:
    """Where each step is enough for several cores, or reads more than a cache holds, it stays as it is."""
    large, small = at.dmatrix("h", shape=(1_000_000, 4)), at.dmatrix("h", shape=(64, 1024))
    states, _ = aot.scan(at.sin, outputs_info=[large], n_steps=300)
    assert not _is_cut(aot.function([large], [states[-1]], name="f"))
    u = at.dmatrix("u", shape=(1024, 1024))
    states, _ = aot.scan(lambda h: at.tanh(h @ u), outputs_info=[small], n_steps=300)
    assert not _is_cut(aot.function([small, u], [states[-1]], name="f"))


def _transforms(n: Any) -> aot.Function:
    x = at.tensor("x", dtype="complex128", shape=("b", n))
    return aot.function([x], [at.fft(x)], name="f")


def test_steps_without_states(tmp_path: Path) -> None:
    """The rows of a transform are steps of a loop, which need nothing of each other."""
    f = _transforms(60)
    assert _is_cut(f)
    compiled = _library(tmp_path, f)
    for rows in (0, 1, 5, 64, 2001):
        x = rng.normal(size=(rows, 60)) + 1j * rng.normal(size=(rows, 60))
        np.testing.assert_allclose(_results(compiled, [x])[0], np.fft.fft(x), rtol=1e-12, atol=1e-12)


def test_steps_that_may_fail_stay_one_after_the_other() -> None:
    x, k = at.dmatrix("x", shape=("b", "n")), at.lvector("k", shape=("b",))
    rows, _ = aot.map(lambda row, at_row: at.cumsum(row) * row[at_row], [x, k])
    assert not _is_cut(aot.function([x, k], rows, name="f"))
