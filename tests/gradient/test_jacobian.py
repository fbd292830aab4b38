"""Jacobians and Hessians: values, shapes, containers, what is disconnected, both modes, compiled code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.errors import DisconnectedInputError, NullTypeGradError
from aotensor.gradient import grad, grad_clip, hessian, jacobian, numeric_grad, undefined_grad
from aotensor.graph.variable import Variable
from aotensor.graph.walk import evaluate_all, toposort
from aotensor.ops.diagonal import Band

E = np.array([1.0, 2.0, 3.0])
GRID = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


@pytest.mark.shows("gradient/13-jacobian", "gradient/13-jacobian-constant")
def test_values() -> None:
    v, h = at.dvector("v"), at.sin(at.dvector("v"))
    np.testing.assert_array_equal(jacobian(v**2, v).eval({v: E}), np.diag(2 * E))
    h = at.sin(v)
    found = jacobian(v * h, v, consider_constant=[h]).eval({v: E})
    np.testing.assert_array_equal(found, np.diag(np.sin(E)))
    found = jacobian(v * h, v, consider_constant=(one for one in [h])).eval({v: E})
    np.testing.assert_array_equal(found, np.diag(np.sin(E)))


@pytest.mark.shows("gradient/6-rank", "gradient/6-shape")
def test_shapes() -> None:
    v, x, m = at.dvector("v"), at.dscalar("x"), at.dmatrix("m")
    outer = jacobian(at.outer(v, v), v).eval({v: E})
    assert outer.shape == (3, 3, 3)
    np.testing.assert_array_equal(outer[0, 2], [3, 0, 1])
    np.testing.assert_array_equal(outer, outer.transpose(1, 0, 2))
    columns = jacobian(m.sum(0), m).eval({m: GRID})
    np.testing.assert_array_equal(columns, np.broadcast_to(np.eye(3)[:, None], (3, 2, 3)))
    doubled = jacobian(2 * m, m).eval({m: GRID})
    np.testing.assert_array_equal(doubled, 2 * np.eye(6).reshape(2, 3, 2, 3))
    np.testing.assert_array_equal(jacobian(at.stack([x**2]), x).eval({x: 3.0}), [6])
    np.testing.assert_array_equal(jacobian(x**2, x).eval({x: 3.0}), 6)
    np.testing.assert_array_equal(jacobian(at.sum(m**2), m).eval({m: GRID}), 2 * GRID)


@pytest.mark.shows("gradient/6-container", "gradient/6-wrt")
def test_container_follows_wrt() -> None:
    v, x = at.dvector("v"), at.dscalar("x")
    first, second = jacobian(v * x, [x, v])
    np.testing.assert_array_equal(first.eval({v: E}), E)
    np.testing.assert_array_equal(second.eval({v: E, x: 2.0}), 2 * np.eye(3))
    assert isinstance(jacobian(v * x, (v,)), tuple)
    assert jacobian(v, []) == []
    assert isinstance(hessian(at.sum(v**2), (v, v)), tuple)
    assert hessian(at.sum(v**2), []) == []
    twice = jacobian(v * x, [v, v])
    np.testing.assert_array_equal(twice[0].eval({x: 2.0, v: E}), twice[1].eval({x: 2.0, v: E}))


@pytest.mark.shows("gradient/6-disconnected")
def test_disconnected() -> None:
    v, w, x = at.dvector("v"), at.dvector("w"), at.dscalar("x")
    for absent in (w, x):
        with pytest.raises(DisconnectedInputError):
            jacobian(v**2, absent)
        with pytest.warns(UserWarning, match="does not depend"):
            jacobian(v**2, absent, disconnected_inputs="warn")
    found = jacobian(v**2, [v, w, x], disconnected_inputs="ignore")
    values = {v: E, w: np.ones(2), x: 1.0}
    assert [one.eval(values).shape for one in found] == [(3, 3), (3, 2), (3,)]
    np.testing.assert_array_equal(found[1].eval(values), np.zeros((3, 2)))
    with pytest.raises(DisconnectedInputError):
        hessian(at.sum(v**2), w)
    np.testing.assert_array_equal(
        hessian(at.sum(v**2), w, disconnected_inputs="ignore").eval({w: np.ones(2)}), np.zeros((2, 2))
    )


@pytest.mark.shows("gradient/6-empty-extents")
def test_extents_of_zero() -> None:
    v, w, m = at.dvector("v"), at.dvector("w"), at.dmatrix("m")
    assert jacobian(at.concatenate([v, w]), w).eval({v: E, w: np.zeros(0)}).shape == (3, 0)
    assert jacobian(at.dot(m, v), v).eval({m: np.zeros((0, 3)), v: E}).shape == (0, 3)
    assert jacobian(m.reshape((m.shape[0], -1)).T * 2, m).eval({m: np.zeros((2, 0))}).shape == (0, 2, 2, 0)
    assert hessian(at.sum(v**3), v).eval({v: np.zeros(0)}).shape == (0, 0)


@pytest.mark.shows("gradient/6-dtype")
def test_dtypes() -> None:
    v, f, i = at.dvector("v"), at.fvector("f"), at.ivector("i")
    assert jacobian(f * 2, f).dtype == "float32"
    assert jacobian(f * v, f).dtype == "float32"
    assert jacobian(at.cast(v, "float32") * 2, v).dtype == "float64"
    found = jacobian(i * i, i)
    assert found.dtype == "float64"
    np.testing.assert_array_equal(found.eval({i: np.array([1, 2], "int32")}), np.zeros((2, 2)))
    np.testing.assert_array_equal(jacobian(2.5 * i, i).eval({i: np.array([1, 2], "int32")}), 2.5 * np.eye(2))
    np.testing.assert_array_equal(jacobian(at.floor(v), v).eval({v: E}), np.zeros((3, 3)))
    short = at.fvector("short", shape=(2,))
    assert jacobian(at.outer(v, short), short).dtype == "float32"


@pytest.mark.shows("gradient/6-rank", "gradient/6-not-a-variable", "gradient/6-wrt")
def test_entry_is_checked() -> None:
    v, m, x = at.dvector("v"), at.dmatrix("m"), at.dscalar("x")
    for wrong in (E, 1.0, [v]):
        with pytest.raises(TypeError, match="must be a Variable"):
            jacobian(wrong, v)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="must be a Variable"):
            hessian(wrong, v)  # type: ignore[arg-type]
    for function, expression in ((jacobian, v**2), (hessian, at.sum(v**2))):
        with pytest.raises(TypeError, match="not a variable"):
            function(expression, [E])
        with pytest.raises(TypeError, match="a set"):
            function(expression, {v})
        with pytest.raises(TypeError, match="consider_constant"):
            function(expression, v, consider_constant=v)
        with pytest.raises(ValueError, match="'ignore', 'warn', 'raise'"):
            function(expression, v, disconnected_inputs="no")
    with pytest.raises(ValueError, match="scalar"):
        hessian(v**2, v)
    with pytest.raises(ValueError, match="must be a vector"):
        hessian(at.sum(m), m)
    with pytest.raises(ValueError, match="must be a vector"):
        hessian(x**2, x)
    for target in (v, x):
        with pytest.raises(NullTypeGradError):
            jacobian(undefined_grad(v * x), target)


@pytest.mark.shows("gradient/6-shape", "gradient/6-linear", "gradient/13-hessian", "gradient/13-hessian-two")
@pytest.mark.shows("gradient/13-hessian-linear")
def test_hessian() -> None:
    v, w = at.dvector("v"), at.dvector("w")
    np.testing.assert_array_equal(hessian(at.sum(v**3), v).eval({v: E}), np.diag(6 * E))
    first, second = hessian(at.sum(v**2 * w), [v, w])
    np.testing.assert_array_equal(first.eval({v: E, w: E + 1}), np.diag([4, 6, 8]))
    np.testing.assert_array_equal(second.eval({v: E, w: E + 1}), np.zeros((3, 3)))
    np.testing.assert_array_equal(hessian(at.sum(2 * v), v).eval({v: E}), np.zeros((3, 3)))
    u = v * w
    mixed = hessian(at.sum(u) ** 2, v, consider_constant=[u], disconnected_inputs="ignore")
    np.testing.assert_array_equal(mixed.eval({v: E, w: E}), np.zeros((3, 3)))


PROGRAMS: dict[str, tuple[Callable[..., Variable], list[Array]]] = {
    "softmax": (lambda m: at.softmax(m, axis=1), [GRID]),
    "layer": (lambda m, v: at.tanh(m @ v + 0.5), [GRID, E]),
    "prod": (lambda m: m.prod(axis=0), [GRID]),
    "norms": (lambda m: at.stack([m.norm(axis=1).sum(), m.var(), m.max()]), [GRID]),
    "window": (lambda m, v: m[1:].set(v)[::-1, 1:] * v[0], [GRID, E]),
    "sorted": (lambda m: at.sort(m, axis=0).cumsum(axis=1), [GRID]),
    "diagonal": (lambda v: at.tril(at.diag(v) + at.outer(v, v)), [E]),
    "broadcast": (lambda m, v: (m[:, None] * v.dimshuffle(0, "x")).sum(axis=1), [GRID, E]),
    "reshaped": (lambda m: at.logsumexp(at.tile(m, (1, 2)).reshape((4, -1)), axis=1), [GRID]),
    "joined": (lambda m, v: at.concatenate([m, v[None] ** 2]).T @ at.concatenate([m, v[None]]), [GRID, E]),
}


@pytest.mark.shows("gradient/6-agree")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("is_static", [False, True])
def test_against_differences_and_rows(name: str, is_static: bool) -> None:
    """All Jacobians against finite differences, and row by row against grad."""
    build, arrays = PROGRAMS[name]
    variables = [at.tensor(f"x{k}", shape=a.shape if is_static else (None,) * a.ndim) for k, a in enumerate(arrays)]
    expression = build(*variables)
    values = dict(zip(variables, arrays, strict=True))
    found = evaluate_all(jacobian(expression, variables), values)
    shape = expression.eval(values).shape
    for at_element in np.ndindex(shape):
        rows = evaluate_all(grad(expression[at_element], variables), values)
        for whole, row in zip(found, rows, strict=True):
            np.testing.assert_allclose(whole[at_element], row, rtol=1e-12, atol=1e-14)
        differences = numeric_grad(
            lambda *xs, e=at_element: expression[e].eval(dict(zip(variables, xs, strict=True))), arrays
        )
        for whole, row in zip(found, differences.gf, strict=True):
            np.testing.assert_allclose(whole[at_element], row, rtol=1e-5, atol=1e-5)


def test_the_shorter_side_is_swept() -> None:
    """Two parameters and any number of residuals: the tangents of two columns, not the cotangents of all rows."""
    t = at.dvector("t", shape=("n",))
    scale, p = at.dscalar("scale"), at.dvector("p", shape=(2,))
    residuals = at.exp(-p[0] * t) * p[1] * scale
    times = np.linspace(0, 1, 5)
    by_scale, by_p = jacobian(residuals, [scale, p])
    values = {t: times, scale: 3.0, p: np.array([0.5, 2.0])}
    np.testing.assert_allclose(by_scale.eval(values), 2 * np.exp(-0.5 * times))
    assert _identities(by_scale) == []
    assert by_p.eval(values).shape == (5, 2)
    assert _identities(by_p) == [("n", "n")]
    matrix = at.outer(p, at.concatenate([p, p]))
    found = jacobian(matrix, p)
    assert _identities(found) == [(2, 2)]
    np.testing.assert_array_equal(
        found.eval(values),
        np.stack([grad(matrix[i, j], p).eval(values) for i in range(2) for j in range(4)]).reshape(2, 4, 2),
    )
    square = at.dmatrix("q", shape=(1, 2))
    wide = at.concatenate([square.T @ square, square])
    rows = [grad(wide[i, j], square) for i in range(3) for j in range(2)]
    expected = np.stack(evaluate_all(rows, {square: GRID[:1, :2]})).reshape(3, 2, 1, 2)
    np.testing.assert_array_equal(jacobian(wide, square).eval({square: GRID[:1, :2]}), expected)


def _identities(x: Variable) -> list[tuple[int | str | None, ...]]:
    return [node.op.dims for node in toposort([x]) if isinstance(node.op, Band)]


def test_a_clipped_cotangent_is_clipped_in_every_row() -> None:
    x, v = at.dscalar("x"), at.dvector("v")
    found = jacobian(5 * v * grad_clip(x, -1, 1), x)
    np.testing.assert_array_equal(found.eval({v: E, x: 2.0}), [1, 1, 1])


def _logistic() -> tuple[list[Variable], Variable]:
    X, y, w = at.dmatrix("X", shape=("n", "p")), at.dvector("y", shape=("n",)), at.dvector("w", shape=("p",))
    return [X, y, w], at.softplus(-y * (X @ w)).sum() + 0.5 * at.dot(w, w)


def test_hessian_of_logistic_regression(rng: np.random.Generator) -> None:
    """Xᵀ·diag(s(1 − s))·X + 1 for s = sigmoid(X·w), by the reference and compiled, for two sizes."""
    inputs, loss = _logistic()
    f = aot.function(inputs, {"loss": loss, "hessian": hessian(loss, inputs[2])}, name="logistic_hessian")
    for n, p in ((7, 3), (4, 5)):
        X, y, w = rng.normal(size=(n, p)), rng.choice([-1.0, 1.0], n), rng.normal(size=p)
        s = 1 / (1 + np.exp(-X @ w))
        expected = X.T @ (X * (s * (1 - s))[:, None]) + np.eye(p)
        np.testing.assert_allclose(hessian(loss, inputs[2]).eval(dict(zip(inputs, (X, y, w), strict=True))), expected)
        np.testing.assert_allclose(f(X, y, w)["hessian"], expected, rtol=1e-12)


def test_compiled_is_reference() -> None:
    """Every program of the table, with unknown extents, as one library."""
    for name, (build, arrays) in PROGRAMS.items():
        variables = [at.tensor(f"x{k}", shape=(None,) * a.ndim) for k, a in enumerate(arrays)]
        f = aot.function(variables, list(jacobian(build(*variables), variables)), name=f"jacobian_{name}")
        for found, expected in zip(f(*arrays), f.reference(*arrays), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
