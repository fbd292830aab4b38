"""Loops and branches: scan with sequences, taps, several outputs, conditions; map, reduce, folds; ifelse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from case import Case, normal, value

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.graph.variable import Variable
from aotensor.ops.scan.rows import FirstRows, SegmentRows


def scan(*args: Any, **options: Any) -> Any:
    """The outputs alone."""
    return aot.scan(*args, return_updates=False, **options)


def recurrent(x: Variable, h: Variable, w: Variable) -> Variable:
    """All states of a small recurrent net."""
    return scan(lambda row, old, w: at.tanh(w @ old + row), x, h, w)  # type: ignore[no-any-return]


def lstm(x: Variable, h: Variable, c: Variable, w: Variable) -> list[Variable]:
    """Outputs and cells of an LSTM over a batch: x (steps, batch, n), w (n + m, 4m)."""

    def step(row: Variable, h: Variable, c: Variable, w: Variable) -> list[Variable]:
        gates = at.concatenate([row, h], axis=1) @ w
        i, f, o, g = (gates[:, k * 2 : (k + 1) * 2] for k in range(4))
        cell = at.sigmoid(f) * c + at.sigmoid(i) * at.tanh(g)
        return [at.sigmoid(o) * at.tanh(cell), cell]

    return scan(step, x, [h, c], w)  # type: ignore[no-any-return]


def fibonacci(first: Variable, factor: Variable) -> Variable:
    """Two taps, a parameter, no sequences."""
    info = {"initial": first, "taps": [-2, -1]}
    return scan(lambda a, b, k: k * a + b, None, info, factor, n_steps=4)  # type: ignore[no-any-return]


def far_taps(x: Variable, first: Variable) -> Variable:
    """Taps in another order than in time, and gaps between them."""
    info = {"initial": first, "taps": [-1, -4]}
    return scan(lambda row, near, far: at.sin(row * near) + far, x, info)  # type: ignore[no-any-return]


def neighbours(x: Variable, y: Variable) -> Variable:
    """Taps of sequences, before and behind."""
    sequences = [{"input": x, "taps": [-1, 0, 2]}, y]
    return scan(lambda a, b, c, row: a * b - c * row, sequences)  # type: ignore[no-any-return]


def doubling(x: Variable, limit: Variable) -> list[Variable]:
    """A loop that ends by its condition."""

    def step(old: Variable, limit: Variable) -> Any:
        return [old * 2.0, old.sum()], {}, aot.until(old.sum() * 2.0 > limit)

    return scan(step, None, [x, None], limit, n_steps=20)  # type: ignore[no-any-return]


def nested(x: Variable, w: Variable) -> Variable:
    """A loop in a loop: the inner one over the columns of a row, from the state of the outer one."""

    def step(row: Variable, total: Variable, w: Variable) -> Variable:
        inner = scan(lambda entry, old: at.tanh(old * w + entry), row, total)
        return inner[-1] + total

    return scan(step, x, at.zeros_like(w), w)  # type: ignore[no-any-return]


def closure(x: Variable, w: Variable, b: Variable) -> Variable:
    """What the step reads from outside without being given it."""
    return scan(lambda row, old: at.exp(-old) * (w @ row) + at.sin(b), x, b)  # type: ignore[no-any-return]


def counted(x: Variable, s: Variable) -> Variable:
    """A discrete state beside a floating one."""
    found = scan(lambda row, n, total: [n + 1, total + row * n], x, [np.int64(0), s])
    return found[1]  # type: ignore[no-any-return]


def folded(kind: Any) -> Any:
    return lambda x, s: kind(lambda row, old: row - at.sqr(old), x, s, return_updates=False)


def decaying(rng: np.random.Generator) -> Sequence[Array]:
    return [rng.normal(size=(4, 3)), rng.normal(size=3), 0.5 * rng.normal(size=(3, 3))]


VALUES = [
    value("scan-running-sum", lambda x: scan(lambda a, b: a + b, x, 0), [np.arange(5)], [0, 1, 3, 6, 10]),
    value(
        "scan-fibonacci", lambda x: scan(lambda a, b: a + b, None, {"initial": x, "taps": [-2, -1]}, n_steps=4),
        [np.array([1, 1])], [2, 3, 5, 8],
    ),
    value("scan-product", lambda x, s: scan(lambda a, b: a * b, x, s), [np.arange(1.0, 6), 2.0], [2, 4, 12, 48, 240]),
    value("scan-no-steps", lambda x, s: scan(lambda a, b: a * b, x, s), [np.zeros(0), 2.0], np.zeros(0)),
    value("scan-no-steps-mapped", lambda x: scan(lambda a: a[:2], x), [np.zeros((0, 3))], np.zeros((0, 2))),
    value(
        "scan-backwards", lambda x, s: scan(lambda a, b: a + b, x, s, go_backwards=True), [np.arange(4), 0],
        [3, 5, 6, 6],
    ),
    value("scan-shorter-one", lambda x, y: scan(lambda a, b: a * b, [x, y]), [np.arange(4.0), np.ones(2)], [0, 1]),
    value("scan-n-steps", lambda x: scan(lambda a: a * 2, x, n_steps=2), [np.arange(4)], [0, 2]),
    value(
        "scan-until", lambda x: scan(lambda p: (p * 2, aot.until(p * 2 > 45)), None, [x], n_steps=1024), [1.0],
        [2, 4, 8, 16, 32, 64],
    ),
    value("scan-float32-sum", lambda x: scan(lambda a, b: a + b, x, 0.0), [np.ones(3, "float32")], np.arange(1.0, 4)),
    value("scan-bool", lambda x: scan(lambda a, b: a ^ b, x, np.bool_(False)), [np.array([True, True])], [True, False]),
    value("reduce-nothing", folded(aot.reduce), [np.zeros(0), 3.0], 3.0),
    value("foldr-order", lambda x: aot.foldr(lambda a, b: a - b, x, 0, return_updates=False), [np.array([1, 2])], -1),
    value("map-rows", lambda x: aot.map(lambda a: a.sum(), x, return_updates=False), [np.ones((2, 3))], [3, 3]),
]  # fmt: skip

SMOOTH = [
    Case(id="scan-recurrent", build=recurrent, inputs=decaying),
    Case(id="scan-recurrent-last", build=lambda *x: recurrent(*x)[-1], inputs=decaying),
    Case(id="scan-named", build=recurrent, inputs=decaying, dims=[("n", "k"), ("k",), ("k", "k")]),
    Case(id="scan-static", build=recurrent, inputs=decaying, dims=[(4, 3), (3,), (3, 3)]),
    Case(id="scan-lstm", build=lstm, inputs=normal((3, 2, 3), (2, 2), (2, 2), (5, 8)), rtol=1e-11),
    Case(id="scan-taps", build=fibonacci, inputs=normal((2, 3), ())),
    Case(id="scan-far-taps", build=far_taps, inputs=normal((6,), (4,))),
    Case(id="scan-sequence-taps", build=neighbours, inputs=normal((6, 2), (4, 2))),
    Case(id="scan-condition", build=doubling, inputs=lambda rng: [rng.uniform(1, 2, 3), np.float64(30)], wrt=(0,)),
    Case(id="scan-nested", build=nested, inputs=lambda rng: [rng.normal(size=(3, 4)), np.float64(0.7)]),
    Case(id="scan-closure", build=closure, inputs=normal((3, 2), (4, 2), (4,))),
    Case(id="scan-discrete-state", build=counted, inputs=normal((4,), ())),
    Case(id="scan-truncated-none", build=lambda x, h, w: scan(
        lambda row, old, w: at.tanh(w @ old + row), x, h, w, truncate_gradient=9), inputs=decaying),
    Case(id="scan-float32", build=recurrent, inputs=lambda rng: [x.astype("float32") for x in decaying(rng)]),
    Case(id="scan-mixed-float", build=lambda x, y: scan(lambda a, b: a * b, [x, y]), inputs=lambda rng: [
        rng.normal(size=3).astype("float32"), rng.normal(size=3)]),
    Case(id="scan-integer-sequence", build=lambda x, s: scan(lambda a, b: a * b, x, s), inputs=lambda rng: [
        np.array([1, 2, 3]), rng.normal()]),
    Case(id="reduce", build=folded(aot.reduce), inputs=normal((3,), ())),
    Case(id="foldl", build=folded(aot.foldl), inputs=normal((3, 2), (2,))),
    Case(id="foldr", build=folded(aot.foldr), inputs=normal((3, 2), (2,))),
    Case(
        id="map", build=lambda x, y: aot.map(lambda a: at.exp(a) * y, x, return_updates=False),
        inputs=normal((3, 2), (2,)),
    ),
]  # fmt: skip


def several(c: Variable, x: Variable, y: Variable) -> list[Variable]:
    """Two values at once; what each side needs is its own."""
    return list(aot.ifelse(c, [at.exp(x), x.sum()], [at.sin(y) * 2.0, (x * y).sum()]))


def in_a_loop(x: Variable, s: Variable) -> Variable:
    """A choice in every step."""
    return scan(lambda row, old: aot.ifelse(row > 0, row * old, at.sin(old)), x, s)  # type: ignore[no-any-return]


def nested_choice(c: Variable, x: Variable) -> Variable:
    """A choice of which one side is a choice that alone needs what it computes."""
    inner = aot.ifelse(x[0] > 5.0, at.exp(x), at.cos(x) * x)
    return aot.ifelse(c, inner, x * 2.0)  # type: ignore[no-any-return]


TRUE, FALSE = np.bool_(True), np.bool_(False)

BRANCHES = [
    value("ifelse-int-condition", lambda c, x: aot.ifelse(c, x, x * 2), [np.int8(0), np.array([1, 2])], [2, 4]),
    value("ifelse-extents", lambda c, x: aot.ifelse(c, x[:1], x), [TRUE, np.arange(3)], [0]),
    Case(id="ifelse-then", build=lambda c, x, y: aot.ifelse(c, at.exp(x), y), inputs=lambda rng: [
        TRUE, rng.normal(size=3), rng.normal(size=3)], wrt=(1, 2)),
    Case(id="ifelse-else", build=lambda c, x, y: aot.ifelse(c, at.exp(x), y), inputs=lambda rng: [
        FALSE, rng.normal(size=3), rng.normal(size=3)], wrt=(1, 2)),
    Case(id="ifelse-several", build=several, inputs=lambda rng: [
        FALSE, rng.normal(size=(2, 2)), rng.normal(size=(2, 2))], wrt=(1, 2)),
    Case(id="ifelse-in-a-loop", build=in_a_loop, inputs=normal((5,), ())),
    Case(id="ifelse-of-ifelse", build=nested_choice, inputs=lambda rng: [TRUE, rng.normal(size=3)], wrt=(1,)),
]  # fmt: skip


def delayed(x: Variable, h: Variable, g: Variable) -> list[Variable]:
    """Rows and states that are passed on as they are."""
    return list(scan(lambda row, a, b: [row, a, b], x, [h, g, None]))


PARTS = [
    Case(id="scan-delay", build=delayed, inputs=normal((4, 2), (2,), (2,))),
    Case(
        id="scan-rows", build=lambda x, n: FirstRows()(x, n), inputs=lambda rng: [rng.normal(size=(4, 2)), np.int64(3)]
    ),
    Case(
        id="segment-rows",
        build=lambda x, n: SegmentRows(3)(x, n),
        inputs=lambda rng: [rng.normal(size=(5, 2)), np.int64(1)],
    ),
    Case(id="segment-columns", build=lambda x: SegmentRows(1, 1)(x, np.int64(1)), inputs=normal((4, 2))),
    Case(id="scan-columns", build=lambda x: FirstRows(1)(x, np.int64(0)), inputs=normal((4, 2))),
]

CASES = [*VALUES, *SMOOTH, *BRANCHES, *PARTS]
