"""Calls of NumPy's functions, and the comparison of those on symbols with those on arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.graph.variable import Variable

V, W = np.array([0.5, -1.5, 2.25]), np.array([1.0, 2.0, 4.0])
G = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
T = np.arange(24.0).reshape(2, 3, 4)
U = np.array([0.1, 0.4, 0.9])
K = np.array([3, -2, 7])
J = np.array([2, 0, 1])
B = np.array([True, False, True])


def check(call: Callable[..., Any], *arrays: np.ndarray, compiles: bool) -> None:
    """The program on symbols, computed by the reference and compiled, against NumPy on the arrays themselves.

    compiles: the ops behind NumPy's names have rows of their own, which are compiled in tests/ops
    """
    symbols = [at.tensor(f"x{k}", dtype=x.dtype, shape=(None,) * x.ndim) for k, x in enumerate(arrays)]
    built, expected = call(*symbols), call(*arrays)
    is_one = not isinstance(built, list | tuple)
    outputs = [built] if is_one else list(built)
    wanted = [expected] if is_one else list(expected)
    assert len(outputs) == len(wanted)
    symbolic = [(x, y) for x, y in zip(outputs, wanted, strict=True) if isinstance(x, Variable)]
    assert all(x == y for x, y in zip(outputs, wanted, strict=True) if not isinstance(x, Variable))
    f = aot.function(symbols, [x for x, _ in symbolic], on_unused_input="ignore")
    for computed in (f, f.reference)[not compiles :]:
        found = computed(*arrays)
        for value, (_, want) in zip(found, symbolic, strict=True):
            np.testing.assert_allclose(value, want, rtol=1e-12, atol=1e-14)
            assert value.shape == np.shape(want)


CALLS: list[tuple[Callable[..., Any], list[np.ndarray]]] = [
    (lambda x: np.sum(x), [G]),
    (lambda x: np.sum(x, axis=0), [G]),
    (lambda x: np.sum(x, (0, 2), keepdims=True), [T]),
    (lambda x: np.sum(x, dtype="float64"), [K]),
    (lambda x: np.prod(x, axis=-1), [G]),
    (lambda x: [np.mean(x), np.mean(x, 1), np.var(x, ddof=1), np.std(x, axis=0)], [G]),
    (lambda x: [np.max(x), np.min(x, axis=0), np.amax(x, 1), np.ptp(x), np.argmax(x, axis=1), np.argmin(x)], [G]),
    (lambda x: [np.all(x), np.any(x, axis=0), np.count_nonzero(x)], [B[:, None]]),
    (lambda x: [np.count_nonzero(x, axis=1, keepdims=True), np.median(x, axis=0)], [G]),
    (lambda x: [np.cumsum(x, axis=1), np.cumprod(x), np.diff(x), np.diff(x, n=2, axis=0)], [G]),
    (lambda x: [np.sort(x), np.sort(x, axis=0, kind="stable"), np.argsort(x, axis=-1)], [G]),
    (lambda x, y: [np.concatenate([x, y]), np.concatenate((x, y), axis=1), np.concatenate([x, y], axis=None)], [G, G]),
    (lambda x, y: [np.stack([x, y]), np.stack([x, y], axis=-1), np.hstack([x, y]), np.vstack([x, y])], [V, W]),
    (lambda x, y: [np.dot(x, y), np.matmul(x, y), np.inner(x, y), np.tensordot(x, y, axes=1)], [G, G]),
    (lambda x, y: [np.dot(x, y), np.vdot(x, y), np.outer(x, y), np.inner(x, y), np.kron(x, y)], [V, W]),
    (lambda x: [np.dot(G, x), np.dot(x, G), G @ x, x @ G, np.matmul(G, x), np.inner(G, x)], [V]),
    (lambda x, y: np.einsum("ij,j->i", x, y, optimize=True), [G, V]),
    (lambda x, y: np.einsum("ij,jk", x, y), [G, G]),
    (lambda c, x, y: np.where(c, x, y), [B, V, W]),
    (lambda x: np.where(x > 0, x, 0.0), [V]),
    (lambda x: list(np.where(x > 0)), [V]),
    (lambda x: [*np.nonzero(x > 1), np.flatnonzero(x > 1), np.argwhere(x > 1)], [G]),
    (lambda x: [np.reshape(x, (2, 12)), np.reshape(x, -1), np.ravel(x)], [T]),
    (lambda x: [np.transpose(x), np.transpose(x, (1, 0, 2))], [T]),
    (lambda x: [np.swapaxes(x, 0, 2), np.moveaxis(x, 0, -1), np.expand_dims(x, 1), np.flip(x, axis=1)], [T]),
    (lambda x: [np.fliplr(x), np.flipud(x), np.roll(x, 1), np.roll(x, -1, axis=0), np.tile(x, (2, 1))], [G]),
    (lambda x: [np.repeat(x, 2), np.repeat(x, 2, axis=0), np.broadcast_to(x, (2, 3, 3)), np.matrix_transpose(x)], [G]),
    (lambda x: np.squeeze(np.expand_dims(x, 0), axis=0), [G]),
    (lambda x: [np.atleast_1d(x), np.atleast_2d(x), np.atleast_3d(x)], [V]),
    (lambda x, y: np.atleast_2d(x, y), [V, G]),
    (lambda x, y: np.broadcast_arrays(x, y[None, :]), [G, V]),
    (lambda x: [np.split(x, 3)[1], *np.split(x, [1, 2], axis=1)], [G]),
    (lambda x: [np.pad(x, 1), np.pad(x, ((1, 0), (0, 2)), mode="edge"), np.pad(x, 1, constant_values=7.0)], [G]),
    (lambda x, i: [np.take(x, i), np.take(x, i, axis=1), np.compress([True, False, True], x, axis=0)], [G, J]),
    (lambda x, i: np.take_along_axis(x, i[:, None], axis=1), [G, J]),
    (lambda x: [np.tril(x), np.triu(x, 1), np.diag(x), np.diagonal(x, 1), np.trace(x), np.trace(x, offset=-1)], [G]),
    (lambda x: [np.diag(x), np.diag(x, -1)], [V]),
    (lambda x: [np.zeros_like(x), np.ones_like(x, dtype="int64"), np.full_like(x, 3.0)], [G]),
    (lambda x: [np.shape(x), np.size(x), np.ndim(x), np.size(x, 1), np.copy(x), np.astype(x, "float32")], [T]),
    (lambda x: [np.clip(x, -1, 1), np.clip(x, a_min=0, a_max=None), np.clip(x, None, 1)], [V]),
    (lambda x: [np.clip(x, min=0, max=2), np.clip(x, min=0), x.clip(0, 1)], [V]),
    (lambda x: [np.round(x), np.round(x, 1), np.round(x, decimals=-1), np.around(x, 2)], [V * 7.77]),
    (lambda x, y: [np.isclose(x, y), np.allclose(x, y), np.isclose(x, y, atol=9.0)], [V, W]),
    (lambda x, y: [np.average(x, 0, y), np.cov(x), np.corrcoef(x, rowvar=False), np.cov(x, y)], [G, V]),
    (lambda x: [np.quantile(x, 0.3), np.percentile(x, [5, 50], axis=0), np.nan_to_num(x)], [G]),
    (lambda x, y: [np.linspace(x, y, 4), np.geomspace(y, 9.0, 3), *np.meshgrid(x, y), np.interp(x, y, W)], [V, W]),
    (lambda x, i: [np.searchsorted(W, x), *np.histogram(x, 3), np.bincount(i, x)], [V, J]),
    (lambda x, y: [np.linalg.tensorsolve(x, y), np.linalg.tensorinv(x, 1), np.linalg.lstsq(x, y)[0]], [G, V]),
    (lambda x: [*np.unique(x, return_index=True, return_counts=True)], [np.array([3.0, 1.0, 3.0])]),
    (lambda i: [np.ravel_multi_index([i, i], (3, 4)), *np.unravel_index(i, (2, 2))], [J]),
    (lambda i, x, y: np.choose(i, [x, y, x]), [J, V, W]),
    (lambda x, y: [np.einsum(x, [0, 1], y, [1]), np.einsum(x, (3, 4), y, (5,), [5, ..., 3, 4])], [G, V]),
    (lambda x: [np.einsum(x, [0, 0]), np.einsum(x, [..., 1], x, [..., 1], [...])], [G]),
    (lambda x, y: [np.dot(x, y), np.dot(T.mT, y), np.dot(x, W), np.dot(3.0, x)], [G, T[:, :3].repeat(2, 0)]),
    (lambda x: [*np.array_split(x, [1, 2], axis=1), *np.hsplit(x, [1]), *np.vsplit(x, 2)], [T[0, :2]]),
    (lambda x: [*np.dsplit(x, 2), np.rollaxis(x, 2), np.rollaxis(x, 0, -1)], [T]),
    (lambda x: [*np.hsplit(x, 3), np.rollaxis(x[None], 1, 2), np.column_stack([x, x * 2])], [V]),
    (lambda x, y: [np.column_stack([x, y]), np.select([x < 1, x > 3], [-x, x**2])], [G, V]),
    (lambda x, y: [np.select([x > 9, y > 9], [x, y], default=3.5), np.select([x > 1], [y], x)], [V, W]),
    (lambda x, y: [np.fmax(x, y), np.fmin(y, x), np.logaddexp2(y, 2 * y)], [np.array([1.0, np.nan, 3.0]), W]),
    (lambda x: [np.rot90(x), np.rot90(x, 2), np.rot90(x, -1, (1, 0)), np.rot90(x, k=4), np.rot90(x, -1)], [G[:2]]),
    (lambda x: np.rot90(x, 3, axes=(2, 0)), [T]),
    (lambda x: [np.real(np.fft.fft(x)), np.imag(np.fft.rfft(x, 5)), np.fft.irfft(x, norm="ortho")], [G]),
    (lambda x: [np.imag(np.fft.ifft(x, axis=0)), np.fft.hfft(x, 5), np.real(np.fft.ihfft(x, norm="forward"))], [G]),
    (lambda x: [np.real(f(x, axes=(0, 1))) for f in (np.fft.fftn, np.fft.ifft2, np.fft.rfftn, np.fft.rfft2)], [T]),
    (lambda x: [np.imag(f(x)) for f in (np.fft.fft2, np.fft.ifftn)], [G]),
    (lambda x: [np.fft.irfftn(x, s=(4, 3), axes=(0, 2)), np.fft.irfft2(x), np.fft.fftshift(x, 1)], [T]),
    (lambda x: [np.fft.ifftshift(x), np.iscomplex(np.fft.fft(x)), np.isreal(x)], [V]),
    (lambda x: [np.real(x), np.iscomplexobj(x), np.isrealobj(x)], [V]),
    (lambda x: [np.linalg.det(x), np.linalg.inv(x), np.linalg.cholesky(x), np.linalg.matrix_power(x, 3)], [G]),
    (lambda x: [np.linalg.cholesky(x, upper=True), *np.linalg.slogdet(x), np.linalg.eigvalsh(x)], [G]),
    (lambda x: np.linalg.eigh(x)[0], [G]),
    (lambda x: [np.linalg.svd(x, compute_uv=False), np.linalg.svdvals(x), np.linalg.pinv(x)], [G]),
    (lambda x, y: [np.linalg.solve(x, y), np.linalg.solve(x, x + 1)], [G, V]),
    (lambda x, y: np.linalg.solve(x, y), [np.stack([G, G + 1]), np.stack([G, G])]),
    (lambda x: [np.linalg.norm(x), np.linalg.norm(x, axis=0), np.linalg.norm(x, "nuc"), np.linalg.norm(x, 1)], [G]),
    (lambda x: [np.linalg.norm(x), np.linalg.norm(x, np.inf), np.linalg.norm(x, axis=-1)], [V]),
    (lambda x: [np.linalg.diagonal(x), np.linalg.trace(x), np.linalg.matrix_transpose(x)], [T]),
    (lambda x, y: [np.linalg.vecdot(x, y), np.vecdot(x, y), np.matvec(x, y), np.vecmat(y, x)], [G, V]),
    (lambda x, y: [np.linalg.multi_dot([x, x, y]), np.linalg.outer(y, y), np.linalg.tensordot(x, x, axes=2)], [G, V]),
    (lambda x: [np.add.reduce(x), np.add.reduce(x, axis=None), np.multiply.reduce(x, axis=1)], [G]),
    (lambda x: [np.maximum.reduce(x, keepdims=True), np.minimum.reduce(x, axis=(0, 1))], [G]),
    (lambda x: [np.logical_or.reduce(x > 3), np.logical_and.reduce(x > 0, axis=1)], [G]),
    (lambda x: [np.add.accumulate(x), np.add.accumulate(x, axis=1), np.multiply.accumulate(x)], [G]),
    (lambda x, y: [np.add.outer(x, y), np.multiply.outer(x, W), np.less.outer(V, y)], [V, W]),
    (lambda x, y: np.subtract.outer(x, y), [V, G]),
    (lambda x: [np.add(x, 1, out=None), np.sin(x, where=True), np.float64(2) * x, np.float32(2) + x, V - x], [W]),
    (lambda x: [x > V, x <= V, x == V, x != V, V // x, V % x, divmod(V, x)[1], *np.divmod(x, W)], [W]),
    (lambda x: [3.0 // x, 3.0 % x, *divmod(x, 2.0), *divmod(7.0, x), abs(-x), +x], [W]),
    (lambda x: [math.floor(x[1]), math.ceil(x[1]), math.trunc(x[1])], [V]),
]  # fmt: skip
