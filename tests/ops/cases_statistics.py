"""Rows for positions in ordered vectors, counts, order statistics, weighted means; NumPy says the values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from case import INF, NAN, Case, normal, value

import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.gradient import grad
from aotensor.ops.reduce.select import Leading, Ranked
from aotensor.ops.search import SearchStep

LINE = np.array([0.5, -1.0, 3.0, 0.5, 2.0, -4.0, 0.75])
GRID = np.array([[0.3, -1.2, 2.5, 0.7], [4.0, 0.1, -0.6, 1.9], [-2.2, 3.3, 0.9, -0.4]])
STEPS = np.array([-1.0, 0.0, 0.5, 0.5, 2.0])
PLACES = np.array([[-INF, -1.0, 0.25], [0.5, 3.0, NAN]])
COUNTS = np.array([3, 1, 0, 3, 3, 1], "int32")
WEIGHTS = np.array([0.5, 2.0, -1.0, 0.25, 3.0, 1.5])
FAR = np.array([-1, 0, 0.25, 1, 1.5, 2, 3, NAN, INF, -INF])
OBSERVED = np.array([1, 2, 1, 3])


def same(id: str, name: str, inputs: Sequence[Any], **options: Any) -> Case:
    """A value that NumPy's function of that name gives."""
    call = partial(getattr(at, name), **options)
    return value(id, lambda *xs: call(*xs), inputs, getattr(np, name)(*map(np.asarray, inputs), **options))


def first(call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: call(*xs)[0]


def curved(call: Callable[..., Any]) -> Callable[..., Any]:
    """The derivatives of a sum of squares, in all operands: what a row differentiates again."""
    return lambda *xs: grad((call(*xs) ** 2).sum(), list(xs))


def known(*extents: int) -> dict[str, Any]:
    """Inputs of static extents."""
    return {"dims": [[n] for n in extents]}


VALUES = [
    same("searchsorted", "searchsorted", [STEPS, PLACES]),
    same("searchsorted-right", "searchsorted", [STEPS, PLACES], side="right"),
    value("searchsorted-static", lambda a, v: [at.searchsorted(a, v), at.searchsorted(a, v, "right")][1],
          [STEPS, LINE], np.searchsorted(STEPS, LINE, "right"), **known(5, 7)),
    same("searchsorted-nothing", "searchsorted", [np.zeros(0), LINE]),
    same("searchsorted-one", "searchsorted", [np.array(2.0)[None], np.float64(2.0)], side="right"),
    same("searchsorted-nan", "searchsorted", [np.array([0.0, 1.0, NAN, NAN]), PLACES], side="right"),
    same("searchsorted-int", "searchsorted", [np.array([1, 3, 5], "int8"), np.array([0, 3, 200])]),
    same("search-bool", "searchsorted", [np.array([False, False]), np.array([True, False])]),
    value("search-sorter", lambda v: at.searchsorted(LINE, v, sorter=np.argsort(LINE)), [STEPS],
          np.searchsorted(LINE, STEPS, sorter=np.argsort(LINE))),
    value("search_step", lambda v, low: SearchStep(is_right=False)(STEPS, v, low, 2), [LINE[:2], np.array([0, 2])],
          [2, 2]),
    same("bincount-int", "bincount", [COUNTS], minlength=6),
    same("bincount-nothing", "bincount", [np.zeros(0, "int64")]),
    value("histogram", first(at.histogram), [LINE], np.histogram(LINE)[0]),
    value("histogram-edges", lambda a: at.histogram(a, 4)[1], [LINE], np.histogram(LINE, 4)[1]),
    value("histogram-vector", first(at.histogram), [np.append(LINE, [NAN, 9.0]), STEPS],
          np.histogram(np.append(LINE, [NAN, 9.0]), STEPS)[0]),
    value("histogram-equal-edges", first(at.histogram), [LINE, np.array([-1.0, 0.0, 0.0, 2.0])],
          np.histogram(LINE, [-1.0, 0.0, 0.0, 2.0])[0]),
    value("histogram-range", lambda a: at.histogram(a, 7, (-1, 2))[0], [GRID], np.histogram(GRID, 7, (-1, 2))[0]),
    value("histogram-one", first(at.histogram), [np.ones(3)], np.histogram(np.ones(3))[0]),
    value("histogram-nothing", lambda a: at.histogram(a, 2)[1], [np.zeros(0)], [0, 0.5, 1]),
    value("histogram-int", first(at.histogram), [COUNTS], np.histogram(COUNTS)[0]),
    value("histogram-density", lambda a: at.histogram(a, 3, density=True)[0], [LINE],
          np.histogram(LINE, 3, density=True)[0]),
    value("interp-int", lambda x: at.interp(x, [0, 2, 4], [1, 5, 3]), [COUNTS],
          np.interp(COUNTS, [0, 2, 4], [1, 5, 3])),
    value("interp-one", at.interp, [STEPS, np.array([0.5]), np.array([7.0])], np.full(5, 7.0), dims=[[None]] * 3),
    value("interp-sides", lambda x, p, f: at.interp(x, p, f, left=-9, right=np.inf), [PLACES, STEPS[:3], LINE[:3]],
          np.interp(PLACES, STEPS[:3], LINE[:3], left=-9, right=np.inf)),
    *(
        value(f"interp-{name}", lambda x, p, f: at.interp(x, p, f), [FAR, np.array(p), np.array(f)],
              np.interp(FAR, p, f))
        for name, p, f in (
            ("infinite-values", [0, 1, 2.0], [-INF, 1, INF]), ("infinite-ends", [-INF, 0, INF], [3.0, 4, 5]),
            ("infinite-start", [0, 1, 2.0], [INF, INF, 1]), ("nan", [0, 1, 2.0], [1, NAN, 2]),
        )
    ),
    *(
        value(f"quantile-{method}", partial(at.quantile, method=method), [GRID, np.array([0.0, 0.1, 0.35, 0.5, 1.0])],
              np.quantile(GRID, [0.0, 0.1, 0.35, 0.5, 1.0], method=method))
        for method in (
            "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen",
            "weibull", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
        )
    ),
    same("quantile-nan", "quantile", [np.array([[1.0, NAN], [2.0, 3.0]]), np.array([0.5, 1.0])], axis=1),
    value("quantile-inf", at.quantile, [np.array([-INF, 2.0, INF, INF]), np.array([0.0, 0.1, 1 / 3, 0.5, 1.0])],
          [-INF, -INF, 2, INF, INF]),
    value("percentile-kept", lambda a: at.percentile(a, [25, 75], axis=(0, 1), keepdims=True), [GRID],
          np.percentile(GRID, [25, 75], axis=(0, 1), keepdims=True)),
    value("argtopk", lambda x: at.argtopk(x, 3), [GRID], np.argsort(GRID)[:, :0:-1]),
    value("topk-int8", lambda x: at.topk(x, -2, axis=None), [np.array([3, -1, 2], "int8")], [-1, 2]),
    value("ranked", lambda x, k: Ranked()(x, k), [GRID, np.array([0, 3, 1])], np.argsort(GRID)[:, [0, 3, 1]]),
    value("leading", lambda x: Leading(2, is_last=True)(x), [np.array([1, 5, 5, 0], "uint8")], [1, 2]),
    value("leading-bool", lambda x: Leading(1, is_last=False)(x), [np.array([True, False, False])], [1]),
    value("partition-nan", lambda x: at.partition(x, [1, -1]), [np.array([3.0, NAN, 1.0, 2.0, 1.0])],
          [1, 1, 3, 2, NAN]),
    value("argpartition", lambda x: at.argpartition(x, 1, axis=0), [np.array([[3, 0], [1, 2], [2, 1], [1, 9]])],
          [[1, 0], [3, 2], [0, 1], [2, 3]]),
    value("argpartition-flat", lambda x: at.argpartition(x, -2, axis=None), [np.array([[5.0, 4.0], [1.0, 7.0]])],
          [1, 2, 0, 3]),
    same("corrcoef-vector", "corrcoef", [LINE]),
    value("cov-weights", lambda m, f, a: at.cov(m, fweights=f, aweights=a), [GRID, OBSERVED, WEIGHTS[[0, 1, 3, 4]]],
          np.cov(GRID, fweights=OBSERVED, aweights=WEIGHTS[[0, 1, 3, 4]])),
    value("unique-axis", lambda x: at.unique(x, axis=0), [np.array([[1, 0], [0, 2], [1, 0], [0, 1]])],
          [[0, 1], [0, 2], [1, 0]]),
    value("unique-axis-inverse", lambda x: at.unique(x, return_inverse=True, axis=1)[1],
          [np.array([[1.0, 0.0, 1.0], [2.0, 5.0, 2.0]])], [1, 0, 1]),
    value("allclose", lambda x, y: at.allclose(x, y, atol=0.1), [LINE, LINE + 0.05], True),
    value("nan_to_num", lambda x: at.nan_to_num(x, nan=-1.0, neginf=0.0), [np.array([NAN, INF, -INF, 2.0])],
          [-1, np.finfo("float64").max, 0, 2]),
    value("nan_to_num-int", at.nan_to_num, [COUNTS], COUNTS),
    value("isposinf", lambda x: [at.isposinf(x), at.isneginf(x), at.isneginf(OBSERVED)][1], [FAR], np.isneginf(FAR)),
    value("largest", lambda x, y: at.largest(x, y, 0.5) - at.smallest(x, y, 0.5), [LINE, LINE[::-1].copy()],
          np.maximum(np.maximum(LINE, LINE[::-1]), 0.5) - np.minimum(np.minimum(LINE, LINE[::-1]), 0.5)),
    value("ceil_intdiv", at.ceil_intdiv, [np.array([7, -7, 6, 1]), np.array([2, 2, 3, 0])], [4, -3, 2, 0]),
    value("bartlett", lambda m: at.bartlett(m), [np.array(7)], np.bartlett(7)),
    value("bartlett-one", lambda: at.join(0, at.bartlett(0), at.bartlett(1), at.bartlett(2)), [], [1, 0, 0]),
    value("tril_indices_from", lambda x: at.stack(at.tril_indices_from(x, 1)), [GRID],
          np.stack(np.tril_indices_from(GRID, 1))),
    value("triu_indices_from", lambda x: at.stack(at.triu_indices_from(x)), [GRID],
          np.stack(np.triu_indices_from(GRID))),
    value("matvec-dtype", lambda x, y: sum((f(x, y, dtype="int64") for f in (at.matvec, at.vecdot, at.matmul)), 0),
          [np.full((2, 3), 100, "int8"), np.full(3, 100, "int8")], [90000, 90000]),
    value("mean-acc_dtype", lambda x: x.mean(axis=0, acc_dtype="float32"), [GRID.astype("float32")],
          GRID.astype("float32").mean(axis=0)),
    value("sort-kind", lambda x: at.sort(x, kind="stable") + x.sort(kind="quicksort"), [GRID], 2 * np.sort(GRID)),
    value("divmod", lambda x, y: at.divmod(x, y)[1], [np.array([7, -7]), np.array([2, 2])], [1, 1]),
]  # fmt: skip


AGAIN = {"interp", "quantile-linear", "average", "cov-aweights", "corrcoef"}
"""Rows whose derivatives are rows of their own, and so compared with differences; the others go the same way."""


def smooth(id: str, build: Callable[..., Any], inputs: Any, **options: Any) -> list[Case]:
    """A row, and one of its derivatives."""
    draw = inputs if callable(inputs) else lambda rng: list(inputs)
    row = Case(id=id, build=build, inputs=draw, **options)
    return [row, Case(id=f"{id}-second", build=curved(build), inputs=draw, **options)] if id in AGAIN else [row]


def between(low: float, high: float) -> Array:
    """Points that are apart from those of STEPS."""
    return np.linspace(low, high, 5) + 0.013


UNEVEN = np.array([-1.0, 0.1, 0.5, 1.25, 2.0])
SMOOTH = [
    *smooth("interp", at.interp, [between(-1.5, 2.2), UNEVEN, LINE[:5]]),
    *smooth("interp-period", lambda x, p, f: at.interp(x, p, f, period=2.5), [between(-3, 4), UNEVEN[:4], LINE[:4]]),
    *smooth("quantile-linear", lambda a: at.quantile(a, np.array([0.2, 0.77]), axis=0), [GRID]),
    *smooth("quantile-of-q", lambda a, q: at.quantile(a, q, axis=-1), [GRID, np.array([0.21, 0.6])]),
    *smooth("percentile", lambda a: at.percentile(a, 30.0, axis=1, method="hazen"), [GRID]),
    *smooth("topk", lambda x: at.topk(x, 2, axis=0), [GRID]),
    *smooth("partition", lambda x: at.partition(x, [0, 2], axis=0), [GRID]),
    *smooth("average", lambda a, w: at.average(a, axis=0, weights=w), [GRID, np.array([0.5, 1.5, 2.0])]),
    *smooth("average-whole", lambda a, w: at.average(a, weights=w, returned=True)[0], [GRID, GRID**2 + 1]),
    *smooth("cov", lambda m: at.cov(m, rowvar=False), [GRID]),
    *smooth("cov-of-two", lambda m, y: at.cov(m, y, bias=True), normal((2, 5), (5,))),
    *smooth("cov-aweights", lambda m, w: at.cov(m, aweights=w), [GRID, np.array([0.5, 1.5, 2.0, 1.0])]),
    *smooth("corrcoef", lambda m: at.corr(m), [GRID]),
    *smooth("bincount", lambda w: at.bincount(COUNTS, w), [WEIGHTS]),
    *smooth("histogram-weights", lambda w: at.histogram(LINE, STEPS[[0, 1, 3, 4]], weights=w)[0], [LINE + 0.5]),
    Case(id="nan_to_num-derivative", build=at.nan_to_num, inputs=[np.array([1.0, NAN, INF, -2.0])], numeric=False,
         specials={0: np.array([1.0, 0.0, 0.0, 1.0])}),
    Case(id="divmod-derivative", build=lambda x: at.divmod(x, 0.7)[1], inputs=[LINE]),
    Case(id="quantile-ties", build=lambda x: at.quantile(x, 0.5), inputs=[np.array([2.0, 1.0, 1.0, 3.0])],
         numeric=False, specials={0: np.array([0.5, 0.0, 0.5, 0.0])}),
    Case(id="topk-ties", build=lambda x: at.topk(x, 1), inputs=[np.array([2.0, 2.0, 1.0])], numeric=False,
         specials={0: np.array([0.0, 1.0, 0.0])}),
    Case(id="interp-at-points", build=lambda x: at.interp(x, [0.0, 1.0, 3.0], [1.0, 5.0, 3.0]), numeric=False,
         inputs=[np.array([-1.0, 0.0, 1.0, 3.0, 4.0])], specials={0: np.array([0.0, 4.0, -1.0, 0.0, 0.0])}),
    Case(id="topk-float32", build=lambda x: at.topk(x, -2), inputs=[GRID.astype("float32")]),
    Case(id="interp-float32", build=at.interp, inputs=[x.astype("float32") for x in (between(0, 1), UNEVEN, LINE[:5])]),
]  # fmt: skip

ORDERED = ("searchsorted", "interp", "histogram-vector", "histogram-equal-edges")
"""What needs a vector in order: samples of a batch are multiples of it."""
RAGGED = {"bincount-int", "bincount-nothing", "unique-axis"}


def _with_batches(case: Case) -> Case:
    return replace(case, keeps_places=case.id.startswith(ORDERED), ragged=case.id in RAGGED)


CASES: list[Case] = [_with_batches(case) for case in [*VALUES, *SMOOTH]]
