"""Steps with complex intermediates, Fourier transforms, convolutions, pooling, interpolation, and sparse solves. Each
maps real to real numbers, so it can be combined with all other steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tools.fuzz.rules import Rule, Shape, axis, both, distinct, rank, same, small
from tools.fuzz.rules_arrays import _square

LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 17, 25, 31, 32, 48, 64, 97)
"""Of transforms: of all radices, of primes that go by Rader's and by Bluestein's way."""


def _transform(rng: np.random.Generator, first: Shape, *_: Shape) -> dict[str, Any]:
    """{n}: a length; {a}: an axis; {norm}: a norm; {k}: where frequencies are cut."""
    norm = rng.choice(["None", "'ortho'", "'forward'"])
    return {"n": int(rng.choice(LENGTHS)), "norm": norm, "k": int(rng.integers(1, 4)), **axis(rng, first)}


def _plane(rng: np.random.Generator, *_: Shape) -> dict[str, Any]:
    """{s}: two lengths."""
    return {"s": tuple(int(x) for x in rng.choice(LENGTHS[:12], 2))}


def _filter(rng: np.random.Generator, *_: Shape) -> dict[str, Any]:
    """{p}, {t}, {d}: padding, stride and dilation."""
    return {"p": int(rng.integers(3)), "t": int(rng.integers(1, 4)), "d": int(rng.integers(1, 3))}


def _mode(rng: np.random.Generator, *_: Shape) -> dict[str, Any]:
    return {"mode": rng.choice(["full", "valid", "same"])}


def _window(rng: np.random.Generator, *_: Shape) -> dict[str, Any]:
    """{w}, {t}, {p}: window, stride and padding of a pool."""
    window = int(rng.integers(1, 5))
    return {"w": window, "t": int(rng.integers(1, 4)), "p": int(rng.integers(window // 2 + 1))}


def _filled(*shapes: Shape) -> bool:
    return all(min(shape, default=1) > 0 for shape in shapes)


def _wide(x: Shape, *_: Shape) -> bool:
    """A condition: long enough for windows and filters along the last axis, and not too large."""
    return _filled(x) and x[-1] >= 5 and int(np.prod(x)) <= 2000


def _fft(aot: str, meaning: str = "", kinds: str = "f", fits: Any = None) -> Rule:
    wish = both(rank(1, 2, 3), _filled, fits) if fits else both(rank(1, 2, 3), _filled)
    given = meaning or aot.replace("at.fft(", "np.fft.fft(").replace("at.ifft(", "np.fft.ifft(")
    given = given.replace("at.rfft(", "np.fft.rfft(").replace("at.irfft(", "np.fft.irfft(").replace("at.", "np.")
    return Rule(aot, given, kinds, wish, parameters=_transform)


_ROW = "n={n}, axis={a}, norm={norm}"

SIGNALS: Sequence[Rule] = [
    _fft(f"at.real(at.fft({{0}}, {_ROW}))"),
    _fft(f"at.imag(at.ifft({{0}}, {_ROW}))"),
    _fft(f"at.real(at.rfft({{0}}, {_ROW}))"),
    _fft(f"at.imag(at.rfft({{0}}, {_ROW}))"),
    _fft(f"at.irfft({{0}}, {_ROW})"),
    _fft(f"at.irfft(at.rfft({{0}}, {_ROW}) * (0.5 - 2j), {_ROW})"),
    _fft(f"at.irfft(at.complex({{0}}, at.sin({{1}})), {_ROW})", f"np.fft.irfft({{0}} + 1j * np.sin({{1}}), {_ROW})",
         "ff", same),
    _fft(f"at.real(at.ifft(at.fft({{0}}, {_ROW}) * at.fft({{1}}, {_ROW}), {_ROW}))", "", "ff", same),
    _fft(f"at.real(at.conj(at.fft({{0}}, {_ROW})) * at.fft(at.cos({{1}}), {_ROW}))", "", "ff", same),
    Rule("at.real(at.fft2({0}, s={s}))", "np.real(np.fft.fft2({0}, s={s}))", "f", both(rank(2, 3), _filled),
         parameters=_plane),
    Rule("at.imag(at.ifft2(at.complex({0}, -{0}), s={s}))", "np.imag(np.fft.ifft2({0} - 1j * {0}, s={s}))", "f",
         both(rank(2), _filled), parameters=_plane),
    # complex numbers
    Rule("at.real(at.exp(at.complex(0.5 * {0}, {1})))", "np.real(np.exp(0.5 * {0} + 1j * {1}))", "ff", same),
    Rule("at.abs(at.complex({0}, 1.5 + at.sqr({1})))", "np.abs({0} + 1j * (1.5 + np.square({1})))", "ff", same),
    Rule("at.angle(at.complex(2.0 + at.sin({0}), {1}))", "np.angle(2.0 + np.sin({0}) + 1j * {1})", "ff", same),
    Rule("at.imag(at.complex({0}, 2.0 + at.cos({1})) ** 2 / at.complex(1.5, {0}))",
         "np.imag(({0} + 1j * (2.0 + np.cos({1}))) ** 2 / (1.5 + 1j * {0}))", "ff", same),
    Rule("at.real(at.log(at.complex(2.0 + at.sin({0}), {0})))", "np.real(np.log(2.0 + np.sin({0}) + 1j * {0}))"),
    Rule("at.imag(at.sqrt(at.complex(2.0 + at.sin({0}), {0})))", "np.imag(np.sqrt(2.0 + np.sin({0}) + 1j * {0}))"),
    Rule("at.imag(at.tanh(at.complex({0}, 0.3 * at.sin({0}))))", "np.imag(np.tanh({0} + 0.3j * np.sin({0})))"),
    Rule("at.real(at.polar(1.0 + at.sqr({0}), {1}))", "(1.0 + np.square({0})) * np.cos({1})", "ff", same),
    Rule("at.real(at.complex({0}, at.sin({0})) @ at.complex(at.cos({1}), {1}))",
         "np.real(({0} + 1j * np.sin({0})) @ (np.cos({1}) + 1j * {1}))", "ff",
         lambda x, y: len(x) in (1, 2) and len(y) in (1, 2) and x[-1] == y[0]),
    Rule("at.imag(at.complex({0}, at.sin({0})).sum(axis={a}) * 1j)", "{0}.sum(axis={a})", "f", rank(1, 2, 3),
         parameters=axis),
    Rule("at.real(at.prod(at.complex(1.0 + 0.2 * at.sin({0}), 0.3 * {0}), axis={a}))",
         "np.real(np.prod(1.0 + 0.2 * np.sin({0}) + 0.3j * {0}, axis={a}))", "f", both(rank(1, 2), small),
         parameters=axis),
    Rule("at.real(at.cumsum(at.complex({0}, {0}) * 1j, axis={a}))", "-np.cumsum({0}, axis={a})", "f", rank(1, 2),
         parameters=axis),
    Rule("at.imag(at.solve(at.complex({0}, 0.5 * {0}.T) + 9.0 * at.eye({0}.shape[0]), {1}))",
         "np.imag(o.solve({0} + 0.5j * {0}.T + 9.0 * np.eye(len({0})), {1} + 0j))", "ff",
         both(small, _square, lambda x, b: len(b) in (1, 2) and x[0] == b[0] > 0)),
    Rule("at.real(at.inv(at.complex({0}, at.sin({0})) + 9.0 * at.eye({0}.shape[0])))",
         "np.real(o.inv({0} + 1j * np.sin({0}) + 9.0 * np.eye(len({0}))))", "f",
         both(small, _square, lambda x: x[0] > 0)),
    Rule("at.real(at.expm(0.2 * at.complex({0}, {0}.T)))", "np.real(o.expm(0.2 * ({0} + 1j * {0}.T)))", "f",
         both(small, _square, lambda x: 0 < x[0] <= 5)),
    # windows
    Rule("at.convolve({0}, {1}, '{mode}')", "np.convolve({0}, {1}, '{mode}')", "ff",
         lambda x, y: len(x) == len(y) == 1 and min(x[0], y[0]) > 0, parameters=_mode),
    Rule("at.correlate({0}, {1}, '{mode}')", "np.correlate({0}, {1}, '{mode}')", "ff",
         lambda x, y: len(x) == len(y) == 1 and x[0] >= y[0] > 0, parameters=_mode),
    Rule("at.conv1d({0}, at.cos({0}[:2, :, :3]), stride={t}, padding={p}, dilation={d})",
         "o.convolution({0}, np.cos({0}[:2, :, :3]), {t}, {p}, {d})", "f", both(rank(3), _wide), parameters=_filter),
    Rule("at.conv1d({0}[None], at.cos({0}[None, :, :2]), stride={t}, padding={p}, dilation={d})[0]",
         "o.convolution({0}[None], np.cos({0}[None, :, :2]), {t}, {p}, {d})[0]", "f", both(rank(2), _wide),
         parameters=_filter),
    Rule("at.conv1d({0}[[0, -1]][None], at.sin({0}[[0, -1], None, :3]), stride={t}, padding={p}, groups=2)[0]",
         "o.convolution({0}[[0, -1]][None], np.sin({0}[[0, -1], None, :3]), {t}, {p}, 1, 2)[0]", "f",
         both(rank(2), _wide, lambda x: x[0] > 0), parameters=_filter),
    Rule("at.conv2d({0}[None, None], at.sin({1}[:2, :3])[None, None], stride={t}, padding={p}, dilation={d})[0, 0]",
         "o.convolution({0}[None, None], np.sin({1}[:2, :3])[None, None], {t}, {p}, {d})[0, 0]", "ff",
         lambda x, f: len(x) == len(f) == 2 and _wide(x) and x[0] >= 5 and _filled(f), parameters=_filter),
    Rule("at.conv2d({0}[:, None], at.tanh({0}[:3, None, :2, :3]), stride=({t}, 1), padding={p})",
         "o.convolution({0}[:, None], np.tanh({0}[:3, None, :2, :3]), ({t}, 1), {p}, 1)", "f",
         both(rank(3), _wide, lambda x: x[1] >= 2), parameters=_filter),
    Rule("at.avg_pool1d({0}[None], {w}, stride={t}, padding={p})[0]", "o.pooled({0}, {w}, {t}, {p}, np.mean)", "f",
         both(rank(2), _wide), parameters=_window),
    Rule("at.max_pool1d({0}[None], {w}, stride={t}, padding={p})[0]", "o.pooled({0}, {w}, {t}, {p}, np.max)", "f",
         both(rank(2), _wide), distinct, _window),
    # others
    Rule("at.interp({0}, at.cumsum(0.1 + at.sqr({1})) - 1.0, at.sin({1}))",
         "o.interp({0}, np.cumsum(0.1 + np.square({1})) - 1.0, np.sin({1}))", "ff",
         lambda x, y: len(x) in (1, 2) and len(y) == 1 and y[0] > 1,
         lambda x, y: _between(x, np.cumsum(0.1 + np.square(y)) - 1.0)),
    Rule("at.median({0}, axis={a})", "np.median({0}, axis={a})", "f", both(rank(1, 2), _filled), distinct, axis),
    Rule("at.kron({0}, {1})", "np.kron({0}, {1})", "ff", both(small, lambda x, y: len(x) == len(y) == 2
         and int(np.prod(x)) * int(np.prod(y)) <= 2000)),
    Rule("at.hypot({0}, 1.5 + at.sqr({1}))", "np.hypot({0}, 1.5 + np.square({1}))", "ff", same),
    Rule("at.einsum('ij,jk,k->i', {0}, {1}, {2})", kinds="fff",
         fits=lambda x, y, z: len(x) == len(y) == 2 and len(z) == 1 and x[1] == y[0] and y[1] == z[0]),
    Rule("at.linalg.matrix_power(0.3 * {0}, 3)", "0.027 * ({0} @ {0} @ {0})", "f", both(small, _square)),
]  # fmt: skip


def _between(x: Any, knots: Any) -> bool:
    """A condition: no element of x is near a knot."""
    return bool(np.all(np.abs(np.asarray(x)[..., None] - knots) > 1e-3))


def _system(a: Shape, d: Shape, *b: Shape) -> bool:
    """A square sparse matrix, a diagonal for it, and a right-hand side."""
    return len(d) == 1 and a == d + d and 0 < d[0] <= 20 and all(len(x) in (1, 2) and x[0] == d[0] for x in b)


_SYSTEM, _MEANING = "sp.square_diagonal(12.0 + at.sqr({1})) + {0}", "np.diag(12.0 + np.square({1})) + {0}.dense"

SPARSE_SOLVES: Sequence[Rule] = [
    Rule(f"sp.spsolve({_SYSTEM}, {{2}})", f"o.solve({_MEANING}, {{2}})", "sff", _system),
    Rule(f"sp.spsolve({_SYSTEM}, {{2}}) * 0.5", f"o.solve({_MEANING}, {{2}}) * 0.5", "sff", _system),
    Rule(f"sp.solve_triangular({_SYSTEM}, {{2}}, lower={{lower}}, trans={{trans}})",
         f"o.solve(o.triangle({_MEANING}, {{lower}}, {{trans}}), {{2}})", "sff", _system,
         parameters=lambda rng, *_: {"lower": bool(rng.integers(2)), "trans": int(rng.integers(2))}),
]  # fmt: skip
