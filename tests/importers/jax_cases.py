"""Programs of JAX that go through every rule of the importer, with values at which they are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import jax.scipy as jsp
import numpy as np
from jax import lax

_RNG = np.random.default_rng(0)


@dataclass(frozen=True)
class Program:
    """A program, its inputs, and how closely it must agree.   reason: why it is less close than 1e-12"""

    id: str
    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    rtol: float = 1e-12
    reason: str = ""


def normal(*shape: int) -> Any:
    """Draws of float64."""
    return _RNG.normal(size=shape)


def positive(*shape: int) -> Any:
    """Draws from 0.1 to 2."""
    return _RNG.uniform(0.1, 2, size=shape)


WORDS = np.array([1, -3, 0, 2**30, -(2**31)], "int32")
FLOATS = np.array([0.0, -0.0, 1.0, -1.0, np.inf, np.nan, 1e-300])
POSITIONS = np.array([0, 4, -1, 2, 9, -9], "int32")
SQUARE = normal(4, 4)
POSITIVE_DEFINITE = SQUARE @ SQUARE.T + np.eye(4)


def arithmetic(x: Any, i: Any) -> Any:
    """Powers, remainders, division of integers also by 0, rounding, choice."""
    zero, two = jnp.int32(0), jnp.int32(-2)
    return (
        x**i, x**3, x**-2, jnp.sign(x), jnp.round(x), lax.round(x), x % 2, i // 3, i % 3, lax.rem(x, -0.3), -x / 3,
        lax.div(i, two), lax.div(i, zero), lax.rem(i, zero), lax.div(i.astype("uint8"), jnp.uint8(0)),
        lax.rem(i.astype("uint8"), jnp.uint8(3)), lax.clamp(0.0, x, 1.0), lax.rsqrt(x * x), jax.nn.sigmoid(x),
        lax.select_n(abs(i) % 3, x, 2 * x, 3 * x), jnp.cbrt(x), jnp.minimum(x, 0.1), jnp.maximum(i, 1), jnp.square(x),
        x == x, x != 0, x < 0.1, x <= 0.1, x > 0.1, x >= 0.1, jnp.isfinite(x), jnp.floor(x), jnp.ceil(x),
    )  # fmt: skip


def elementary(x: Any) -> Any:
    """Elementary functions."""
    y = x / 3
    functions = "exp exp2 expm1 log1p sin cos tan tanh sinh cosh arcsin arccos arctan arcsinh sqrt log".split()  # noqa: SIM905
    return (*(getattr(jnp, name)(y) for name in functions), jnp.arccosh(1 + x), jnp.arctanh(y), jnp.arctan2(y, x))


def special(a: Any, b: Any) -> Any:
    """Special functions."""
    s = jsp.special
    return (
        s.gammainc(a, b), s.gammaincc(a, b), s.i0e(a), s.i1e(-a), s.i0(a), s.betainc(a, b, b / 3), s.polygamma(2, a),
        s.gammaln(a), s.digamma(a), s.erfinv(b / 4), s.erf(a), s.erfc(a), lax.igamma_grad_a(a, b), s.logsumexp(a),
    )  # fmt: skip


def bits(x: Any, y: Any) -> Any:
    """Logic, shifts by any count, counts of bits."""
    small, high = x.astype("uint8"), jnp.int32(3)
    return (
        x << 3, x >> 2, x >> 40, x << -1, lax.shift_right_logical(x, high), x & y, x | y, x ^ y, ~x,
        lax.population_count(x), lax.clz(x), lax.population_count(small), lax.clz(x.astype("int64")), lax.clz(small),
        lax.bitcast_convert_type(x, jnp.float32), lax.mulhi(x, y), lax.mulhi(small, small[::-1]),
        lax.reduce_xor(x > 0, (0,)),
    )  # fmt: skip


def floats(x: Any) -> Any:
    """What reads or makes bits of floats, and conversion."""
    return (
        jnp.nextafter(x, jnp.ones(7)), jnp.nextafter(x, -x), lax.bitcast_convert_type(x, jnp.int64), jnp.signbit(x),
        jnp.copysign(2.0, x), jnp.nan_to_num(x), x.astype("int32"), x.astype(bool), x.astype("float32"),
        x.astype("complex128"), lax.reduce_precision(x, 11, 52), lax.sort(x),
    )  # fmt: skip


def shapes(x: Any) -> Any:
    """What moves, repeats and joins elements; padding also by negative widths and between elements."""
    return (
        x.T, x[::-1], x[1:, ::2], x.reshape(-1), x[None], jnp.concatenate([x, x], 1), jnp.stack([x, x], 1),
        lax.pad(x, 0.0, ((1, -1, 1), (-1, 2, 0))), lax.pad(x, 9.0, ((-1, -1, 2), (-2, 3, 1))), jnp.tile(x, (2, 1)),
        jnp.split(x, 2), jnp.roll(x, 1, 0), jnp.arange(4), jnp.eye(3), jnp.tril(x), jnp.zeros((0, 2)), x[:1].squeeze(0),
        jnp.repeat(x, 2, axis=0), lax.pad(x, 0.0, [(np.int64(1), np.int64(0), np.int64(1)), (0, 0, 0)]),
        jnp.unstack(x), lax.pad(x[:0], 1.0, ((1, 1, 2), (0, 0, 0))), x[:, :0] @ x[:0].T.T,
    )  # fmt: skip


def reductions(x: Any) -> Any:
    """Along axes, of nothing, and running ones in both directions."""
    return (
        x.sum(), x.sum(0), x.prod(1), x.max(0), x.min(), x.argmax(0), x.argmin(1), (x > 0).any(0), (x > 0).all(1),
        (x > 0).sum(), jnp.cumsum(x, 0), lax.cumsum(x, 1, reverse=True), jnp.cumprod(x, 1), lax.cummax(x, 0),
        lax.cummin(x, 1, reverse=True), lax.cumlogsumexp(x, 0), x.mean(), x.std(0), jax.nn.logsumexp(x, axis=1),
        jax.nn.softmax(x), lax.reduce_max(x[:0], axes=(0,)), lax.cummax(x[:0], 0), (x > 0).argmax(1), x[:0].sum(0),
        jnp.cumsum((x > 0).astype("int8"), 0), jnp.max(x > 0),
    )  # fmt: skip


def products(a: Any, b: Any) -> Any:
    """dot_general with batches, of integers, to another dtype; transforms."""
    two = jnp.stack([a, a])
    counts = (a > 0).astype("int32"), (b > 0).astype("int32")
    return (
        a @ b, jnp.einsum("ij,jk->ki", a, b), jnp.einsum("bij,bkj->ikb", two, two), jnp.outer(a[0], b[0]), a[0] @ b,
        jnp.tensordot(a, b, 0), jnp.vdot(a, a), counts[0] @ counts[1],
        lax.dot(a.astype("float32"), b.astype("float32"), preferred_element_type=jnp.float64),
        jnp.fft.fft(a), jnp.fft.rfft2(a), jnp.fft.irfft(jnp.fft.rfft(a), 3), jnp.fft.ifft2(a), jnp.fft.irfftn(a),
        jnp.abs(a + 2j * a), jnp.real(a * 1j), lax.complex(a, a).conj(), jnp.imag(a * 2j),
    )  # fmt: skip


def gathers(x: Any, i: Any) -> Any:
    """Windows at positions, also outside, in every mode."""
    fixed = jnp.array([[1, 2], [3, 4]])
    return (
        x[i], x.at[i].get(mode="clip"), x.at[i].get(mode="fill"), x.at[:, i].get(mode="clip"),
        x.at[i, i].get(mode="fill"), x.at[i[:, None], i[None]].get(mode="clip"), jnp.take(x, i, axis=1),
        jnp.take(x, i), jnp.take_along_axis(x, i[:5, None], 1, mode="fill"), x[2], x[-1], x[i[0]], x[:, None, 1],
        x.at[i[4]].get(mode="fill"), x.at[i, 1:3].get(mode="fill"), x.at[1:4, i].get(mode="clip"),
        fixed.at[i].get(mode="fill"), fixed.astype("uint8").at[i].get(mode="fill"), x[jnp.array([0, 2])],
        x.at[i, :, None].get(mode="fill", fill_value=7.0), x[:0, i],
    )  # fmt: skip


def scatters(x: Any, i: Any) -> Any:
    """Copies with windows changed, in every mode."""
    found = []
    for mode in ("clip", "drop", "promise_in_bounds"):
        k = i if mode != "promise_in_bounds" else jnp.clip(i, 0, 4)
        found += [
            x.at[k[:2]].set(1.0, mode=mode), x.at[k].add(2.0, mode=mode), x.at[k].max(0.5, mode=mode),
            x.at[k].min(jnp.arange(5.0) - 2, mode=mode), x.at[:, k].add(1.0, mode=mode), x.at[k, k].add(1.0, mode=mode),
            x.at[k[2]].mul(3.0, mode=mode), x.at[k[4]].set(7.0, mode=mode), x.at[k[:2], 1:3].set(3.0, mode=mode),
            x.at[k].subtract(1.0, mode=mode), x.at[1:3].set(0.0), x.at[1, k[0]].set(5.0, mode=mode),
        ]  # fmt: skip
    segments = i[:5]
    whole = x.astype("int32")
    return (
        *found, jax.ops.segment_sum(x, segments, 5), jax.ops.segment_max(x, segments, 5), x.at[:].set(1.0),
        jax.ops.segment_min(whole, segments, 5), jax.ops.segment_max(whole, segments, 5),
        x.at[jnp.array([0, 1]), jnp.array([2, 3])].multiply(2.0, unique_indices=True), x.at[:0].add(1.0),
        jax.ops.segment_sum(x, segments, 0), jax.ops.segment_max(x, segments, 0),
    )  # fmt: skip


def one_of_a_batch(x: Any, i: Any) -> Any:
    """Under vmap: positions that go along with the batch."""
    return (
        x[i], x.at[i].set(0.0), x.at[i].add(1.0), lax.dynamic_slice(x, (i,), (2,)),
        lax.dynamic_update_slice(x, jnp.ones(2), (i,)), jnp.sort(x)[i], lax.cond(i > 0, lambda: x, lambda: -x),
    )  # fmt: skip


def windows(x: Any, i: Any) -> Any:
    """Windows that begin where a value says, moved inside."""
    zero = jnp.int32(0)
    return (
        lax.dynamic_slice(x, (i, zero), (2, 3)), lax.dynamic_slice(x, (i, i), (1, 2)), x.at[i].get(mode="clip"),
        lax.dynamic_update_slice(x, x[:1], (i, zero + 1)), lax.dynamic_index_in_dim(x, i, 1),
        lax.dynamic_slice(x, (zero + 7, zero), (2, 3)),
    )  # fmt: skip


def sorts(x: Any) -> Any:
    """Of several operands by several keys; positions of the largest."""
    return (
        jnp.sort(x), jnp.argsort(x), lax.top_k(x, 2), lax.sort((jnp.round(x), -x, x), num_keys=2), jnp.median(x),
        jnp.searchsorted(jnp.sort(x[0]), x[1]), jnp.sort(x, 0), jnp.sort(x > 0), jnp.argsort(-x, axis=0),
        lax.top_k(jnp.array([1.0, jnp.nan, 1.0, 2.0]), 3),
    )  # fmt: skip


def loops(x: Any, n: Any) -> Any:
    """scan forwards and backwards, while also without a step, branches."""
    return (
        lax.scan(lambda c, x: (c + x, c * x), 0.0, x), lax.scan(lambda c, x: (c + x, c * x), 0.0, x, reverse=True),
        lax.while_loop(lambda c: c[0] < 3.0, lambda c: (c[0] + 1, c[1] * 2), (x[0], x)),
        lax.while_loop(lambda c: c < -100.0, lambda c: c + 1, x[0]), lax.fori_loop(0, n, lambda i, c: c + i * x, x),
        lax.fori_loop(0, 5, lambda i, c: c + i * x, x), lax.cond(x[0] > 0, lambda a: a, lambda a: 2 * a, x[1]),
        lax.switch(n, [jnp.sin, jnp.cos, jnp.tan], x), lax.associative_scan(jnp.add, x), lax.map(lambda a: a * 2, x),
        lax.scan(lambda c, _: (c * 2, None), x, None, length=3), lax.scan(lambda c, y: (c + y, y), 0.0, x[:0]),
        jax.vmap(lambda y: lax.while_loop(lambda c: c[0] < 2.0, lambda c: (c[0] + 1, c[1] * 2), (y, jnp.ones(2))))(x),
        lax.scan(lambda c, y: (c, lax.fori_loop(0, 2, lambda i, d: d * y + c, y)), 1.0, x),
    )  # fmt: skip


def factorisations(a: Any, s: Any, b: Any) -> Any:
    """Linear algebra; vectors up to their signs."""
    return (
        jnp.linalg.cholesky(s), jnp.linalg.solve(a, b), jnp.linalg.inv(a), jnp.linalg.det(a), jnp.linalg.slogdet(a),
        jsp.linalg.solve_triangular(a, b, lower=True, trans=1), jsp.linalg.lu(a), jnp.linalg.eigvalsh(s),
        jnp.linalg.svd(a, compute_uv=False), jsp.linalg.cho_solve((jnp.linalg.cholesky(s), True), b),
        jnp.abs(jnp.linalg.qr(a)[1]), jnp.abs(jnp.linalg.eigh(s)[1]), jnp.abs(jnp.linalg.svd(a)[0]),
        lax.linalg.triangular_solve(a, b[None], left_side=False, lower=False), jnp.linalg.cholesky(-s),
        jnp.abs(jnp.linalg.svd(a[:3], full_matrices=False)[2]), jnp.linalg.solve(s, a),
    )  # fmt: skip


def convolutions(x: Any, w: Any) -> Any:
    """With strides, dilations of both, negative padding, groups, other orders of axes; their gradients."""
    conv = lax.conv_general_dilated

    def loss(x: Any, w: Any) -> Any:
        return (conv(x, w, (2, 2), "SAME", feature_group_count=2) ** 2).sum()

    return (
        conv(x, w, (2, 1), [(1, 1), (0, 2)], lhs_dilation=(1, 2), rhs_dilation=(2, 1)),
        conv(x, w, (1, 1), [(-1, 1), (0, -2)]), conv(x, w, (1, 1), "VALID", batch_group_count=2),
        conv(x, w[:, :3], (1, 1), "SAME", feature_group_count=2), conv(x[..., 0], w[..., 0], (2,), "SAME"),
        conv(x, w, (1, 1), "VALID", dimension_numbers=("NCHW", "OIHW", "NHWC")),
        conv(x[..., 0, 0], w[..., 0, 0], (), []),
        jax.grad(loss, (0, 1))(x, w[:, :3]), lax.reshape(w, (4, 36), (1, 0, 2, 3)),
    )  # fmt: skip


def pools(x: Any) -> Any:
    """Reduced windows."""

    def largest(x: Any) -> Any:
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), "SAME")

    def least(x: Any) -> Any:
        return lax.reduce_window(x, jnp.inf, lax.min, (1, 1, 5, 5), (1, 1, 2, 1), "SAME")

    sizes, steps = (1, 2, 3, 1), (1, 2, 1, 2)
    whole = jnp.round(x).astype("int32")
    return (
        largest(x), least(x), lax.reduce_window(x, 0.0, lax.add, sizes, steps, "SAME", window_dilation=(1, 2, 1, 1)),
        lax.reduce_window(x, 1.0, lax.mul, sizes, steps, "VALID"),
        lax.reduce_window(x, 0.0, lax.add, sizes, steps, "VALID", base_dilation=(1, 1, 2, 1)),
        lax.reduce_window(whole, jnp.int32(-(2**31)), lax.max, sizes, steps, "SAME"),
    )  # fmt: skip


def folds(x: Any, i: Any) -> Any:
    """Reductions by functions of the user's own, also of several arrays, also from numbers that are not neutral."""

    def odds(a: Any, b: Any) -> Any:
        return a + b + a * b

    def lines(f: Any, g: Any) -> Any:
        return f[0] * g[0], f[1] * g[0] + g[1]

    def first_largest(a: Any, b: Any) -> Any:
        return tuple(jnp.where(a[0] >= b[0], x, y) for x, y in zip(a, b, strict=True))

    least, pair, flat = (-jnp.inf, jnp.int32(7)), (0.0, jnp.int32(0)), (1, 2, 2)
    return (
        lax.reduce(x, 0.5, odds, (0, 2)), lax.reduce(x, 0.0, odds, (0, 1, 2)),
        lax.reduce((x, 2 * x), (1.0, 0.0), lines, (1,)), lax.reduce(x[:0], 0.25, odds, (0,)),
        lax.reduce(x, 0.0, odds, ()), lax.reduce(i, jnp.int32(-1), lax.bitwise_and, (0,)),
        lax.reduce(lax.complex(x, 2 * x), 0j, odds, (1,)),
        lax.reduce((x, i), least, first_largest, (1,)), lax.reduce_window(x, 0.5, odds, flat, flat, "SAME"),
        lax.reduce_window(x, 0.0, odds, (3, 3, 2), (1, 1, 1), "VALID", window_dilation=(1, 1, 2)),
        lax.reduce_window(x, 0.5, odds, (3, 3, 2), (1, 1, 1), "SAME", base_dilation=(1, 2, 1)),
        lax.reduce_window(x > 0, False, lax.bitwise_or, flat, (1, 1, 1), "SAME"),
        lax.reduce_window((x, i), pair, lambda a, b: (a[0] + b[0], a[1] | b[1]), flat, (1, 1, 2), "SAME"),
    )  # fmt: skip


def calls(x: Any) -> Any:
    """Programs inside of programs."""
    return (
        jax.nn.relu(x), jax.nn.gelu(x), jax.checkpoint(jnp.sin)(x), lax.stop_gradient(x), jax.jit(jnp.cos)(x),
        jnp.where(x > 0, x, 0.0), jax.nn.silu(x), jnp.linalg.norm(x), jnp.var(x), jax.nn.elu(x),
        lax.platform_dependent(x, cpu=jnp.sin, tpu=lambda x: lax.approx_max_k(x, 5)[0]),
    )  # fmt: skip


def draws(words: Any, seed: Any) -> Any:
    """Random numbers, bit for bit."""
    a, b = jr.split(jr.key(seed))
    keys = jr.split(a, 3)
    moved = [
        b, keys[seed % 2], keys[jnp.array([2, 0])], jnp.where(seed > 0, a, b), jnp.where(jnp.arange(3) > 0, keys, a),
        jnp.concatenate([keys, keys[:1]])[::-1][0], keys.reshape(3, 1)[1, 0],
    ]  # fmt: skip
    return (
        jr.normal(words, (3,)), jr.uniform(words, (5,), jnp.float32), jr.bits(words, (3,)), jr.split(words, 3),
        jr.bits(words, (3,), "uint8"), jr.fold_in(words, 7), jr.permutation(words, 6), jr.randint(words, (4,), 0, 10),
        jr.bernoulli(words, 0.3, (4,)), jr.exponential(a, (2,)), jax.vmap(lambda key: jr.uniform(key))(keys),
        lax.scan(lambda c, key: (c, jr.uniform(key)), 0.0, keys)[1], *(jr.key_data(x) for x in moved),
    )  # fmt: skip


PROGRAMS = [
    Program("arithmetic", arithmetic, (normal(5), np.array([0, 2, 1, -3, 7], "int32"))),
    Program("elementary", elementary, (positive(5),)),
    Program("special", special, (positive(4), positive(4)), 1e-9, "igamma's derivative is a series in both"),
    Program("bits", bits, (WORDS, WORDS[::-1].copy())),
    Program("floats", floats, (FLOATS,)),
    Program("shapes", shapes, (normal(4, 3),)),
    Program("reductions", reductions, (normal(4, 3),)),
    Program("products", products, (normal(4, 3), normal(3, 5))),
    Program("gathers", gathers, (normal(5, 5), POSITIONS)),
    Program("scatters", scatters, (normal(5, 5), POSITIONS)),
    Program("batches", jax.vmap(one_of_a_batch), (normal(6, 4), POSITIONS)),
    Program("windows", windows, (normal(4, 3), np.int32(3))),
    Program("sorts", sorts, (normal(4, 6),)),
    Program("loops", loops, (normal(5), np.int32(2))),
    Program("factorisations", factorisations, (SQUARE, POSITIVE_DEFINITE, normal(4)), 1e-10, "condition of the matrix"),
    Program("convolutions", convolutions, (normal(2, 6, 7, 8), normal(4, 6, 3, 2)), 1e-11, "sums in another order"),
    Program("folds", folds, (normal(3, 4, 5), np.arange(60, dtype="int32").reshape(3, 4, 5) * 7 % 61)),
    Program("pools", pools, (normal(2, 3, 6, 7),)),
    Program("calls", calls, (normal(5),)),
    Program("draws", draws, (np.array([0, 42], "uint32"), np.int64(123)), 1e-13),
]
