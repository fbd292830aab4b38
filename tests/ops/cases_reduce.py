"""Reductions, running sums and products, order statistics, normalisation, norms."""

from __future__ import annotations

import numpy as np
import scipy.special
from case import Case, between, int8, kink, normal, value

import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.gradient import grad
from aotensor.ops.linalg.norms import norm
from aotensor.ops.reduce.cumulate import diff
from aotensor.ops.reduce.extremum import argmax, argmin, max, max_and_argmax, min, ptp
from aotensor.ops.reduce.moments import std, var
from aotensor.ops.reduce.normalise import log_softmax, logsumexp, softmax
from aotensor.ops.reduce.quantiles import median
from aotensor.ops.reduce.sort import argsort, sort

GRID = np.arange(24.0).reshape(2, 3, 4)
NAN, INF = np.nan, np.inf
EMPTY = np.zeros((0, 3))


def mixed(*shape: int) -> Array:
    """Distinct numbers in no order, away from 0 and from each other."""
    return np.random.default_rng(7).permutation(int(np.prod(shape))).reshape(shape) * 0.37 - 1.3


VALUES = [
    value("sum-bool", at.sum, [np.array([True, True, False])], 2),
    value("sum-int8", at.sum, [int8(100, 100, 100)], 300),
    value("sum-uint8-axis", lambda x: at.sum(x, axis=0), [np.full((2, 2), 200, "uint8")], [400, 400]),
    value("sum-empty", at.sum, [EMPTY], 0.0),
    value("sum-empty-axis", lambda x: x.sum(axis=0), [EMPTY], np.zeros(3)),
    value("sum-other-axis-empty", lambda x: x.sum(axis=1), [EMPTY], np.zeros(0)),
    value("sum-float32-in-float64", at.sum, [np.array([2.0**24, 1, 1, -(2.0**24)], "float32")], 2.0),
    value("sum-dtype", lambda x: at.sum(x, dtype="int32"), [int8(100, 100)], 200),
    value("sum-no-axis", lambda x: at.sum(x, axis=()), [int8(1, 2)], [1, 2]),
    value("sum-keepdims", lambda x: x.sum(axis=(0, -1), keepdims=True), [GRID], GRID.sum(axis=(0, 2), keepdims=True)),
    value("prod-empty", at.prod, [EMPTY], 1.0),
    value("prod-int8", at.prod, [int8(100, 100)], 10000),
    value("mean-int", at.mean, [int8(1, 2)], 1.5),
    value("mean-empty", at.mean, [EMPTY], NAN),
    value("mean-bool-axis", lambda x: x.mean(axis=0), [np.array([[True], [False]])], [0.5]),
    value("mean-float32-large", at.mean, [np.full(4, 3e38, "float32")], np.float32(3e38)),
    value("any", at.any, [np.array([0.0, NAN])], True),
    value("any-empty", at.any, [EMPTY], False),
    value("any-axis", lambda x: x.any(axis=1), [np.array([[0, 2], [0, 0]])], [True, False]),
    value("all-empty", at.all, [EMPTY], True),
    value("all-keepdims", lambda x: at.all(x, axis=0, keepdims=True), [np.array([[0, 2], [1, 1]])], [[False, True]]),
    value("max-int8", max, [int8(-3, 4, -128)], 4),
    value("max-bool", lambda x: max(x, axis=0), [np.array([[True, False], [False, False]])], [True, False]),
    value("min-bool", lambda x: min(x, axis=0), [np.array([[True, False], [True, True]])], [True, False]),
    value("max-nan", lambda x: max(x, axis=1), [np.array([[1, NAN], [2, 3]])], [NAN, 3]),
    value("min-infinite", min, [np.array([INF, INF])], INF),
    value("max-other-axis-empty", lambda x: max(x, axis=1), [EMPTY], np.zeros(0)),
    value("max-uint64", max, [np.array([2**64 - 1, 3], "uint64")], np.uint64(2**64 - 1)),
    value("argmax-ties", argmax, [int8(1, 3, 3)], 1),
    value("argmax-nan", argmax, [np.array([1, NAN, 9, NAN])], 1),
    value("argmin-axis", lambda x: argmin(x, axis=0), [np.array([[3, 1], [2, 1]])], [1, 0]),
    value("argmax-all", argmax, [mixed(3, 4)], np.argmax(mixed(3, 4))),
    value(
        "argmax-two-axes",
        lambda x: argmax(x, axis=(0, 2)),
        [mixed(2, 3, 4)],
        np.argmax(mixed(2, 3, 4).transpose(1, 0, 2).reshape(3, 8), axis=1),
    ),
    value(
        "argmax-keepdims",
        lambda x: argmax(x, axis=1, keepdims=True),
        [mixed(3, 4)],
        np.argmax(mixed(3, 4), axis=1, keepdims=True),
    ),
    value("argmax-bool", argmax, [np.array([False, True, True])], 1),
    value("max_and_argmax", lambda x: max_and_argmax(x, axis=1)[1], [mixed(3, 4)], np.argmax(mixed(3, 4), axis=1)),
    value("ptp", lambda x: ptp(x, axis=1), [mixed(3, 4)], np.ptp(mixed(3, 4), axis=1)),
    value("var-int", var, [int8(1, 2, 3, 4)], 1.25),
    value("var-ddof", lambda x: var(x, axis=1, ddof=1), [mixed(3, 4)], np.var(mixed(3, 4), axis=1, ddof=1)),
    value("var-no-freedom", lambda x: var(x, ddof=2), [np.array([1.0, 2.0])], NAN),
    value("var-empty", var, [EMPTY], NAN),
    value("var-shifted", var, [np.array([1e9, 1e9 + 1, 1e9 + 2])], 2 / 3),
    value(
        "std-keepdims",
        lambda x: std(x, axis=0, keepdims=True),
        [mixed(3, 4)],
        np.std(mixed(3, 4), axis=0, keepdims=True),
    ),
    value("cumsum-int8", at.cumsum, [int8(100, 100)], [100, 200]),
    value("cumsum-flat", at.cumsum, [np.ones((2, 2))], [1, 2, 3, 4]),
    value("cumsum-bool", lambda x: x.cumsum(axis=0), [np.array([True, True])], [1, 2]),
    value("cumsum-empty", lambda x: x.cumsum(axis=0), [EMPTY], EMPTY),
    value("cumprod-int", lambda x: x.cumprod(axis=0), [int8(100, 100)], [100, 10000]),
    value("diff-bool", diff, [np.array([True, True, False])], [False, True]),
    value("diff-int", lambda x: diff(x, 2), [np.array([1, 4, 9, 16])], [2, 2]),
    value("sort-nan", sort, [np.array([3, NAN, 1, -INF])], [-INF, 1, 3, NAN]),
    value("sort-int-axis", lambda x: x.sort(axis=0), [np.array([[3, 1], [2, 5]])], [[2, 1], [3, 5]]),
    value("sort-flat", lambda x: sort(x, axis=None), [np.array([[3, 1], [2, 5]])], [1, 2, 3, 5]),
    value("sort-bool", sort, [np.array([True, False, True])], [False, True, True]),
    value("argsort-stable", argsort, [int8(2, 1, 2, 1)], [1, 3, 0, 2]),
    value("median-int", median, [np.array([4, 1, 3, 2])], 2.5),
    value("median-odd-axis", lambda x: median(x, axis=0), [mixed(3, 4)], np.median(mixed(3, 4), axis=0)),
    value(
        "median-two-axes", lambda x: median(x, axis=(0, 2)), [mixed(2, 3, 4)], np.median(mixed(2, 3, 4), axis=(0, 2))
    ),
    value("median-nan", median, [np.array([1, NAN, 2])], NAN),
    value("softmax-far", softmax, [np.array([0.0, 1000.0])], [0, 1]),
    value(
        "softmax-nothing", lambda x: softmax(x, axis=1), [np.array([[-INF, -INF], [0, 0]])], [[NAN, NAN], [0.5, 0.5]]
    ),
    value("softmax-empty", lambda x: softmax(x, axis=0), [EMPTY], EMPTY),
    value("softmax-int8", softmax, [int8(0, 0)], [0.5, 0.5]),
    value("log_softmax-far", log_softmax, [np.array([0.0, 1000.0])], [-1000, 0]),
    value(
        "log_softmax-axes",
        lambda x: log_softmax(x, axis=(0, 2)),
        [mixed(2, 3, 4)],
        scipy.special.log_softmax(mixed(2, 3, 4), axis=(0, 2)),
    ),
    value("logsumexp-far", logsumexp, [np.array([1000.0, 1000.0])], 1000.6931471805599),
    value(
        "logsumexp-axes",
        lambda x: logsumexp(x, axis=(0, 2), keepdims=True),
        [mixed(2, 3, 4)],
        scipy.special.logsumexp(mixed(2, 3, 4), axis=(0, 2), keepdims=True),
    ),
    value(
        "logsumexp-infinite",
        lambda x: logsumexp(x, axis=1),
        [np.array([[-INF, -INF], [INF, 0], [0, NAN]])],
        [-INF, INF, NAN],
    ),
    value("logsumexp-empty", lambda x: logsumexp(x, axis=0), [EMPTY], np.full(3, -INF)),
    value("norm-int", norm, [np.array([3, 4])], 5.0),
    value("norm-of-all", norm, [GRID], np.linalg.norm(GRID)),
    value("norm-0", lambda x: norm(x, 0), [np.array([3.0, 0, NAN])], 2.0),
    value("norm-inf", lambda x: norm(x, INF, axis=1), [mixed(3, 4)], np.linalg.norm(mixed(3, 4), INF, axis=1)),
    value("norm-minus-1-of-0", lambda x: norm(x, -1), [np.array([0.0, 4.0])], 0.0),
    value("norm-minus-2-value", lambda x: norm(x, -2), [mixed(5)], np.linalg.norm(mixed(5), -2)),
    value("norm-least", lambda x: norm(x, -INF), [np.array([-3.0, 2])], 2.0),
    *[
        value(
            f"norm-matrix-{ord}",
            lambda x, ord=ord: norm(x, ord, axis=(2, 0)),
            [mixed(2, 3, 4)],
            np.linalg.norm(mixed(2, 3, 4), ord, axis=(2, 0)),
        )
        for ord in (1, -1, INF, -INF, "fro")
    ],
]

SMOOTH = [
    Case(id="sum", build=at.sum, inputs=normal((3, 4))),
    Case(id="sum-axis", build=lambda x: x.sum(axis=1), inputs=normal((3, 4, 2))),
    Case(id="sum-negative-axis-keepdims", build=lambda x: x.sum(axis=-2, keepdims=True), inputs=normal((3, 4, 2))),
    Case(id="sum-static", build=lambda x: x.sum(axis=0), inputs=normal((3, 4)), dims=[(3, 4)]),
    Case(id="sum-named", build=lambda x: x.sum(axis=0), inputs=normal((3, 4)), dims=[("n", "p")]),
    Case(
        id="sum-int-derivative",
        build=lambda x: at.sum(x),
        inputs=[int8(1, 2)],
        wrt=(0,),
        numeric=False,
        specials={0: [0, 0]},
    ),
    Case(
        id="sum-float32", build=lambda x: x.sum(axis=0), inputs=lambda rng: [rng.normal(size=(5, 2)).astype("float32")]
    ),
    Case(id="sum-widened", build=lambda x: at.sum(x, dtype="float64"), inputs=[np.array([1, 2], "float32")]),
    Case(id="sum-scalar", build=at.sum, inputs=[np.float64(3.0)]),
    Case(id="prod", build=lambda x: x.prod(axis=1), inputs=normal((3, 4))),
    Case(id="prod-axes", build=lambda x: at.prod(x, axis=(0, 2)), inputs=normal((2, 3, 2))),
    Case(id="prod-no-zeros", build=lambda x: at.prod(x, no_zeros_in_input=True), inputs=between(0.5, 2, 4)),
    Case(id="prod-gradient", build=lambda x: grad(x.prod(), x) ** 2, inputs=normal((4,))),
    Case(id="mean", build=at.mean, inputs=normal((3, 4))),
    Case(
        id="mean-axis-float32", build=lambda x: x.mean(axis=0), inputs=lambda rng: [rng.normal(size=(5, 2)).astype("f")]
    ),
    Case(id="max", build=max, inputs=[mixed(3, 4)]),
    Case(id="max-axes", build=lambda x: max(x, axis=(0, 2)), inputs=[mixed(2, 3, 4)]),
    Case(id="min-keepdims", build=lambda x: min(x, axis=1, keepdims=True), inputs=[mixed(3, 4)]),
    Case(id="max-float32", build=lambda x: max(x, axis=0), inputs=[mixed(3, 4).astype("float32")]),
    Case(id="ptp-derivatives", build=lambda x: ptp(x, axis=0), inputs=[mixed(3, 4)]),
    Case(id="var", build=var, inputs=normal((3, 4))),
    Case(
        id="var-axis-ddof", build=lambda x: x.var(axis=0, ddof=1), inputs=normal((5, 2)), rtol=1e-11, reason="cancels"
    ),
    Case(
        id="var-float32", build=lambda x: x.var(axis=0), inputs=lambda rng: [rng.normal(size=(5, 2)).astype("float32")]
    ),
    Case(id="std", build=lambda x: x.std(axis=(0, 1)), inputs=normal((3, 2, 2))),
    Case(id="cumsum-axis", build=lambda x: x.cumsum(axis=1), inputs=normal((2, 5, 3))),
    Case(id="cumsum-reverse", build=lambda x: x[::-1].cumsum(axis=0)[::-1], inputs=normal((5,))),
    Case(id="cumprod-axis", build=lambda x: x.cumprod(axis=0), inputs=normal((4, 3))),
    Case(id="cumprod-flat", build=at.cumprod, inputs=normal((2, 3))),
    Case(id="cumprod-one", build=lambda x: x.cumprod(axis=0), inputs=normal((1,))),
    Case(id="diff-axis", build=lambda x: diff(x, axis=0), inputs=normal((4, 3))),
    Case(id="sort-axis", build=lambda x: x.sort(axis=0), inputs=normal((5, 3))),
    Case(id="sort-flat-derivatives", build=lambda x: sort(x, axis=None), inputs=normal((3, 2))),
    Case(id="median-even", build=median, inputs=[np.array([4.0, 1, 3, 2])], specials={0: [0, 0, 0.5, 0.5]}),
    Case(id="median-odd", build=lambda x: median(x, axis=1), inputs=[mixed(2, 5)]),
    Case(id="softmax", build=lambda x: softmax(x, axis=1), inputs=normal((3, 4))),
    Case(id="softmax-all", build=softmax, inputs=normal((2, 3))),
    Case(
        id="softmax-float32",
        build=lambda x: softmax(x, axis=0),
        inputs=lambda rng: [rng.normal(size=(5, 2)).astype("f")],
    ),
    Case(id="log_softmax", build=lambda x: log_softmax(x, axis=-1), inputs=normal((3, 4))),
    Case(id="logsumexp", build=lambda x: logsumexp(x, axis=1), inputs=normal((3, 4))),
    Case(id="logsumexp-all-keepdims", build=lambda x: logsumexp(x, keepdims=True), inputs=normal((3, 4))),
    Case(id="norm-2", build=lambda x: norm(x, axis=1), inputs=normal((3, 4))),
    Case(id="norm-1", build=lambda x: norm(x, 1, axis=0, keepdims=True), inputs=between(0.5, 2, 3, 4)),
    Case(id="norm-3", build=lambda x: norm(x, 3), inputs=between(0.5, 2, 4)),
    Case(id="norm-minus-2", build=lambda x: norm(x, -2, axis=1), inputs=between(0.5, 2, 2, 3)),
    Case(id="norm-matrix-1-derivatives", build=lambda x: norm(x, 1), inputs=between(0.5, 2, 3, 4)),
    Case(
        id="norm-matrix-minus-inf-derivatives",
        build=lambda x: norm(x, -INF, axis=(1, 2), keepdims=True),
        inputs=between(0.5, 2, 2, 3, 4),
    ),
    Case(id="norm-frobenius", build=lambda x: norm(x, "fro"), inputs=normal((3, 4))),
]

KINKS = [
    kink("prod-one-zero", at.prod, [[2, 0, 4]], x0=[0, 8, 0]),
    kink("prod-two-zeros", at.prod, [[2, 0, 0]], x0=[0, 0, 0]),
    kink("cumprod-zero", lambda x: x.cumprod(axis=0).sum(), [[1, 0, 3]], x0=[1, 4, 0]),
    kink("max-ties", max, [[1, 3, 3]], x0=[0, 1, 1]),
    kink("max-first-nan", max, [[1, NAN, 3, NAN]], x0=[0, 1, 0, 0]),
    kink(
        "min-first-nan-of-axes",
        lambda x: min(x, axis=(0, 2)),
        [[[[1, NAN], [2, 2]], [[NAN, 0], [3, 2]]]],
        x0=[[[0, 1], [1, 1]], [[0, 0], [0, 1]]],
    ),
    kink("std-constant", std, [[2, 2, 2]], x0=[0, 0, 0]),
    kink("norm-at-0", norm, [[0, 0]], x0=[0, 0]),
    kink("norm-3-at-0", lambda x: norm(x, 3), [[0, 0]], x0=[0, 0]),
    kink("norm-half-at-0", lambda x: norm(x, 0.5), [[0, 4]], x0=[0, 1]),
    kink("norm-minus-1-at-0", lambda x: norm(x, -1), [[0, 4]], x0=[0, 0]),
    kink("norm-1-at-0", lambda x: norm(x, 1), [[0, -2]], x0=[0, -1]),
    kink("norm-inf-ties", lambda x: norm(x, INF), [[-2, 1, 2]], x0=[-1, 0, 1]),
    kink("norm-inf-at-0", lambda x: norm(x, INF), [[0, 0]], x0=[0, 0]),
    kink(
        "norm-matrix-1-ties",
        lambda x: norm(x, 1),
        [
            [[1, -2], [0, 0]],
        ],
        x0=[[0, -1], [0, 0]],
    ),
    kink("norm-matrix-inf-at-0", lambda x: norm(x, INF), [[[0, 0], [0, 0]]], x0=[[0, 0], [0, 0]]),
    kink("norm-fro-at-0", lambda x: norm(x, "fro"), [[[0, 0], [0, 0]]], x0=[[0, 0], [0, 0]]),
    kink("logsumexp-ties", logsumexp, [[1000, 1000]], x0=[0.5, 0.5]),
    kink("logsumexp-nothing", logsumexp, [[-INF, -INF]], x0=[0, 0]),
    kink("logsumexp-shared", logsumexp, [[INF, 0, INF]], x0=[0.5, 0, 0.5]),
    kink("logsumexp-one-left", logsumexp, [[-INF, 3]], x0=[0, 1]),
]

CASES: list[Case] = [*VALUES, *SMOOTH, *KINKS]
