"""Steps that move elements, read some of them, multiply matrices, factorise, and loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from tools.fuzz.rules import Rule, Shape, anything, apart, away_from, axis, both, distinct, rank, same, small


def _cut(rng: np.random.Generator, first: Shape, *_: Shape) -> dict[str, Any]:
    """{s}: a slice of the first axis; {c}: of the last one; {k}: a step along it."""
    cuts = ["1:", ":-1", "::-1", "::2", "1::3", ":3", "-2:", "2:-1", "::-2"]
    return {"s": rng.choice(cuts), "c": rng.choice(cuts), "k": int(rng.integers(-2, 3))}


def _longer(n: int) -> Any:
    return lambda *shapes: len(shapes[0]) >= 1 and shapes[0][0] >= n


def _meets(x: Shape, y: Shape) -> bool:
    """Is x @ y defined, as a product of matrices, or of a matrix and a vector?"""
    return len(x) in (1, 2) and len(y) in (1, 2) and x[-1] == y[0]


def _square(x: Shape, *_: Shape) -> bool:
    return len(x) == 2 and x[0] == x[1]


MOVING: Sequence[Rule] = [
    Rule("{0}.T", fits=rank(2, 3)),
    Rule("at.transpose({0}, (1, 2, 0))", fits=rank(3)),
    Rule("at.swapaxes({0}, 0, -1)", fits=rank(2, 3)),
    Rule("at.ravel({0})", "o.ravelled({0})", "f", rank(2, 3)),
    Rule("{0}.reshape(({0}.shape[1], {0}.shape[0]))", fits=rank(2)),
    Rule("{0}.reshape((-1, 1))", fits=rank(1, 2)),
    Rule("at.reshape({0}, (2, -1))", fits=lambda x: len(x) in (1, 2) and int(np.prod(x)) % 2 == 0 < int(np.prod(x))),
    Rule("at.flip({0}, {a})", "np.flip({0}, {a})", "f", rank(1, 2), parameters=axis),
    Rule("at.roll({0}, 2, {a})", "np.roll({0}, 2, {a})", "f", rank(1, 2), parameters=axis),
    Rule("at.concatenate([{0}, {1}], axis=0)", kinds="ff",
         fits=lambda x, y: len(x) == len(y) >= 1 and x[1:] == y[1:]),
    Rule("at.concatenate([2.0 * {0}, {1}, {0}], axis=-1)", kinds="ff",
         fits=lambda x, y: len(x) == len(y) >= 1 and x[:-1] == y[:-1]),
    Rule("at.stack([{0}, at.sin({1})], axis=0)", kinds="ff", fits=both(same, rank(0, 1, 2))),
    Rule("at.stack([{0}, {1}], axis=-1)", kinds="ff", fits=both(same, rank(1, 2))),
    Rule("at.tile({0}, (2,))", "np.tile({0}, (2,))", "f", rank(1)),
    Rule("at.repeat({0}, 3, axis=0)", "np.repeat({0}, 3, axis=0)", "f", both(rank(1, 2), small)),
    Rule("at.tril({0})", fits=rank(2)),
    Rule("at.triu({0}, 1)", fits=rank(2)),
    Rule("at.diagonal({0})", fits=rank(2)),
    Rule("at.diag({0})", fits=both(rank(1), small)),
    Rule("at.expand_dims({0}, 0) * 2.0", fits=rank(0, 1, 2)),
    Rule("at.pad({0}, 1)", "np.pad({0}, 1)", "f", both(rank(1, 2), small)),
    Rule("at.diff({0}, axis={a})", fits=both(rank(1, 2), lambda x: min(x) > 1), parameters=axis),
]  # fmt: skip

READING: Sequence[Rule] = [
    Rule("{0}[{s}]", fits=both(rank(1, 2, 3), _longer(4)), parameters=_cut),
    Rule("{0}[:, {c}]", fits=lambda x: len(x) >= 2 and x[1] >= 4, parameters=_cut),
    Rule("{0}[{s}, {c}]", fits=lambda x: len(x) == 2 and min(x) >= 4, parameters=_cut),
    Rule("{0}[0]", fits=_longer(1)),
    Rule("{0}[-1]", fits=_longer(1)),
    Rule("{0}[..., -1]", fits=lambda x: len(x) > 1 and x[-1] > 0),
    Rule("{0}[[0, -1, 0]]", fits=_longer(1)),
    Rule("{0}[{1}]", kinds="fi", fits=lambda x, i: len(x) >= 1 and len(i) == 1, guard=lambda x, i: _inside(x, i)),
    Rule("{0}[:, {1}]", kinds="fi", fits=lambda x, i: len(x) == 2 and len(i) == 1, guard=lambda x, i: _inside(x.T, i)),
    Rule("{0}[{1}, {2}]", kinds="fii", fits=lambda x, i, j: len(x) == 2 and len(i) == 1 and i == j,
         guard=lambda x, i, j: _inside(x, i) and _inside(x.T, j)),
    Rule("{0}[{1}]", kinds="fb", fits=lambda x, m: len(m) >= 1 and x[: len(m)] == m),
    Rule("at.set_subtensor({0}[1:], at.cos({0}[:-1]))", "o.replaced({0}, np.s_[1:], np.cos({0}[:-1]))", "f",
         both(rank(1, 2), _longer(2))),
    Rule("at.set_subtensor({0}[::2], 0.5)", "o.replaced({0}, np.s_[::2], 0.5)", "f", both(rank(1, 2), _longer(1))),
    Rule("at.inc_subtensor({0}[0], {1})", "o.added({0}, np.s_[0], {1})", "ff",
         lambda x, y: len(x) >= 1 and x[0] > 0 and x[1:] == y),
    Rule("at.inc_subtensor({0}[[0, 0, -1]], at.sin({0}[[1, 0, 0]]))",
         "o.added({0}, [0, 0, -1], np.sin({0}[[1, 0, 0]]))", "f", both(rank(1, 2), _longer(2))),
    Rule("at.inc_subtensor({0}[{1}], {2})", "o.added({0}, {1}, {2})", "fif",
         lambda x, i, y: len(x) >= 1 and len(i) == 1 and y == (*i, *x[1:]), lambda x, i, y: _inside(x, i)),
    Rule("at.inc_subtensor(at.zeros_like({0})[:, {1}], 2.0)", "o.added(np.zeros_like({0}), (slice(None), {1}), 2.0)",
         "fi", lambda x, i: len(x) == 2 and len(i) == 1, lambda x, i: _inside(x.T, i)),
    Rule("at.set_subtensor({0}[{1}], -0.5)", "o.replaced({0}, {1}, -0.5)", "fb", lambda x, m: len(x) >= 1 and x == m),
    Rule("at.take_along_axis({0}, at.argsort({1}, axis=0), axis=0)",
         "np.take_along_axis({0}, np.argsort({1}, axis=0, kind='stable'), axis=0)", "ff", both(same, rank(1, 2)),
         lambda x, y: distinct(y)),
]  # fmt: skip


def _inside(x: Any, index: Any) -> bool:
    return all(-len(x) <= i < len(x) for i in np.asarray(index).reshape(-1))


_VECTOR: Final = both(rank(1), _longer(3))

NEIGHBOURS: Sequence[Rule] = [
    Rule("{0}[1:] * {0}[:-1]", fits=_VECTOR),
    Rule("at.sin({0}[1:]) * {0}[:-1]", fits=_VECTOR),
    Rule("{0}[1:] - 0.5 * {0}[:-1]", fits=_VECTOR),
    Rule("{0}[2:] - 2.0 * {0}[1:-1] + {0}[:-2]", fits=_VECTOR),
    Rule("{0}[2:] * {0}[:-2] + at.cos({0}[1:-1])", fits=_VECTOR),
    Rule("at.diff({0}) * {0}[1:]", fits=_VECTOR),
    Rule("{0}[::-1][1:] * {0}[1:]", fits=_VECTOR),
    Rule("at.roll({0}, 1) * {0}", "np.roll({0}, 1) * {0}", "f", _VECTOR),
    Rule("{0}[[-1, 0, 1, 0, 2]] * 0.5", fits=_VECTOR),
    Rule("{0}[{t}] * {0}[{u}]", fits=_VECTOR, parameters=lambda rng, x: _gathers(rng, x[0])),
    Rule("at.where({0} > 0.1, {0} * {0}, at.sin({0}))", fits=_VECTOR, guard=away_from(0.1)),
    Rule("at.cumsum({0}) * 0.3", fits=_VECTOR),
    Rule("at.join(0, {0}[1:], at.sin({0}[:2]), 2.0 * {0}[-1:])",
         "np.concatenate([{0}[1:], np.sin({0}[:2]), 2.0 * {0}[-1:]])", "f", _VECTOR),
    Rule("at.sort({0})", fits=_VECTOR, guard=distinct),
    Rule("at.clip({0}, -0.9, 0.8)", "np.clip({0}, -0.9, 0.8)", "f", _VECTOR, away_from(-0.9, 0.8)),
    Rule("at.set_subtensor({0}[1:-1], {0}[:-2] * {0}[2:])",
         "o.replaced({0}, np.s_[1:-1], {0}[:-2] * {0}[2:])", "f", _VECTOR),
    Rule("at.inc_subtensor({0}[:-1], at.sin({0}[1:]))", "o.added({0}, np.s_[:-1], np.sin({0}[1:]))", "f", _VECTOR),
    Rule("at.pad({0}, (1, 2))[1:] * 0.7", "np.pad({0}, (1, 2))[1:] * 0.7", "f", _VECTOR),
    Rule("at.stack([{0}[1:], {0}[:-1] ** 2, at.cos({0}[1:])]).sum(axis=0)",
         "np.stack([{0}[1:], {0}[:-1] ** 2, np.cos({0}[1:])]).sum(axis=0)", "f", _VECTOR),
    Rule("at.stack([{0}[1:] * {0}[:-1], {0}[1:]], axis=1).ravel()",
         "np.stack([{0}[1:] * {0}[:-1], {0}[1:]], axis=1).ravel()", "f", _VECTOR),
    Rule("aot.scan(lambda a, s: at.tanh(0.5 * s + a), [{0}], [{0}[0]], return_updates=False)",
         "o.scan(lambda a, s: np.tanh(0.5 * s + a), [{0}], {0}[0])", "f", both(_VECTOR, lambda x: x[0] <= 20)),
]  # fmt: skip
"""Of vectors: windows and neighbours, as states of robots, time series and grids have them."""


def _gathers(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """{t}, {u}: as many positions each, some of them twice."""
    count = int(rng.integers(1, n + 2))
    return {"t": rng.integers(-n, n, count).tolist(), "u": rng.integers(0, n, count).tolist()}


PRODUCTS: Sequence[Rule] = [
    Rule("{0} @ {1}", kinds="ff", fits=_meets),
    Rule("{0} @ {1}", kinds="ff", fits=_meets),
    Rule("{0}.T @ {1}", kinds="ff", fits=lambda x, y: len(x) == 2 and len(y) in (1, 2) and x[0] == y[0]),
    Rule("{0} @ {1}.T", kinds="ff", fits=lambda x, y: len(x) in (1, 2) and len(y) == 2 and x[-1] == y[-1]),
    Rule("0.3 * {0} @ {0}.T", fits=rank(2)),
    Rule("at.tanh({0} @ {1}) * 0.5", "np.tanh({0} @ {1}) * 0.5", "ff", _meets),
    Rule("at.outer({0}, {1})", kinds="ff", fits=lambda x, y: len(x) == len(y) == 1),
    Rule("at.matmul({0}, {1})", kinds="ff",
         fits=lambda x, y: len(x) == len(y) == 3 and x[0] == y[0] and x[2] == y[1]),
    Rule("at.einsum('ij,ik->jk', {0}, {1})", kinds="ff", fits=lambda x, y: len(x) == len(y) == 2 and x[0] == y[0]),
    Rule("at.einsum('ij,ij->i', {0}, {1})", kinds="ff", fits=both(same, rank(2))),
    Rule("at.einsum('ijk,k->ij', {0}, {1})", kinds="ff", fits=lambda x, y: len(x) == 3 and y == x[2:]),
    Rule("at.tensordot({0}, {1}, [[0, 1], [0, 1]])", kinds="ff", fits=both(same, rank(2, 3))),
]  # fmt: skip

ALGEBRA: Sequence[Rule] = [
    Rule("at.dot({0}, {0}.T) + 2.0 * at.eye({0}.shape[0])", "o.definite({0})", "f", both(rank(2), small)),
    Rule("at.solve(at.dot({0}, {0}.T) + 2.0 * at.eye({0}.shape[0]), {1})", "o.solve(o.definite({0}), {1})", "ff",
         both(small, lambda x, b: len(x) == 2 and len(b) in (1, 2) and x[0] == b[0] > 0)),
    Rule("at.solve({0} + 9.0 * at.eye({0}.shape[0]), {1})", "o.solve({0} + 9.0 * np.eye(len({0})), {1})", "ff",
         both(small, _square, lambda x, b: len(b) in (1, 2) and x[0] == b[0] > 0)),
    Rule("at.cholesky(at.dot({0}, {0}.T) + 2.0 * at.eye({0}.shape[0]))", "o.cholesky(o.definite({0}))", "f",
         both(small, rank(2), lambda x: x[0] > 0)),
    Rule("at.inv(at.dot({0}, {0}.T) + 2.0 * at.eye({0}.shape[0]))", "o.inv(o.definite({0}))", "f",
         both(small, rank(2), lambda x: x[0] > 0)),
    Rule("at.slogdet(at.dot({0}, {0}.T) + 2.0 * at.eye({0}.shape[0]))[1]", "o.logdet(o.definite({0}))", "f",
         both(small, rank(2), lambda x: x[0] > 0)),
    Rule("at.solve_triangular(at.tril({0}) + 5.0 * at.eye({0}.shape[0]), {1}, lower=True)",
         "o.solve(np.tril({0}) + 5.0 * np.eye(len({0})), {1})", "ff",
         both(small, _square, lambda x, b: len(b) in (1, 2) and x[0] == b[0] > 0)),
    Rule("at.expm(0.2 * {0})", "o.expm(0.2 * {0})", "f", both(small, _square, lambda x: 0 < x[0] <= 5)),
]  # fmt: skip

_TANH = "lambda row, h: {m}.tanh(0.5 * h + row)"
_MIXED = "lambda row, h, w: {m}.tanh(w @ h) + 0.3 * row"
_LONE = "lambda row, w: {m}.sin(row) * w.sum() + row.mean()"
_TWO = "lambda a, b, h: 0.7 * h * {m}.cos(a) + a * b"


def _loop(step: str, rows: str, state: str, fixed: str = "", backwards: bool = False) -> tuple[str, str]:
    options = ", go_backwards=True" if backwards else ""
    non_sequences = f", [{fixed}]" if fixed else ""
    ours = step.replace("{m}", "at")
    text = f"aot.scan({ours}, [{rows}], [{state}]{non_sequences}, return_updates=False{options})"
    given = f", {fixed}" if fixed else ""
    return text, f"o.scan({step.replace('{m}', 'np')}, [{rows}], {state}{given}, backwards={backwards})"


def _steps(x: Shape, *_: Shape) -> bool:
    return len(x) == 2 and max(x) <= 17


_SOLVE = "lambda r, A: at.solve(at.dot(A, A.T) + (2.0 + r[0] ** 2) * at.eye(A.shape[0]), r)"
_INVERSE = "lambda r, A: at.inv(at.dot(A, A.T) + (2.0 + r[0] ** 2) * at.eye(A.shape[0])) @ at.sin(r)"
_REGULAR = "o.definite(A) + r[0] ** 2 * np.eye(len(A))"


LOOPS: Sequence[Rule] = [
    Rule(*_loop(_TANH, "{0}", "{1}"), "ff", both(_steps, lambda x, h: x[1:] == h)),
    Rule(*_loop(_TANH, "{0}", "{1}", backwards=True), "ff", both(_steps, lambda x, h: x[1:] == h)),
    Rule(*_loop(_MIXED, "{0}", "{1}", "{2}"), "fff", both(_steps, lambda x, h, w: x[1:] == h and w == h + h)),
    Rule(*_loop(_LONE, "{0}", "None", "{1}"), "ff", both(_steps, anything)),
    Rule(*_loop(_TWO, "{0}, {1}", "{2}"), "fff", both(_steps, lambda x, y, h: x == y and x[1:] == h)),
    *(
        Rule(f"{ours}[-1]", f"{theirs}[-1]", "ff", both(_steps, lambda x, h: x[0] > 0 and x[1:] == h))
        for ours, theirs in [_loop(_TANH, "{0}", "{1}")]
    ),
    Rule("aot.ifelse({0}.sum() > 0.05, {1}, at.sin({2}))", "{1} if {0}.sum() > 0.05 else np.sin({2})", "fff",
         lambda c, x, y: x == y, lambda c, x, y: apart(c.sum(), 0.05)),
    Rule("aot.scan(lambda r: aot.ifelse(r[0] > 0.0, at.exp(r), r * 2.0), [{0}], return_updates=False)",
         "o.scan(lambda r: np.exp(r) if r[0] > 0.0 else r * 2.0, [{0}], None)", "f",
         both(_steps, lambda x: x[1] > 0), away_from(0.0)),
    *(
        Rule(f"aot.scan({ours}, [{{0}}], None, [{{1}}], return_updates=False)",
             f"o.scan(lambda r, A: o.solve({_REGULAR}, {side}), [{{0}}], None, {{1}})", "ff",
             both(_steps, lambda x, a: len(a) == 2 and a[0] == x[1] > 0))
        for ours, side in ((_SOLVE, "r"), (_INVERSE, "np.sin(r)"))
    ),
    Rule("aot.scan(lambda r: aot.scan(lambda y, r: at.cos(y) * r, [r[:{k}]], None, [r], return_updates=False)"
         ".sum(axis=0) + at.sin(r), [{0}], return_updates=False)",
         "o.scan(lambda r: np.cos(r[:{k}]).sum() * r + np.sin(r), [{0}], None)", "f", _steps,
         parameters=lambda rng, x: {"k": int(rng.integers(0, 3))}),
]  # fmt: skip
