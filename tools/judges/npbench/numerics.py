"""Maps, histograms, fractals, transforms, integers and integrals. Arguments and order of results are NPBench's."""

from __future__ import annotations

import numpy as np
from tools.judges.npbench.loops import repeated, rows

import aotensor.tensor as at
from aotensor.tensor import Variable

Results = tuple[Variable, ...]


def compute(array_1: Variable, array_2: Variable, a: Variable, b: Variable, c: Variable) -> Results:
    """A map of integers."""
    return (at.clip(array_1, 2, 10) * a + array_2 * b + c,)


def go_fast(a: Variable) -> Results:
    """a, and the sum of tanh of its diagonal."""
    return (a + at.tanh(at.diag(a)).sum(),)


def arc_distance(theta_1: Variable, phi_1: Variable, theta_2: Variable, phi_2: Variable) -> Results:
    """Distances of points on a sphere."""
    half = at.sin((theta_2 - theta_1) / 2) ** 2
    half = half + at.cos(theta_1) * at.cos(theta_2) * at.sin((phi_2 - phi_1) / 2) ** 2
    return (2 * at.arctan2(at.sqrt(half), at.sqrt(1 - half)),)


def azimint_naive(data: Variable, radius: Variable, npt: int) -> Results:
    """Means of data by intervals of radius, one interval after the other."""
    largest = radius.max()

    def step(i: Variable) -> Variable:
        inside = (largest * i / npt <= radius) & (radius < largest * (i + 1) / npt)
        return at.where(inside, data, 0.0).sum() / inside.sum()

    return tuple(rows(step, [at.arange(npt)], [None]))


def azimint_hist(data: Variable, radius: Variable, npt: int) -> Results:
    """Means of data by intervals of radius, by histograms."""
    return (at.histogram(radius, npt, weights=data)[0] / at.histogram(radius, npt)[0],)


def mandelbrot1(
    xmin: Variable, xmax: Variable, ymin: Variable, ymax: Variable, xn: int, yn: int, maxiter: int, horizon: Variable
) -> Results:
    """Last value and step of points that stay inside of the horizon.   → (yn, xn), twice"""
    c = at.linspace(xmin, xmax, xn) + 1j * at.linspace(ymin, ymax, yn)[:, None]

    def step(n: Variable, z: Variable, steps: Variable) -> Results:
        inside = at.abs(z) < horizon
        return at.where(inside, z * z + c, z), at.where(inside, n, steps)

    z, steps = repeated(step, [at.zeros_like(c), at.zeros((yn, xn), dtype="int64")], sequences=[at.arange(maxiter)])
    return z, at.where(at.eq(steps, maxiter - 1), 0, steps)


def mandelbrot2(
    xmin: Variable, xmax: Variable, ymin: Variable, ymax: Variable, xn: int, yn: int, itermax: int, horizon: Variable
) -> Results:
    """Value and step at which points leave the horizon.   → (yn, xn), twice"""
    c = at.linspace(xmin, xmax, xn) + 1j * at.linspace(ymin, ymax, yn)[:, None]

    def step(n: Variable, z: Variable, found: Variable, steps: Variable) -> Results:
        z = z * z + c
        leaves = (at.abs(z) > horizon) & at.eq(steps, 0)
        steps = at.where(leaves, n + 1, steps)
        return at.where(steps > 0, 0.0, z), at.where(leaves, z, found), steps

    nothing, none = at.zeros_like(c), at.zeros((yn, xn), dtype="int64")
    return tuple(repeated(step, [nothing, nothing, none], sequences=[at.arange(itermax)])[1:])


def stockham_fft(N: int, R: int, K: int, x: Variable, y: Variable) -> Results:
    """A Fourier transform of N = R^K points, by Stockham's stages."""
    digit = np.arange(R)
    butterfly = at.constant(np.exp(-2j * np.pi * np.outer(digit, digit) / R))
    for i in range(K):
        size = R**i
        twiddles = at.exp(at.arange(R)[:, None] * at.arange(size) * (-2j * np.pi / (R * size)))
        turned = x.reshape((size, R, N // (R * size))).transpose((1, 0, 2)) * twiddles[:, :, None]
        x = (butterfly @ turned.reshape((R, N // R))).reshape((N,))
    return (x,)


def contour_integral(NR: int, NM: int, slab_per_bc: int, Ham: Variable, int_pts: Variable, Y: Variable) -> Results:
    """Moments of the resolvent of a polynomial eigenproblem at the points of a contour."""

    def step(z: Variable, first: Variable, second: Variable) -> Results:
        T = sum(z ** (slab_per_bc / 2 - n) * Ham[n] for n in range(slab_per_bc + 1))
        X = at.inv(T) if NR == NM else at.solve(T, Y, b_ndim=2)
        X = at.where(at.abs(z) < 1.0, -X, X)
        return first + X, second + z * X

    nothing = at.zeros((NR, NM), dtype="complex128")
    return tuple(repeated(step, [nothing, nothing], sequences=[int_pts]))


def scattering_self_energies(neigh_idx: Variable, dH: Variable, G: Variable, D: Variable, Sigma: Variable) -> Results:
    """Self-energies of electrons that are scattered by phonons, as products.

    G: (k, E, a, m, n), dH: (a, b, i, m, n), D: (q, w, a, b, i, j)
    """
    left = at.einsum("keabmn,abinp->keabimp", G[:, :, neigh_idx], dH)
    right = at.einsum("abjpr,qwabij->wabipr", dH, D)
    energies, emitted = G.type.shape[1], D.type.shape[1]
    for w in range(min(energies, emitted)):
        gained = at.einsum("keabimp,abipr->keamr", left[:, : energies - w], right[w])
        Sigma = at.inc_subtensor(Sigma[:, w:], gained)
    return (Sigma,)


def crc16(data: Variable, poly: int = 0x8408) -> Results:
    """CRC-16-CCITT of bytes."""

    def step(byte: Variable, crc: Variable) -> Variable:
        crc = crc ^ at.cast(byte, "int64")
        for _ in range(8):
            crc = at.where(at.eq(crc & 1, 1), (crc >> 1) ^ poly, crc >> 1)
        return crc

    [crc] = repeated(step, [at.constant(0xFFFF, dtype="int64")], sequences=[data])
    crc = ~crc & 0xFFFF
    return (((crc << 8) | ((crc >> 8) & 0xFF)) & 0xFFFF,)


def floyd_warshall(path: Variable) -> Results:
    """Lengths of shortest paths.   path: (n, n)"""

    def step(k: Variable, path: Variable) -> Variable:
        return at.minimum(path, path[:, k, None] + path[k])

    return tuple(repeated(step, [path], sequences=[at.arange(path.shape[0])]))


def nussinov(N: int, seq: Variable) -> Results:
    """The table of Nussinov's algorithm: most pairs of bases of each part of a sequence.   seq: (N)"""
    index = at.arange(N)

    def line(i: Variable, table: Variable) -> Variable:
        below = table[at.minimum(i + 1, N - 1)]

        def cell(j: Variable, row: Variable) -> Variable:
            pairs = at.cast(at.eq(seq[i] + seq[j], 3) & (i < j - 1), "int32")
            column = at.roll(table[:, j], -1)
            split = at.where((index > i) & (index < j), row + column, 0).max()
            best = at.maximum(at.maximum(row[j - 1], below[j]), at.maximum(below[j - 1] + pairs, split))
            return at.set_subtensor(row[j], at.where(j > i, best, 0))

        [row] = repeated(cell, [at.zeros((N,), dtype="int32")], sequences=[index[1:]])
        return at.set_subtensor(table[i], row)

    return tuple(repeated(line, [at.zeros((N, N), dtype="int32")], sequences=[index[::-1]]))
