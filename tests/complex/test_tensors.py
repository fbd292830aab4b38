"""Complex tensors in shapes, indices, reductions, products, loops, choices and state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at


def drawn(*shape: int) -> np.ndarray[Any, Any]:
    """A complex array of normal numbers."""
    pair = np.random.default_rng(sum(shape)).normal(size=(2, *shape))
    return np.asarray(pair[0] + 1j * pair[1])


@pytest.mark.shows("tensor/12-parts")
def test_everything_that_is_made_of_parts() -> None:
    z, A, x, i = at.zvector("z", shape=("n",)), at.zmatrix("A"), at.vector("x", shape=("n",)), at.lvector("i")
    a, M, c, k = drawn(5), drawn(4, 5), np.arange(5.0), np.array([3, 0, 3])
    S = scipy.sparse.random(3, 5, 0.6, format="csr", rng=np.random.default_rng(0))
    B = sp.csr_matrix("B", shape=("m", "n"))
    changed, raised = M.copy(), a.copy()
    changed[1:, 2] = 7j
    np.add.at(raised, k, 2)
    rows: dict[str, tuple[Any, Any]] = {
        "sum": (A.sum(axis=0), M.sum(axis=0)),
        "mean": (A.mean(axis=1), M.mean(axis=1)),
        "var": (z.var(), a.var()),
        "std": (A.std(axis=0), M.std(axis=0)),
        "prod": (A.prod(axis=1), M.prod(axis=1)),
        "prods": (A.prod(), M.prod()),
        "cumsum": (A.cumsum(axis=1), M.cumsum(axis=1)),
        "cumprod": (A.cumprod(axis=0), M.cumprod(axis=0)),
        "any": (at.any(A * 0), np.any(M * 0)),
        "norm": (at.norm(A), np.linalg.norm(M)),
        "norm1": (at.norm(z, 1), np.linalg.norm(a, 1)),
        "dot": (A @ z, M @ a),
        "real_left": (x @ z, c @ a),
        "real_right": (A @ x, M @ c),
        "gram": (A @ A.T.conj(), M @ M.T.conj()),
        "vecdot": (at.vecdot(z, z), np.vdot(a, a)),
        "outer": (at.outer(z, x), np.outer(a, c)),
        "einsum": (at.einsum("ij,kj->ik", A, A), np.einsum("ij,kj->ik", M, M)),
        "correlate": (at.correlate(z, x, "full"), np.correlate(a, c, "full")),
        "trace": (A.trace(), M.trace()),
        "numbers": (at.nan_to_num(at.complex(1 / x, x), posinf=7.0), np.append(7, 1 / c[1:]) + 1j * c),
        "transpose": (A.T, M.T),
        "reshape": (A.reshape((2, -1)), M.reshape((2, -1))),
        "slice": (A[::-1, 1::2], M[::-1, 1::2]),
        "take": (z[i], a[k]),
        "mask": (z[x > 1], a[c > 1]),
        "set": (at.set_subtensor(A[1:, 2], 7j), changed),
        "inc": (at.inc_subtensor(z[i], 2), raised),
        "join": (at.concatenate([z, x]), np.concatenate([a, c])),
        "stack": (at.stack([z, z]), np.stack([a, a])),
        "tile": (at.tile(z, 2), np.tile(a, 2)),
        "roll": (at.roll(z, 2), np.roll(a, 2)),
        "pad": (at.pad(z, 1), np.pad(a, 1)),
        "zeros": (at.zeros_like(z), 0 * a),
        "count": (z.shape[0] + A.size, 25),
        "triu": (at.triu(A), np.triu(M)),
        "sparse": (sp.dot(B, z), S @ a),
        "chosen": (at.ifelse(x.sum() > 0, z, 2 * z), a),
    }
    f = aot.function([z, A, x, i, B], {key: row for key, (row, _) in rows.items()}, name="of_parts")
    found, reference = f(a, np.asfortranarray(M), c, k, S), f.reference(a, M, c, k, S)
    for key, (_, wanted) in rows.items():
        assert found[key].dtype == np.asarray(wanted).dtype, key
        np.testing.assert_allclose(found[key], wanted, rtol=1e-13, atol=1e-14, err_msg=key)
        np.testing.assert_allclose(reference[key], wanted, rtol=1e-13, atol=1e-14, err_msg=key)


def test_empty_single_and_strided_arguments() -> None:
    z, w = at.cmatrix("z"), at.cmatrix("w")
    f = aot.function([z, w], [z * w, z.sum(), at.abs(z)], name="layouts")
    for shape in ((0, 3), (3, 0), (1, 1), (5, 7)):
        a = drawn(*shape).astype("complex64")
        wide = np.zeros((2 * shape[0], 2 * shape[1]), "complex64")
        wide[::2, ::2] = a
        for b in (a, np.asfortranarray(a), wide[::2, ::2], a[::-1, ::-1]):
            product, total, size = f(a, b)
            np.testing.assert_allclose(product, a * b, rtol=1e-6)
            np.testing.assert_allclose(total, a.sum(dtype="complex128"), rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(size, np.abs(a), rtol=1e-6)


@pytest.mark.shows("tensor/12-loops")
def test_loops_carry_complex_states_and_their_gradients() -> None:
    z, s = at.zvector("z"), aot.shared(np.array(1j), name="s")
    states = at.scan(lambda x, h: 0.5j * h + at.exp(x), z, at.constant(0.5j), return_updates=False)
    pair = at.scan(
        lambda a, b: a * b, outputs_info={"initial": z[:2], "taps": [-2, -1]}, n_steps=3, return_updates=False
    )
    cost = at.abs(states).sum() + at.norm(pair)
    f = aot.function([z], [states, pair, at.grad(cost, z), s], updates={s: s * 1j}, name="loops")
    a, h, wanted = drawn(4), 0.5j, []
    for x in a:
        h = 0.5j * h + np.exp(x)
        wanted.append(h)
    found = f(a)
    np.testing.assert_allclose(found[0], wanted, rtol=1e-13)
    np.testing.assert_allclose(found[1][-1], a[0] ** 2 * a[1] ** 3, rtol=1e-13)
    assert (found[3], s.get_value()) == (1j, -1)
    np.testing.assert_allclose(found[2], f.reference(a)[2], rtol=1e-12)
    steps = 1e-6 * np.eye(4)
    value = lambda v: cost.eval({z: v})  # noqa: E731
    slopes = [(value(a + d) - value(a - d)) / 2e-6 - 1j * (value(a + 1j * d) - value(a - 1j * d)) / 2e-6 for d in steps]
    np.testing.assert_allclose(found[2], slopes, rtol=1e-7)


def test_reductions_by_a_step_carry_complex_states() -> None:
    """Beside real ones, in both directions; without rows the initial value."""
    z, x = at.zmatrix("z"), at.vector("x")
    rows = aot.reduce(lambda row, h: h * row + 1, z, at.ones((z.shape[1],), "complex128"), return_updates=False)
    total, turn = aot.reduce(
        lambda a, s, t: [s + a * at.real(t), t * 1.5j], x, [at.constant(0.5), at.constant(1 + 0j)], return_updates=False
    )
    behind = aot.foldr(lambda a, h: h / (a + 2), z[:, 0], 1j, return_updates=False)
    cost = at.sqr(at.abs(rows)).sum() + at.abs(behind)
    f = aot.function([z, x], [rows, total, turn, behind, cost, at.grad(cost, z)], name="folds")

    def by_hand(a: np.ndarray[Any, Any]) -> list[Any]:
        h, back = np.ones(2, complex), 1j
        for row in a:
            h = h * row + 1
        for number in a[::-1, 0]:
            back = back / (number + 2)
        return [h, back, (np.abs(h) ** 2).sum() + abs(back)]

    a, d = drawn(3, 2), 1e-6 * drawn(3, 2)[::-1]
    for found in (f(a, np.arange(4.0)), f.reference(a, np.arange(4.0))):
        np.testing.assert_allclose([*found[0], *found[3:5]], np.hstack(by_hand(a)), rtol=1e-13)
        assert (float(found[1]), complex(found[2])) == (0.5 - 4.5, 1.5**4)
        slope = (by_hand(a + d)[2] - by_hand(a - d)[2]) / 2
        np.testing.assert_allclose(float((found[5] * d).real.sum()), slope, rtol=1e-6)
    assert [complex(v) for v in f(a[:0], np.zeros(0))[2:4]] == [1, 1j]


@pytest.mark.shows("tensor/12-order")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda z, x: z < x, "lt: complex numbers have no order"),
        (lambda z, x: z.max(), "max: complex numbers have no order"),
        (lambda z, x: z.argmax(), "argmax: complex numbers have no order"),
        (lambda z, x: at.sort(z), "sort: complex numbers have no order"),
        (lambda z, x: at.maximum(z, x), "maximum: complex numbers have no order"),
        (lambda z, x: at.erf(z), "erf: does not accept complex values"),
        (lambda z, x: z.astype("float64"), "cast: complex128 to float64 would drop the imaginary part"),
        (lambda z, x: at.set_subtensor(x[:1], 1j), "inc_subtensor: does not accept complex values"),
        (lambda z, x: at.arange(3, dtype="complex64"), "arange: does not return complex values"),
        (lambda z, x: at.complex(z, x), "complex: the real and the imaginary part must be real"),
        (lambda z, x: at.grad(z.sum(), z), "cost must be real"),
        (lambda z, x: at.jacobian(at.abs(z), z), "jacobian: .* is complex"),
        (lambda z, x: at.hessian(at.abs(z).sum(), z), "hessian: z is complex"),
        (
            lambda z, x: at.grad(x.sum(), x, known_grads={x: z}),
            "known_grads: a cotangent of a real variable must be real, not complex128",
        ),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(make: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make(at.zvector("z"), at.vector("x"))


@pytest.mark.shows("gradient/3.9-complex")
def test_a_known_cotangent_of_a_complex_value() -> None:
    """Re(g·dy) with dy = 2z·dz"""
    z, g = at.zvector("z"), at.zvector("g")
    found = aot.function([z, g], at.grad(None, z, known_grads={z * z: g}), name="known")([1 + 2j], [3 - 1j])
    np.testing.assert_allclose(found, [(3 - 1j) * 2 * (1 + 2j)], rtol=1e-15)


@pytest.mark.shows("tensor/12-arguments")
def test_arguments_are_converted_where_nothing_is_lost() -> None:
    z, x = at.zscalar("z"), at.vector("x")
    f = aot.function([z, x], [2 * z, x + 1j], name="arguments")
    for value in (3, 2.5, 1j, np.float32(1), np.complex64(2j)):
        assert f(value, [1.0])[0] == 2 * value
    with pytest.raises(TypeError, match="x has dtype complex128, expected float64"):
        f(1j, np.array([1j]))


@pytest.mark.parametrize("shape", [(2, 3, 0), (0, 3, 2), (2, 0, 2), (2, 3, 2)])
def test_products_over_two_axes_of_empty_tensors(shape: tuple[int, ...]) -> None:
    z = at.tensor3("z", dtype="complex128")
    f = aot.function([z], at.prod(z, axis=(0, 1)), name="products")
    given = np.full(shape, 1 + 0.5j)
    np.testing.assert_allclose(f(given), given.prod(axis=(0, 1)), rtol=1e-14)
    np.testing.assert_allclose(f.reference(given), given.prod(axis=(0, 1)), rtol=1e-14)
