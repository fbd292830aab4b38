"""Bundle adjustment: positions of cameras and points from photographs, with an automatic sparse Jacobian.

python examples/bundle_adjustment.py                   one fit, and what its Jacobian costs

The scene is synthetic and the same every time: a torus knot, photographed from a ring of cameras, each of which sees
about half of the points with an error of half a pixel. From the photographs alone, cameras and points are fitted
together, from a start that is some way off. A residual depends on the 9 numbers of one camera (rotation, shift, focal
length, distortion) and the 3 of one point, so the columns of the Jacobian fall into 12 groups however many there are.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
import scipy.sparse as ss
from scipy.optimize import least_squares

import aotensor as aot
import aotensor.tensor as at
from aotensor.gradient import jacobian
from aotensor.gradient.sparsity.coloring import color_columns

CAMERAS, POINTS = 8, 120
NOISE = 0.5  # pixels
rng = np.random.default_rng(7)
camera_of, point_of = np.nonzero(rng.random((CAMERAS, POINTS)) < 0.5)  # who sees what
OBSERVATIONS = len(camera_of)

x = at.vector("x", dtype="float64", shape=(9 * CAMERAS + 3 * POINTS,))
pixels = at.matrix("pixels", dtype="float64", shape=(OBSERVATIONS, 2))


def cross(a: aot.Variable, b: aot.Variable) -> aot.Variable:
    """a × b, row by row"""
    one, other = [1, 2, 0], [2, 0, 1]
    return a[:, one] * b[:, other] - a[:, other] * b[:, one]


def rotated(points: aot.Variable, turn: aot.Variable) -> aot.Variable:
    """Points turned about the direction of `turn` by its length, by the formula of Rodrigues.   (n, 3), (n, 3)"""
    angle = at.sqrt((turn**2).sum(axis=1, keepdims=True))
    axis = turn / angle
    along = (axis * points).sum(axis=1, keepdims=True)
    return points * at.cos(angle) + cross(axis, points) * at.sin(angle) + axis * along * (1 - at.cos(angle))


def projected(x: aot.Variable) -> aot.Variable:
    """Where each observation should be on its photograph.   → (observations, 2)"""
    camera = x[: 9 * CAMERAS].reshape((CAMERAS, 9))[camera_of]
    point = x[9 * CAMERAS :].reshape((POINTS, 3))[point_of]
    seen = rotated(point, camera[:, :3]) + camera[:, 3:6]
    plane = -seen[:, :2] / seen[:, 2:]
    square = (plane**2).sum(axis=1)
    bend = 1 + camera[:, 7] * square + camera[:, 8] * square**2
    return plane * (camera[:, 6] * bend)[:, None]


residuals = (projected(x) - pixels).reshape((2 * OBSERVATIONS,))
photograph = aot.function([x], projected(x), name="photograph")
errors = aot.function([x, pixels], residuals, name="errors")
derivatives = aot.function([x], jacobian(residuals, x, sparse=True), name="derivatives")


def scene() -> np.ndarray:
    """The true cameras and points, as one vector."""
    t = np.linspace(0, 2 * np.pi, POINTS, endpoint=False)
    ring = 1 + 0.4 * np.cos(3 * t)
    knot = np.column_stack([ring * np.cos(2 * t), ring * np.sin(2 * t), 0.4 * np.sin(3 * t)])
    cameras = np.zeros((CAMERAS, 9))
    cameras[:, :3] = np.array([0, 1, 0]) * np.linspace(0.1, 2.8, CAMERAS)[:, None] + rng.normal(0, 0.1, (CAMERAS, 3))
    cameras[:, 3:6] = [0, 0, -5]
    cameras[:, 6:] = [500, -0.05, 0.01]
    return np.concatenate([cameras.ravel(), knot.ravel()])


def root_mean_square(residual: np.ndarray) -> float:
    """The error of a photograph in pixels."""
    return float(np.sqrt((residual**2).sum() / OBSERVATIONS))


def seconds(run: object, repeats: int) -> float:
    """The shortest time of one call."""
    assert callable(run)
    times = []
    for _ in range(repeats):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return min(times)


def main() -> None:
    truth = scene()
    seen = photograph(truth) + rng.normal(0, NOISE, (OBSERVATIONS, 2))
    start = truth + np.concatenate([
        (rng.normal(0, 1, (CAMERAS, 9)) * [0.02, 0.02, 0.02, 0.05, 0.05, 0.05, 5, 0.01, 0.001]).ravel(),
        rng.normal(0, 0.05, 3 * POINTS),
    ])  # fmt: skip

    matrix = derivatives(start)
    print(f"{CAMERAS} cameras, {POINTS} points, {OBSERVATIONS} observations: a Jacobian of {matrix.shape[0]} x "
          f"{matrix.shape[1]} with {matrix.nnz} entries")  # fmt: skip
    print(f"{color_columns(matrix).max() + 1} groups of columns that share no row")

    begin = perf_counter()
    fit = least_squares(lambda v: errors(v, seen), start, derivatives, method="trf", x_scale="jac", ftol=1e-8)
    print(f"error {root_mean_square(errors(start, seen)):.2f} -> {root_mean_square(fit.fun):.3f} pixels after "
          f"{fit.nfev} evaluations, {perf_counter() - begin:.2f} s; the truth has "
          f"{root_mean_square(errors(truth, seen)):.3f}")  # fmt: skip

    begin = perf_counter()
    blunt = least_squares(lambda v: errors(v, seen), start, "2-point", method="trf", x_scale="jac", ftol=1e-8,
                          jac_sparsity=matrix)  # fmt: skip
    print(f"by differences in the same groups: {root_mean_square(blunt.fun):.3f} pixels after {blunt.nfev} "
          f"evaluations, {perf_counter() - begin:.2f} s")  # fmt: skip

    differences = two_point(start, seen)
    apart = abs(matrix - differences).max() / abs(matrix).max()
    print(f"differences agree to {apart:.1e}")
    own, by_columns = seconds(lambda: derivatives(start), 5), seconds(lambda: two_point(start, seen), 2)
    print(f"Jacobian in {1e3 * own:.2f} ms, by 2-point differences of every column in {1e3 * by_columns:.0f} ms")


def two_point(at_point: np.ndarray, seen: np.ndarray) -> ss.csr_matrix:
    """The Jacobian by one more evaluation per column."""
    before, step = errors(at_point, seen), 1e-7
    columns = []
    for k in range(len(at_point)):
        moved = at_point.copy()
        moved[k] += step
        columns.append(ss.csc_matrix(((errors(moved, seen) - before) / step)[:, None]))
    return ss.csr_matrix(ss.hstack(columns))


if __name__ == "__main__":
    main()
