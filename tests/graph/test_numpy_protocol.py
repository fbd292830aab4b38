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
from numpy_calls import CALLS, G, J, K, U, V, W, check

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.methods.numpy_names import HINTS, IGNORED, PARAMETERS
from aotensor.graph.methods.numpy_protocol import _parameters
from aotensor.graph.public import NUMPY
from aotensor.graph.variable import Variable


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
