"""Ceres Solver: residuals by ctypes, bundle adjustment in C++, a stand-in for GTSAM, and what is refused."""

from __future__ import annotations

import ctypes
import itertools
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from needs import path_of
from scipy.spatial.transform import Rotation

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import AotensorError, GraphTypeError, GraphValueError, UnsupportedError
from aotensor.graph.variable import Variable
from aotensor_runtime.container import Container

Array = np.ndarray[Any, np.dtype[np.float64]]

pytestmark = pytest.mark.level("ci", "its library takes 4 s to compile")


def reprojection() -> aot.Function:
    """The error of a point in an image.   camera: rotation, translation, focal length and distortion, as in BAL"""
    camera, point, seen = (at.vector(name, shape=(n,)) for name, n in (("camera", 9), ("point", 3), ("seen", 2)))
    square = at.dot(camera[:3], camera[:3])
    is_small = square < 1e-20
    angle = at.sqrt(at.where(is_small, 1.0, square))
    axis = camera[:3] / angle

    def cross(a: Variable) -> Variable:
        return at.stack([a[i] * point[j] - a[j] * point[i] for i, j in ((1, 2), (2, 0), (0, 1))])

    turned = point * at.cos(angle) + cross(axis) * at.sin(angle) + axis * at.dot(axis, point) * (1 - at.cos(angle))
    moved = at.where(is_small, point + cross(camera[:3]), turned) + camera[3:6]
    x = -moved[:2] / moved[2]
    r = at.dot(x, x)
    error = camera[6] * (1 + r * (camera[7] + camera[8] * r)) * x - seen
    return aot.function([camera, point, aot.In(seen, data=True)], error, name="reproject")


def projected(camera: Array, point: Array) -> Array:
    moved = Rotation.from_rotvec(camera[:3]).apply(point) + camera[3:6]
    x = -moved[:2] / moved[2]
    return np.asarray(camera[6] * (1 + camera[7] * (x @ x) + camera[8] * (x @ x) ** 2) * x)


def smooth() -> aot.Function:
    """Four blocks, with data of other kinds between them."""
    a, b, c, d = (at.vector(name, shape=(n,)) for name, n in zip("abcd", (2, 3, 1, 2), strict=True))
    weights, choice = at.matrix("W", shape=(3, 2)), at.vector("choice", dtype="int32", shape=(2,))
    error = at.dot(weights, a * d) + at.exp(b) * c[0] + at.sin(a[choice[0]]) * d[choice[1]]
    inputs = [a, aot.In(weights, data=True), b, c, aot.In(choice, data=True), d]
    return aot.function(inputs, error, name="smooth")


def of_smooth(a: Array, b: Array, c: Array, d: Array, weights: Array, choice: Array) -> Array:
    return np.asarray(weights @ (a * d) + np.exp(b) * c[0] + np.sin(a[choice[0]]) * d[choice[1]])


def attitude() -> aot.Function:
    q, p = at.vector("q", shape=(4,)), at.vector("p", shape=(3,))
    inputs = [aot.In(q, manifold="quaternion"), aot.In(p, manifold="sphere")]
    return aot.function(inputs, q[:3] * p + q[3], name="attitude")


def long_residual() -> aot.Function:
    """More residuals than have a sweep each."""
    x, points = at.vector("x", shape=(2,)), at.vector("points", shape=(10,))
    return aot.function([x, aot.In(points, data=True)], x[0] * at.exp(x[1] * points), name="decay")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> aot.driver.artifact.Artifact:
    folder = tmp_path_factory.mktemp("ceres")
    return aot.compile(
        [reprojection(), smooth(), attitude(), long_residual()], folder, abi="ceres", name="bal", opt_level=0
    )


Doubles = ctypes.POINTER(ctypes.c_double)


def pointers(arrays: list[Array | None]) -> Any:
    kind = ctypes.c_void_p * len(arrays)
    return kind(*(None if x is None else x.ctypes.data for x in arrays))


def by_differences(f: Callable[..., Array], blocks: list[Array], k: int) -> Array:
    """∂f/∂block k by central differences of fourth order."""

    def at_step(j: int, h: float) -> Array:
        return f(*(x + h * np.eye(len(x))[j] if i == k else x for i, x in enumerate(blocks)))

    h = 1e-3
    columns = [
        (8 * (at_step(j, h) - at_step(j, -h)) - (at_step(j, 2 * h) - at_step(j, -2 * h))) / (12 * h)
        for j in range(len(blocks[k]))
    ]
    return np.stack(columns, axis=1)


REPROJECT = [np.array([0.1, -0.2, 0.3, 0.5, -0.4, -6, 5, -1e-2, 1e-3]), np.array([0.3, 0.2, -1])]
SEEN = np.array([0.5, 0.25])
SMOOTH = [np.array(x) for x in ([0.5, -1.0], [0.1, 0.2, 0.3], [2.0], [1.5, 0.7])]
DATA = [np.arange(6.0).reshape(3, 2), np.array([1, 0], np.int32)]
TIMES = np.linspace(0, 3, 10)
CASES = {
    "reproject": (REPROJECT, [SEEN], lambda *blocks: projected(*blocks) - SEEN),
    "decay": ([np.array([2.0, -0.5])], [TIMES], lambda x: x[0] * np.exp(x[1] * TIMES)),
    "smooth": (SMOOTH, DATA, lambda *blocks: of_smooth(*blocks, *DATA)),
}


@pytest.mark.parametrize("name", CASES)
def test_each_subset_of_jacobians(made: aot.driver.artifact.Artifact, name: str) -> None:
    blocks, data, f = CASES[name]
    entry, expected = ctypes.CDLL(str(made.library))[f"{name}_ceres"], f(*blocks)
    slopes = [by_differences(f, blocks, k) for k in range(len(blocks))]
    for wanted in itertools.product((True, False), repeat=len(blocks)):
        residuals, jacobians = np.zeros(len(expected)), [np.full_like(x, np.nan) for x in slopes]
        given = pointers([x if w else None for x, w in zip(jacobians, wanted, strict=True)])
        assert entry(pointers(data), pointers(blocks), residuals.ctypes.data_as(Doubles), given) == 1
        np.testing.assert_allclose(residuals, expected, rtol=1e-13)
        for found, slope, is_wanted in zip(jacobians, slopes, wanted, strict=True):
            np.testing.assert_allclose(found, slope if is_wanted else np.nan, rtol=1e-9, atol=1e-9)
    residuals[:] = 0
    assert entry(pointers(data), pointers(blocks), residuals.ctypes.data_as(Doubles), None) == 1
    np.testing.assert_allclose(residuals, expected, rtol=1e-13)


def test_null_pointers(made: aot.driver.artifact.Artifact) -> None:
    entry, out = ctypes.CDLL(str(made.library)).reproject_ceres, (ctypes.c_double * 2)()
    data, blocks = pointers([SEEN]), pointers(list(REPROJECT))
    assert entry(data, blocks, out, None) == 1
    for wrong in ((None, blocks, out), (data, None, out), (data, blocks, None)):
        assert entry(*wrong, None) == 0
    assert entry(pointers([None]), blocks, out, None) == 0
    assert entry(data, pointers([None, REPROJECT[1]]), out, None) == 0


def test_manifest_and_headers(made: aot.driver.artifact.Artifact) -> None:
    manifest = Container(made.library.read_bytes()).manifest()
    assert [x.is_data for x in manifest.function("reproject").inputs] == [False, False, True]
    assert [x.manifold for x in manifest.function("attitude").inputs] == ["quaternion", "sphere"]
    (interface,) = manifest.interfaces
    assert interface.symbols == ("reproject_ceres", "smooth_ceres", "attitude_ceres", "decay_ceres")
    names = {spec.name for spec in manifest.functions}
    assert {"reproject_d", "reproject_d_camera", "reproject_d_point", "smooth_d", "smooth_d_a"} <= names
    assert "smooth_d_a_b" not in names
    header = made.header.read_text()
    assert "seen    in  float64[2]  data, which solvers do not change" in header
    assert "int reproject_ceres(void *user_data, double **parameters, double *residuals, double **jacobians);" in header
    for_cpp = (made.header.parent / "bal_ceres.h").read_text()
    assert "ceres::SizedCostFunction<3, 2, 3, 1, 2>" in for_cpp and "new ceres::SphereManifold<3>()" in for_cpp
    assert "class smooth_factor" in for_cpp and "class attitude_factor" not in for_cpp


X, Y, N = at.vector("x", shape=(3,)), at.vector("y", shape=(3,), dtype="float32"), at.vector("z", shape=("n",))
M, S = at.matrix("M", shape=(3, 3)), aot.shared(np.ones(3), "s")


def made_of(inputs: list[Any], output: Any) -> aot.Function:
    return aot.function(inputs, output, name="f", on_unused_input="ignore")


REFUSED: list[tuple[Callable[[], aot.Function], type[AotensorError], str]] = [
    (lambda: made_of([N], N), GraphTypeError, r"z of f is float64\[n\], not a float64 vector of static length"),
    (lambda: made_of([Y], Y), GraphTypeError, r"y of f is float32\[3\], not a float64 vector of static length"),
    (lambda: made_of([M], M[0]), GraphTypeError, r"M of f is float64\[3, 3\], not a float64 vector"),
    (lambda: made_of([X], X[X > 0]), GraphTypeError, r"the residual of f is float64\[\?\], not a float64 vector"),
    (lambda: made_of([X], X.sum()), GraphTypeError, r"the residual of f is float64, not a float64 vector"),
    (lambda: made_of([X], [X, X]), GraphTypeError, "f has 2 outputs, and a residual is one vector"),
    (lambda: made_of([aot.In(X, data=True)], X), GraphValueError, "f has no parameter blocks: all of its inputs"),
    (lambda: made_of([X, aot.In(N, data=True)], X), GraphTypeError, r"z of f is float64\[n\], not a dense array"),
    (lambda: made_of([X], X * S), GraphValueError, "f has shared variables, s"),
    (lambda: made_of([aot.In(X, manifold="line")], X), GraphValueError, "its manifold line needs vectors of an even"),
    (lambda: made_of([X], at.linalg.svd(at.outer(X, X), compute_uv=False)), UnsupportedError, "needs LAPACK's dgesdd"),
]


@pytest.mark.parametrize(("make", "error", "message"), REFUSED)
def test_what_is_refused(
    make: Callable[[], aot.Function], error: type[AotensorError], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        aot.compile(make(), tmp_path, abi="ceres", opt_level=0)


def test_wishes_that_contradict() -> None:
    with pytest.raises(GraphValueError, match="manifold 'torus' is unknown"):
        aot.In(X, manifold="torus")
    with pytest.raises(GraphValueError, match="contradict each other"):
        aot.In(X, data=True, manifold="sphere")


def problem(path: Path, cameras: int = 5, points: int = 40) -> None:
    """A problem in BAL's format: every camera sees every point, with noise; it starts some percent off."""
    rng = np.random.default_rng(7)
    camera = rng.normal(0, 0.1, (cameras, 9))
    camera[:, 5] -= 6
    camera[:, 6:] = [500, -1e-2, 1e-3]
    point = rng.uniform(-1, 1, (points, 3))
    lines = [f"{cameras} {points} {cameras * points}"]
    for i, j in itertools.product(range(cameras), range(points)):
        u, v = projected(camera[i], point[j]) + rng.normal(0, 0.5, 2)
        lines.append(f"{i} {j} {u} {v}")
    first = camera * (1 + rng.normal(0, 0.01, camera.shape)), point + rng.normal(0, 0.02, point.shape)
    first[0][0], first[1][0] = camera[0], point[0]  # these are held
    start = [x for part in first for x in part.ravel()]
    path.write_text("\n".join([*lines, *map(repr, map(float, start))]) + "\n")


def compiled(source: Path, made: aot.driver.artifact.Artifact, folder: Path, *flags: str) -> None:
    where = made.library.parent
    options = ["-std=c++17", "-Wall", "-Wextra", "-Werror", f"-I{where}", "-isystem", "/usr/include/eigen3"]
    command = [path_of("c++"), *options, str(source), str(made.library), f"-Wl,-rpath,{where}", *flags]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.needs("ceres", "c++")
@pytest.mark.unlimited("the one problem that Ceres solves", "ci")
def test_bundle_adjustment(made: aot.driver.artifact.Artifact, tmp_path: Path) -> None:
    source = Path(__file__).with_name("bundle_adjustment.cpp")
    compiled(source, made, tmp_path, "-lceres", "-lglog", "-o", "adjust")
    problem(tmp_path / "problem.txt")
    done = subprocess.run(["./adjust", "problem.txt"], cwd=tmp_path, capture_output=True, text=True, check=True)
    jets, by_jets, ours, by_ours = (np.array(line.split(), float) for line in done.stdout.splitlines())
    assert jets[1] == ours[1] > 3
    # 400 residuals with a deviation of 0.5, less the number of parameters that were adjusted
    assert 0.25 * (400 - 36 - 117) * 0.7 < jets[0] < 0.25 * (400 - 36 - 117) * 1.3
    np.testing.assert_allclose(ours[0], jets[0], rtol=1e-10)
    np.testing.assert_allclose(by_ours, by_jets, rtol=1e-6, atol=1e-8)


STAND_IN = """\
#include <Eigen/Core>
#include <memory>
namespace gtsam {
using Key = unsigned long;
using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;
using SharedNoiseModel = std::shared_ptr<int>;
using OptionalMatrixType = Matrix *;
struct NonlinearFactor {
  using shared_ptr = std::shared_ptr<NonlinearFactor>;
  virtual ~NonlinearFactor() = default;
  virtual shared_ptr clone() const = 0;
};
template <class T> using matrix_of = OptionalMatrixType;
template <class T> using key_of = Key;
template <class... T> struct NoiseModelFactorN : NonlinearFactor {
  NoiseModelFactorN(const SharedNoiseModel &, key_of<T>...) {}
  virtual Vector evaluateError(const T &..., matrix_of<T>...) const = 0;
};
}
"""
FACTORS = """\
#define AOTENSOR_WITH_GTSAM
#define AOTENSOR_WITHOUT_CERES
#include <cstdio>
#include "bal_ceres.h"
int main() {
  double seen[] = {0.5, 0.25};
  reproject_factor factor(nullptr, 1, 2, seen);
  Eigen::Matrix<double, 9, 1> camera;
  camera << 0.1, -0.2, 0.3, 0.5, -0.4, -6, 5, -1e-2, 1e-3;
  gtsam::Matrix by_point;
  gtsam::Vector error = factor.evaluateError(camera, Eigen::Vector3d(0.3, 0.2, -1), nullptr, &by_point);
  std::printf("%.17g %.17g", error[0], error[1]);
  for (int k = 0; k < 6; ++k) std::printf(" %.17g", by_point(k / 3, k % 3));
  return factor.clone() == nullptr;
}
"""


@pytest.mark.needs("ceres", "c++")
def test_factors_compile_against_the_documented_classes_of_gtsam(
    made: aot.driver.artifact.Artifact, tmp_path: Path
) -> None:
    folder = tmp_path / "gtsam" / "nonlinear"
    folder.mkdir(parents=True)
    (tmp_path / "gtsam" / "config.h").write_text("#define GTSAM_VERSION_NUMERIC 40300\n")
    (folder / "NonlinearFactor.h").write_text(STAND_IN)
    (tmp_path / "factors.cpp").write_text(FACTORS)
    compiled(tmp_path / "factors.cpp", made, tmp_path, f"-I{tmp_path}", "-o", "factors")
    found = np.array(subprocess.run(["./factors"], cwd=tmp_path, capture_output=True, check=True).stdout.split(), float)
    blocks, _, f = CASES["reproject"]
    np.testing.assert_allclose(found[:2], f(*blocks), rtol=1e-13)
    np.testing.assert_allclose(found[2:].reshape(2, 3), by_differences(f, blocks, 1), rtol=1e-9)
