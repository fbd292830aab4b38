"""Primitives of JAX by their rules: values, dtypes and shapes as JAX's, by the reference and compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")

from jax.experimental import sparse  # noqa: E402  (they need JAX)
from jax_cases import POSITIONS, PROGRAMS, Program  # noqa: E402

import aotensor as aot  # noqa: E402
import aotensor.tensor as at  # noqa: E402
from aotensor.importers.jax import NoCounterpart, from_jax  # noqa: E402
from aotensor.importers.stablehlo import from_stablehlo  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_disable_most_optimizations", True)  # XLA compiles for one call only


def listed(result: Any) -> list[Any]:
    """Results in order."""
    if isinstance(result, dict):
        return list(result.values())
    return result if isinstance(result, list) else [result]


def check(program: Program, found: Any) -> None:
    wanted = [np.asarray(x) for x in jax.tree.leaves(jax.jit(program.function)(*program.inputs))]
    for position, (x, y) in enumerate(zip(listed(found), wanted, strict=True)):
        assert (np.shape(x), np.asarray(x).dtype) == (y.shape, y.dtype), position
        rtol = 2e-6 if y.dtype == np.float32 else program.rtol
        np.testing.assert_allclose(x, y, rtol, rtol * 0.1, err_msg=f"output {position}")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.id)
def test_the_reference_gives_what_jax_gives(program: Program) -> None:
    check(program, from_jax(program.function, *program.inputs).reference(*program.inputs))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.id)
def test_compiled_code_gives_what_jax_gives(program: Program) -> None:
    check(program, from_jax(program.function, *program.inputs)(*program.inputs))


def test_fewer_elements_than_a_window_has() -> None:
    """No windows are no results, whatever the stride."""
    (n,) = jax.export.symbolic_shape("n")
    spec = jax.ShapeDtypeStruct((n,), "float32")

    def sums(x: Any) -> Any:
        return jax.lax.reduce_window(x, np.float32(0), jax.lax.add, (3,), (2,), [(0, 0)])

    f = from_jax(sums, spec)
    for count in (1, 2, 3, 4, 7):
        x = np.arange(count, dtype="float32")
        np.testing.assert_array_equal(f(x), np.asarray(sums(x)))


def test_gradients_of_pooling_go_to_the_first_of_equal_elements() -> None:
    def loss(x: Any) -> Any:
        least = jax.lax.reduce_window(x, np.inf, jax.lax.min, (3, 2), (1, 2), "SAME")
        return (jax.lax.reduce_window(x, -np.inf, jax.lax.max, (2, 3), (2, 1), "VALID") ** 2).sum() + (least**3).sum()

    x = np.round(np.random.default_rng(0).normal(size=(6, 7)))
    f = from_jax(jax.grad(loss), x)
    np.testing.assert_array_equal(f.reference(x), jax.grad(loss)(x))
    np.testing.assert_array_equal(f(x), jax.grad(loss)(x))


def test_derivatives_of_reductions_by_functions_of_ones_own() -> None:
    """Ours after the import, as JAX's: of products of (1 + x), in windows and in all."""

    def loss(x: Any) -> Any:
        def odds(a: Any, b: Any) -> Any:
            return a + b + a * b

        windows = jax.lax.reduce_window(x, 0.0, odds, (2, 3), (1, 2), "VALID")
        return (jax.lax.reduce(x, 0.0, odds, (0,)) ** 2).sum() + (windows**3).sum()

    def closed(x: Any) -> Any:
        windows = [jax.numpy.prod(1 + x[i : i + 2, j : j + 3]) - 1 for i in range(3) for j in (0, 2)]
        return ((jax.numpy.prod(1 + x, 0) - 1) ** 2).sum() + sum(w**3 for w in windows)

    x = np.random.default_rng(0).normal(size=(4, 5))
    f = from_jax(loss, x, grad="x")
    for call in (f.reference, f):
        found = call(x)
        np.testing.assert_allclose(found["out"], loss(x), 1e-12)
        np.testing.assert_allclose(found["grad_x"], jax.grad(closed)(x), 1e-10)


def products_at(x: Any, i: Any) -> Any:
    """Products at positions that repeat, of windows that overlap, and extrema of such windows."""
    found = []
    for mode in ("clip", "drop"):
        found += [
            x.at[i].mul(x[:1] + 2, mode=mode), x.at[:, i].mul(np.arange(6.0) - 2, mode=mode),
            x.at[i, 1:3].mul(-2.0, mode=mode), x.at[i[:, None], i[None]].max(0.3, mode=mode),
        ]  # fmt: skip
    whole, i = x.astype("int32"), jax.numpy.clip(i, 0, 4)
    return (
        *found, jax.ops.segment_prod(x, i[:5], 5), jax.ops.segment_prod(whole, i[:5], 3), x.at[i[:0]].mul(x[:0]),
        x.at[i, i].mul(1.5, mode="promise_in_bounds"), (x > 0).at[i].min(x[0] > 0),
    )  # fmt: skip


@pytest.mark.parametrize("opt_level", [None, 0, 3])
def test_updates_of_positions_that_repeat(opt_level: int | None, tmp_path: Path) -> None:
    program = Program("products", products_at, (np.random.default_rng(3).normal(size=(5, 5)), POSITIONS))
    f = from_jax(products_at, *program.inputs)
    call = f.reference if opt_level is None else aot.compile([f], tmp_path, opt_level=opt_level).load()[f.name]
    check(program, call(*program.inputs))


@pytest.mark.parametrize("through_text", [False, True])
def test_convolutions_whose_padding_depends_on_the_extents(through_text: bool) -> None:
    (n,) = jax.export.symbolic_shape("n")
    specs = jax.ShapeDtypeStruct((2, 3, n), "float64"), jax.ShapeDtypeStruct((4, 3, 4), "float64")

    def strided(x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(x, w, (3,), "SAME")

    text = str(jax.export.export(jax.jit(strided))(*specs).mlir_module()) if through_text else ""
    f = from_stablehlo(text) if through_text else from_jax(strided, *specs)
    rng = np.random.default_rng(0)
    w = rng.normal(size=(4, 3, 4))
    for count in (1, 3, 4, 5, 8):
        x = rng.normal(size=(2, 3, count))
        for call in (f.reference, f):
            np.testing.assert_allclose(call(x, w), strided(x, w), 1e-12, 1e-12)


def test_windows_of_a_gather_along_axes_that_are_not_indexed() -> None:
    """They begin at 0, and may be shorter than the axis."""
    x, starts = np.arange(60.0).reshape(5, 4, 3), np.array([[1, 2], [9, 0], [0, -4]])
    dims = jax.lax.GatherDimensionNumbers((1, 2, 3), (), (2, 1))

    def windows(x: Any, i: Any) -> Any:
        return jax.lax.gather(x, i, dims, (2, 2, 2), mode="clip")

    np.testing.assert_array_equal(from_jax(windows, x, starts).reference(x, starts), windows(x, starts))


def test_a_convolution_without_results() -> None:
    x, w = np.ones((1, 1, 3, 4)), np.ones((2, 1, 4, 1))
    f = from_jax(lambda x, w: jax.lax.conv(x, w, (1, 1), "VALID"), x, w)
    assert f.reference(x, w).shape == (1, 2, 0, 4)


def test_the_largest_are_those_of_the_total_order() -> None:
    x = np.array([np.nan, -np.nan, 1.0, 0.0, -0.0, np.inf, -np.nan])
    found = from_jax(lambda x: jax.lax.top_k(x, 7), x).reference(x)
    for ours, theirs in zip(found, jax.jit(jax.lax.top_k, static_argnums=1)(x, 7), strict=True):
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(np.signbit(ours), np.signbit(theirs))


def product(data: Any, x: Any) -> Any:
    """A sparse matrix by a vector."""
    positions = np.array([[0, 1], [2, 0], [2, 2]])
    return sparse.BCOO((data, positions), shape=(3, 3)) @ x


LOWERED = {
    "random_gamma": (lambda key, a: jax.random.gamma(key, a), np.array([0, 42], "uint32"), np.array([0.5, 2.0, 30.0])),
    "zeta": (lambda x: jax.scipy.special.zeta(x, 2.0), np.array([2.0, 3.5])),
    "bcoo_dot_general": (product, np.arange(3.0), np.array([1.0, -2.0, 0.5])),
    "its gradient": (jax.grad(lambda d, x: (product(d, x) ** 2).sum(), (0, 1)), np.arange(3.0), np.ones(3)),
}


@pytest.mark.parametrize("name", LOWERED)
def test_primitives_without_a_rule_are_what_jax_lowers_them_to(name: str) -> None:
    function, *inputs = LOWERED[name]
    f = from_jax(function, *inputs)
    for x, y in zip(listed(f.reference(*inputs)), jax.tree.leaves(jax.jit(function)(*inputs)), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, 1e-14)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("pure_callback", lambda x: jax.pure_callback(np.sin, x, x)),
        ("hessenberg", lambda x: jax.lax.linalg.hessenberg(x[None] * x[:, None])),
        ("debug_print", lambda x: (jax.debug.print("{}", x), x)[1]),
    ],
)
def test_what_jax_lowers_to_calls_is_refused(name: str, function: Any) -> None:
    with pytest.raises(NoCounterpart) as caught:
        from_jax(function, np.ones(2))
    assert [x.name for x in caught.value.operations] == [name]


def test_complex_numbers_are_ordered_by_their_real_parts() -> None:
    x = np.array([1 + 2j, 1 - 2j, 3 + 0j, 0.5j, 2 + 1j])
    y = np.array([1 - 2j, 1 + 2j, 2 + 9j, 0.5j, 2 + 3j])

    def program(x: Any, y: Any) -> Any:
        return jax.lax.max(x, y), jax.lax.min(x, y), jax.numpy.logaddexp(x, y), jax.numpy.arange(3, dtype="complex128")

    imported = from_jax(program, x, y)
    for ours, theirs in zip(listed(imported.reference(x, y)), program(x, y), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)
    a, b = imported.inputs
    chosen = aot.grad(at.sum(at.real(imported.outputs[0])), [a, b])
    f = aot.function([a, b], chosen)
    wanted = jax.grad(lambda x, y: jax.numpy.real(jax.lax.max(x, y)).sum(), (0, 1))(x, y)
    for ours, theirs in zip(f.reference(x, y), wanted, strict=True):
        np.testing.assert_allclose(ours, np.conj(theirs))


def test_any_number_of_complex_numbers_is_reduced() -> None:
    """Rows of a symbolic extent, and many of them."""
    (n,) = jax.export.symbolic_shape("n")

    def products(z: Any) -> Any:
        return jax.lax.reduce(z, np.complex64(0), lambda a, b: a + b + a * b, (0,))

    f = from_jax(products, jax.ShapeDtypeStruct((n, 2), "complex64"))
    for count in (0, 3, 100):
        pair = np.random.default_rng(count).normal(size=(2, count, 2)) / 10
        found = f((pair[0] + 1j * pair[1]).astype("complex64"))
        wanted = np.prod(1 + pair[0] + 1j * pair[1], axis=0) - 1
        assert found.dtype == np.complex64
        np.testing.assert_allclose(found, wanted, 1e-4, 1e-6)


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_eigenvalues_of_any_matrix(dtype: str) -> None:
    x = np.random.default_rng(4).normal(size=(2, 4, 4)).astype(dtype)
    tolerance = 1e-12 if dtype == "float64" else 1e-5
    values, vectors = listed(from_jax(jax.numpy.linalg.eig, x).reference(x))
    np.testing.assert_allclose(x @ vectors, vectors * values[..., None, :], tolerance, tolerance * 10)
    wanted = np.sort_complex(jax.numpy.linalg.eigvals(x))
    assert values.dtype == wanted.dtype
    alone = from_jax(jax.numpy.linalg.eigvals, x).reference(x)
    for found in (values, alone):
        np.testing.assert_allclose(np.sort_complex(found), wanted, tolerance, tolerance * 10)


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_factors_of_schur_and_of_qr_with_pivots(dtype: str) -> None:
    x = np.random.default_rng(5).normal(size=(4, 4)).astype(dtype)
    tolerance = 1e-12 if dtype == "float64" else 1e-5

    def factors(x: Any) -> Any:
        schur = [jax.scipy.linalg.schur(x, output=output) for output in ("real", "complex")]
        return schur, jax.lax.linalg.schur(x, compute_schur_vectors=False), jax.scipy.linalg.qr(x, pivoting=True)

    for ours, theirs in zip(listed(from_jax(factors, x).reference(x)), jax.tree.leaves(factors(x)), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, tolerance, tolerance * 10)
    with pytest.raises(NoCounterpart, match="schur"):
        from_jax(lambda x: jax.lax.linalg.schur(x, sort_eig_vals=True), x)


def test_constant_positions_need_no_check() -> None:
    def filled(x: Any) -> Any:
        y = jax.numpy.zeros(4)
        for k in range(4):
            y = y.at[k].set(x[k] - x[k - 1] ** 2)
        return y

    x = np.random.default_rng(6).normal(size=4)
    f = from_jax(filled, x)
    assert "aot.check" not in f.ir("nest") and "insert_slice" not in f.ir("nest")
    np.testing.assert_allclose(f(x), filled(x), 1e-15)
