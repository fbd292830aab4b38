"""NumPy's functions on symbols: NumPy on arrays says what they mean; what has no counterpart is refused by name."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.special
from numpy.testing import assert_array_equal, overrides

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.methods.numpy_names import HINTS, IGNORED, PARAMETERS
from aotensor.graph.methods.numpy_protocol import _parameters
from aotensor.graph.public import NUMPY
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
    (lambda x, y: [np.dot(x, y), np.dot(T.mT, y), np.dot(x, W)], [G, T[:, :3].repeat(2, 0)]),
    (lambda x, y: [np.dot(3.0, x), np.dot(W, y)], [G, T[:, :3].repeat(2, 0)]),
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


@pytest.mark.shows("tensor/0-numpy-functions")
@pytest.mark.parametrize("number", range(len(CALLS)))
def test_functions_do_what_they_say(number: int, pytestconfig: pytest.Config) -> None:
    call, arrays = CALLS[number]
    check(call, *arrays, compiles=number % 5 == 0 or pytestconfig.getoption("--all"))


SAMPLES: dict[str, list[np.ndarray]] = {
    "arccosh": [W + 1],
    **{name: [U] for name in ("arctanh", "arcsin", "arccos", "log", "log2", "log10", "log1p", "sqrt")},
    **{name: [K, J] for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    **{name: [K, np.abs(J) % 8] for name in ("left_shift", "right_shift")},
    **{name: [K] for name in ("invert", "bitwise_count")},
    "power": [U, W],
    "float_power": [W, J],
    "clip": [V, np.array(0.0), np.array(1.0)],
    "matmul": [G, G],
    "matvec": [G, V],
    "vecmat": [V, G],
}


def ufuncs() -> list[np.ufunc]:
    """Those of arrays of numbers; those of texts have types of their own."""
    found = {u.__name__: u for u in overrides.get_overridable_numpy_ufuncs() if hasattr(np, u.__name__)}
    return [found[name] for name in sorted(found)]


@pytest.mark.parametrize("ufunc", ufuncs(), ids=lambda u: u.__name__)
def test_every_ufunc_does_what_it_says_or_is_refused_by_name(ufunc: np.ufunc, pytestconfig: pytest.Config) -> None:
    if ufunc.__name__ not in REFUSED_UFUNCS:
        arrays = SAMPLES.get(ufunc.__name__, [V, W][: ufunc.nin])
        return check(ufunc, *arrays, compiles=ufunc.nout > 1 or pytestconfig.getoption("--all"))
    with pytest.raises(GraphTypeError, match=f"numpy.{ufunc.__name__} does not accept symbolic variables") as found:
        ufunc(*[at.vector("x")] * ufunc.nin)
    assert found.value.diagnostic.hint
    return None


REFUSED_UFUNCS = {
    "copysign", "frexp", "gcd", "heaviside", "isnat", "lcm", "ldexp",
    "modf", "nextafter", "signbit", "spacing",
}  # fmt: skip


SCIPY_SAMPLES: dict[str, list[np.ndarray]] = {
    **{name: [W, W + 0.5, U] for name in ("betainc", "betaincinv")},
    **{name: [W, U] for name in ("gammaincinv", "gammainccinv")},
    **{name: [U] for name in ("logit", "ndtri", "erfinv", "erfcinv")},
    "hyp2f1": [W, W + 0.5, W + 1, U / 2],
    "kn": [J, W],
}


OF_SCIPY = {name.removeprefix("scipy.special.") for name in NUMPY if name.startswith("scipy.special.")}


@pytest.mark.parametrize("name", sorted(OF_SCIPY))
def test_functions_of_scipy_do_what_they_say(name: str, pytestconfig: pytest.Config) -> None:
    ufunc = getattr(scipy.special, name)
    check(ufunc, *SCIPY_SAMPLES.get(name, [U, W][: ufunc.nin]), compiles=pytestconfig.getoption("--all"))


@pytest.mark.shows("tensor/2-aliases")
def test_functions_of_one_name_stand_for_those_of_scipy() -> None:
    theirs = {f.__name__ for f in vars(scipy.special).values() if isinstance(f, np.ufunc)}
    assert theirs & set(at.__all__) <= OF_SCIPY | {"round"}, "round is not the function of NumPy's name"


def name_of(function: Callable[..., Any]) -> str:
    module = function.__module__.partition(".")[2]
    return f"{module}.{function.__name__}" if module else function.__name__


def functions() -> list[Callable[..., Any]]:
    found = overrides.get_overridable_numpy_array_functions()
    return sorted(found, key=lambda f: f"{f.__module__}.{f.__name__}")


@pytest.mark.shows("tensor/0-numpy-functions")
@pytest.mark.parametrize("function", functions(), ids=lambda f: f"{f.__module__}.{f.__name__}")
def test_every_function_has_a_counterpart_or_is_refused_by_name(function: Callable[..., Any]) -> None:
    x = at.matrix("x")
    name = name_of(function)
    if name in NUMPY:
        return
    with pytest.raises(GraphTypeError) as found:
        x.__array_function__(function, [Variable], (x,), {})
    assert f"numpy.{name} does not accept symbolic variables" in str(found.value)
    assert found.value.diagnostic.hint


@pytest.mark.shows("tensor/2-aliases")
def test_functions_of_one_name_stand_for_each_other() -> None:
    """Who has `at.flip` expects `np.flip`; what means something else there has a hint."""
    ours = {name for name in at.__all__ if inspect.isroutine(getattr(at, name)) or hasattr(getattr(at, name), "row")}
    theirs = {f.__name__ for f in functions() if f.__module__ == "numpy"}
    assert ours & theirs <= NUMPY.keys() | HINTS.keys()
    assert NUMPY.keys().isdisjoint(HINTS)
    ufuncs = {f.__name__ for f in vars(np).values() if isinstance(f, np.ufunc)}
    assert ours & ufuncs <= NUMPY.keys()


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: [np.cross(x, y), np.cross(x, y[0]), np.cross(x[0], y, axisc=0), np.cross(x[:, 0], y)],
        lambda x, y: [np.cross(x, y, axis=0), np.cross(x, y, 0, 1), np.cross(x, y, 1, 0, 0)],
        lambda x, y: [np.linalg.cross(x, y), np.linalg.cross(x, y, axis=0)],
        lambda x, y: [*np.array_split(x, 2), *np.array_split(y, 5, axis=1), *np.array_split(y[0], 4)],
    ],
)
def test_functions_of_known_extents(call: Callable[..., Any]) -> None:
    x, y = at.matrix("x", shape=(3, 3)), at.matrix("y", shape=(3, 3))
    for found, wanted in zip(aot.function([x, y], call(x, y)).reference(G, G.T - 1), call(G, G.T - 1), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-14)


def test_products_of_vectors_in_the_plane() -> None:
    x, y = at.matrix("x", shape=(3, 2)), at.matrix("y", shape=(3, 3))
    f = aot.function([x, y], [np.cross(x, x[::-1]), np.cross(x, y)])
    padded = np.concatenate([G[:, :2], np.zeros((3, 1))], axis=1)
    plane, space = f.reference(G[:, :2], G)
    np.testing.assert_allclose(plane, np.cross(padded, padded[::-1])[:, 2])
    np.testing.assert_allclose(space, np.cross(padded, G))


def test_the_dtype_of_a_sum() -> None:
    assert np.result_type(at.vector("x", dtype="float32"), at.vector("i", dtype="int64"), np.int8) == "float64"
    assert np.result_type(at.zvector("z")) == "complex128"


def test_identity_like_a_symbol_is_the_matrix() -> None:
    """`np.identity` is the matrix, not the op that copies."""
    assert_array_equal(np.identity(2, like=at.vector("x")).eval(), np.eye(2))


def test_shared_options_have_the_same_defaults() -> None:
    """What a caller of NumPy leaves out means with us what it means there."""
    for function in functions():
        name = name_of(function)
        if not inspect.isfunction(NUMPY.get(name)):
            continue
        ours, theirs = _parameters(NUMPY[name]), _parameters(function)
        assert ours is not None and theirs is not None
        for key, parameter in theirs.items():
            own = PARAMETERS.get(f"{name}.{key}", key)
            is_shared = own in ours and own not in IGNORED and own != "dtype"  # that of NumPy is float, ours floatX
            if is_shared and parameter.default not in (parameter.empty, np._NoValue, None):
                assert ours[own].default == parameter.default, (name, key)


X, Y, S = at.vector("x"), at.matrix("y"), sp.csr_matrix("S")

REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: np.asarray(X), "the symbolic variable x has no values"),
    (lambda: np.array([X, 1]), "the symbolic variable x has no values"),
    (lambda: np.array([1.0, X]), "the symbolic variable x has no values"),
    (lambda: np.ones((2, 2)).dot(X), "the symbolic variable x has no values"),
    (lambda: np.sin(X, out=np.zeros(3)), "numpy.sin: out="),
    (lambda: np.sin(X, where=np.array([True])), "numpy.sin: where="),
    (lambda: np.add(X, X, dtype="float32"), "numpy.add: dtype="),
    (lambda: np.sum(X, out=np.zeros(())), "numpy.sum: out="),
    (lambda: np.sum(X, initial=3), "numpy.sum: initial="),
    (lambda: np.sum(X, where=X > 0), "numpy.sum: where="),
    (lambda: np.add.reduce(X, initial=1), "numpy.add.reduce: initial="),
    (lambda: np.add.reduceat(X, [0, 1]), "numpy.add.reduceat does not accept symbolic"),
    (lambda: np.add.at(np.zeros(3), [0, 1], X), "numpy.add.at does not accept symbolic"),
    (lambda: np.arctan2.accumulate(X), "numpy.arctan2.accumulate does not accept symbolic"),
    (lambda: np.reshape(X, (2, 2), order="F"), "numpy.reshape: order="),
    (lambda: np.ravel(X, order="F"), "numpy.ravel: order="),
    (lambda: np.diff(X, prepend=0), "numpy.diff: prepend="),
    (lambda: np.sort(X, order="f"), "numpy.sort: order="),
    (lambda: np.nanpercentile(X, 5), "numpy.nanpercentile does not accept symbolic"),
    (lambda: np.fft.fft(X, out=np.zeros(3)), "numpy.fft.fft: out="),
    (lambda: np.einsum(Y, 3), "numpy.einsum: expected a list of axes after each operand, found 3"),
    (lambda: np.einsum(Y, [0, 52]), "numpy.einsum: axis 52 is not a number below 52"),
    (lambda: np.select([X > 0], []), "select: 1 conditions for 0 choices"),
    (lambda: np.array_split(X, 2), "array_split: the extent is not known"),
    (lambda: np.array_split(X, 0), "array_split: 0 parts"),
    (lambda: np.cross(Y, Y), "cross: expected 2 or 3 components"),
    (lambda: scipy.special.y0(X), "scipy.special.y0 does not accept symbolic"),
    (lambda: scipy.special.erf(X, out=np.zeros(3)), "scipy.special.erf: out="),
    (lambda: scipy.special.beta.reduce(X), "scipy.special.beta.reduce does not accept symbolic"),
    (lambda: np.linalg.cond(Y), "numpy.linalg.cond does not accept symbolic"),
    (lambda: np.quantile(X, 0.5, weights=X, method="inverted_cdf"), "numpy.quantile: weights="),
    (lambda: np.lib.scimath.sqrt(X), "numpy.lib.scimath.sqrt does not accept symbolic"),
    (lambda: np.save("file", X), "numpy.save does not accept symbolic"),
    (lambda: np.copyto(np.zeros(3), X), "numpy.copyto does not accept symbolic"),
    (lambda: np.fill_diagonal(Y, 0), "symbols do not change"),
    (lambda: np.arange(X), "is not an int|has no values|is not a"),
    (lambda: np.concatenate([S, S]), "expected a dense tensor, found a sparse matrix"),
    (lambda: np.exp(S), "not defined for sparse matrices"),
    (lambda: scipy.sparse.csr_matrix(np.eye(2)).multiply(X), "the symbolic variable x has no values"),
    (lambda: scipy.sparse.csr_matrix(np.eye(2)) == X, "the symbolic variable x has no values"),
    (lambda: np.ones((1, 1)).view(np.matrix) * X, "np.matrix"),
    (lambda: np.ma.array([1.0, 2.0], mask=[0, 1]) + X, "has no values"),
    (lambda: X + np.ma.array([1.0, 2.0], mask=[0, 1]), "masked"),
    (lambda: np.ma.sum(X), "has no values"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_is_refused_by_name(call: Callable[[], Any], text: str) -> None:
    with pytest.raises((GraphTypeError, GraphValueError), match=text) as found:
        call()
    assert found.value.diagnostic.hint


def test_an_array_does_not_become_a_symbol_in_place() -> None:
    array = np.ones(3)
    with pytest.raises(GraphTypeError, match=r"numpy.add: out="):
        array += X


def test_sparse_symbols() -> None:
    """Methods of a sparse matrix, and structured functions, say what NumPy's functions mean for it."""
    rng = np.random.default_rng(1)
    data = scipy.sparse.random(4, 4, 0.5, format="csr", rng=rng)
    dense, d = data.toarray(), rng.normal(size=(4, 4))
    D = at.matrix("D")
    f = aot.function(
        [S, D],
        [np.sin(S), np.sum(S), np.sum(S, axis=0), np.max(S), np.transpose(S), np.add(S, S), np.matmul(S, D),
         np.dot(d, S), d + S, d * S, d @ S, np.multiply(S, D), np.abs(S), np.shape(S), np.trace(S), np.mean(S, axis=1)],
    )  # fmt: skip
    expected = [
        np.sin(dense), dense.sum(), dense.sum(axis=0), dense.max(), dense.T, 2 * dense, dense @ d, d @ dense, d + dense,
        d * dense, d @ dense, d * dense, abs(dense), dense.shape, dense.trace(), dense.mean(axis=1),
    ]  # fmt: skip
    for value, want in zip(f(data, d), expected, strict=True):
        np.testing.assert_allclose(value.toarray() if scipy.sparse.issparse(value) else value, want, atol=1e-14)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        d / S
    assert [w.filename for w in caught] == [__file__]


def test_scipys_operators_leave_the_work_to_symbols() -> None:
    data = np.array([[1.0, 0.0], [2.0, 3.0]])
    matrix, x = scipy.sparse.csr_array(data), np.array([5.0, 7.0])
    v = at.vector("v")
    f = aot.function([v], [matrix @ v, matrix.dot(v), matrix + v[None, :], matrix * v, matrix / v, matrix < v[None, :]])
    expected = [data @ x, data @ x, data + x, data * x, data / x, data < x]
    for value, want in zip(f(x), expected, strict=True):
        np.testing.assert_allclose(value.toarray() if scipy.sparse.issparse(value) else value, want)


METHODS = [
    "abs", "arccos", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "conj", "conjugate", "cos", "cosh",
    "deg2rad", "exp", "exp2", "expm1", "floor", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2",
    "rad2deg", "reciprocal", "rint", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
]  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_elementary_functions_are_methods(name: str) -> None:
    x = at.vector("x")
    np.testing.assert_allclose(getattr(x, name)().eval({x: U}), getattr(np, name)(U), rtol=1e-14)


def test_pythons_round_is_numpys() -> None:
    x = at.vector("x")
    np.testing.assert_allclose(round(x, 1).eval({x: V * 7.77}), np.round(V * 7.77, 1))
    np.testing.assert_allclose(round(x).eval({x: V}), np.round(V))


REFUSALS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda x: x.__setitem__(0, 1), "set_subtensor"),
    (lambda x: x.__delitem__(0), "join the slices"),
    (lambda x: range(x.shape[0]), "scan"),
    (lambda x: [1, 2, 3][x[0].astype("int64")], "eval"),
    (lambda x: list(x), "scan"),
    (lambda x: float(x[0]), "eval"),
    (lambda x: f"{x[0]:.3f}", "eval"),
    (lambda x: int(x[0]), "eval"),
    (lambda x: complex(x[0]), "eval"),
    (lambda x: bool(x[0]), "switch"),
    (lambda x: 1.0 in x, "eq"),
    (lambda x: len(x), "scan"),
    (lambda x: math.sin(x[0]), "replace those of math"),
]  # fmt: skip


@pytest.mark.shows("tensor/0-text")
@pytest.mark.parametrize(("call", "hint"), REFUSALS, ids=range(len(REFUSALS)))
def test_what_python_asks_of_a_value_is_refused_with_a_hint(call: Callable[[Any], Any], hint: str) -> None:
    with pytest.raises(GraphTypeError) as found:
        call(at.vector("x"))
    assert hint in (found.value.diagnostic.hint or "")
