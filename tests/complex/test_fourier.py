"""Fourier transforms against SciPy's: lengths of every kind, norms, axes, derivatives."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.fft

import aotensor as aot
import aotensor.tensor as at
from aotensor.gradient import grad, jacobian, verify_grad

LENGTHS = (1, 2, 30, 49, 34)
"""1, a radix, products of radices, a square of an odd radix, twice a prime that is convolved."""


def drawn(*shape: int) -> np.ndarray[Any, Any]:
    """A complex array of normal numbers."""
    pair = np.random.default_rng(sum(shape)).normal(size=(2, *shape))
    return np.asarray(pair[0] + 1j * pair[1])


def assert_near(found: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], eps: float, what: str) -> None:
    """Within a few roundings per stage of a transform, of its norm."""
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), what
    scale = float(np.abs(wanted).max(initial=1e-300))
    assert float(np.abs(found - wanted).max(initial=0)) <= 8 * eps * scale, what


@pytest.mark.shows("tensor/12-fft")
def test_lengths_of_every_kind() -> None:
    given = {n: at.tensor(f"z{n}", dtype="complex128", shape=("b", n)) for n in LENGTHS}
    outputs = {f"fft{n}": at.fft(z) for n, z in given.items()}
    f = aot.function(list(given.values()), outputs, name="lengths")
    values = {n: drawn(3, n) for n in LENGTHS}
    found = f(*values.values())
    for n, x in values.items():
        assert_near(found[f"fft{n}"], scipy.fft.fft(x), 2.3e-16, f"length {n}")
    assert f(*(x[:0] for x in values.values()))["fft30"].shape == (0, 30)


@pytest.mark.shows("tensor/12-fft")
def test_norms_axes_and_dtypes() -> None:
    z, c = at.tensor("z", dtype="complex128", shape=(6, "m", 4)), at.tensor("c", dtype="complex64", shape=("k", 16))
    x = at.matrix("x", shape=(9, 10))
    a, b, r = drawn(6, 3, 4), drawn(5, 16).astype("complex64"), drawn(9, 10).real
    s = scipy.fft
    rows: dict[str, tuple[Any, Any]] = {
        "axis": (at.fft(z, axis=0, norm="ortho"), s.fft(a, axis=0, norm="ortho")),
        "cut": (at.ifft(z, n=3), s.ifft(a, n=3)),
        "filled": (at.ifft(z, n=7, norm="forward"), s.ifft(a, n=7, norm="forward")),
        "single": (at.fft(c), s.fft(b)),
        "rfft": (at.rfft(x), s.rfft(r)),
        "rfft_odd": (at.rfft(x, axis=0, norm="ortho"), s.rfft(r, axis=0, norm="ortho")),
        "irfft": (at.irfft(at.rfft(x), norm="forward"), s.irfft(s.rfft(r), norm="forward")),
        "irfft_odd": (at.irfft(c, n=9), s.irfft(b, n=9)),
        "irfft_even": (at.irfft(c, n=8), s.irfft(b, n=8)),
        "fft2": (at.fft2(x), s.fft2(r)),
        "ifft2": (at.ifft2(x, s=(4, 5)), s.ifft2(r, s=(4, 5))),
        "fftn": (at.fftn(z, axes=(0, 2), norm="ortho"), s.fftn(a, axes=(0, 2), norm="ortho")),
        "ifftn": (at.ifftn(x), s.ifftn(r)),
        "integers": (at.rfft(at.cast(x, "int8")), s.rfft(r.astype("int8").astype("float64"))),
    }
    f = aot.function([z, c, x], {key: row for key, (row, _) in rows.items()}, name="norms")
    found, reference = f(a, b, r), f.reference(a, b, r)
    for key, (_, wanted) in rows.items():
        eps = float(np.finfo(wanted.dtype).eps)
        assert found[key].dtype == wanted.dtype
        assert_near(found[key], wanted, eps, key)
        assert_near(reference[key], wanted, eps, key)


@pytest.mark.parametrize("n", [6, 17])
def test_rows_of_any_extent_are_cut_or_filled(n: int) -> None:
    """The length is known, the extent is not. The loss is quadratic, so its differences are exact."""
    X, s = at.matrix("X", shape=("b", "m")), scipy.fft
    made = [at.fft(X, n=n, axis=0), at.rfft(X, n=n), at.irfft(X, n=n), at.fft2(X, s=(n, 3))]
    slope = grad(at.stack([at.sqr(at.abs(y)).sum() for y in made]).sum(), X)
    f = aot.function([X], [*made, slope], name="cut_or_filled")

    def by_scipy(x: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
        return [s.fft(x, n, axis=0), s.rfft(x, n), s.irfft(x, n), s.fft2(x, (n, 3))]

    def loss(x: np.ndarray[Any, Any]) -> float:
        return float(sum((np.abs(y) ** 2).sum() for y in by_scipy(x)))

    for shape in ((3, 4), (2, 8), (1, 1), (5, 17), (20, 30)):
        x, d = np.random.default_rng(n).normal(size=(2, *shape))
        *found, slopes = f(x)
        for y, wanted in zip(found, by_scipy(x), strict=True):
            assert_near(y, wanted, 2.3e-16, f"{n} of {shape}")
        np.testing.assert_allclose((slopes * d).sum(), (loss(x + d) - loss(x - d)) / 2, rtol=1e-10)
    assert [y.shape for y in f(np.zeros((0, 3)))] == [(n, 3), (0, n // 2 + 1), (0, n), (n, 3), (0, 3)]


def test_lengths_of_run_time() -> None:
    """Of extents that the types do not have, and computed ones."""
    z, x, n = at.zmatrix("z"), at.matrix("x"), at.lscalar("n")
    made = {
        "fft": at.fft(z), "ifft": at.ifft(z, axis=0, norm="ortho"), "rfft": at.rfft(x, norm="forward"),
        "irfft": at.irfft(z), "fft2": at.fft2(x), "cut": at.fft(z, n), "rcut": at.rfft(x, n, axis=0),
        "ircut": at.irfft(z, n), "single": at.fft(at.cast(x, "float32")), "known": at.fft(x[:, :3], n),
    }  # fmt: skip
    f, s = aot.function([z, x, n], made, name="run_time"), scipy.fft
    for shape, length in (((3, 5), 4), ((1, 8), 1), ((2, 97), 8), ((5, 200), 243), ((4, 3), 2)):
        a, b = drawn(*shape), drawn(*shape).real
        wanted = {
            "fft": s.fft(a), "ifft": s.ifft(a, axis=0, norm="ortho"), "rfft": s.rfft(b, norm="forward"),
            "irfft": s.irfft(a), "fft2": s.fft2(b), "cut": s.fft(a, length), "rcut": s.rfft(b, length, axis=0),
            "ircut": s.irfft(a, length), "single": s.fft(b.astype("float32")), "known": s.fft(b[:, :3], length),
        }  # fmt: skip
        for found in (f(a, b, length), f.reference(a, b, length)):
            for key, value in wanted.items():
                assert_near(found[key], value, float(np.finfo(value.dtype).eps), f"{key} of {shape}, {length}")
    none = f(drawn(2, 2)[:0], drawn(2, 2).real, 0)
    assert {key: none[key].shape for key in ("fft", "cut", "irfft")} == {"fft": (0, 2), "cut": (0, 0), "irfft": (0, 2)}
    with pytest.raises(ValueError):
        f(drawn(2, 3), drawn(2, 3).real, -1)


@pytest.mark.parametrize("n", [6, 1, 7])
def test_derivatives_at_lengths_of_run_time(n: int) -> None:
    """Those of the transforms whose lengths are known."""
    made: list[list[np.ndarray[Any, Any]]] = []
    for extent in (n, None):
        x, z = at.tensor("x", shape=(2, extent), dtype="float64"), at.tensor("z", dtype="complex128", shape=(2, extent))
        k = at.lscalar("k")
        values = [at.rfft(x) * 1j, at.irfft(z, n + 1 if extent else k + 1), at.fft(z)]
        cost = at.stack([at.sqr(at.abs(y - 1)).sum() for y in values]).sum()
        slopes = grad(cost, [x, z])
        f = aot.function([x, z, k], [*slopes, grad(at.sqr(at.abs(slopes[1])).sum(), z)], on_unused_input="ignore")
        made.append(f(drawn(2, n).real, drawn(2, n), n))
    for known, unknown in zip(*made, strict=True):
        np.testing.assert_allclose(unknown, known, rtol=1e-12, atol=1e-12)
    z = at.zvector("z")
    rows = at.vectorize_graph(at.fft(z), {z: at.zmatrix("rows")})
    found = aot.function([rows.owner.inputs[0]], rows, name="rows")(drawn(3, n))
    assert_near(found, scipy.fft.fft(drawn(3, n)), 2.3e-16, "in a batch")


@pytest.mark.shows("tensor/12-fft")
@pytest.mark.parametrize("shape", [(4, 4), (2, 8)])
def test_few_elements_along_two_axes(shape: tuple[int, int]) -> None:
    """Rows that are copied, and read one element at a time by statements without loops."""
    x = at.tensor("x", dtype="float64", shape=shape)
    values = drawn(*shape).real
    found = aot.function([x], at.fft(at.rfft(x, axis=1), axis=0), name="square")(values)
    assert_near(found, scipy.fft.rfft2(values), 2.3e-16, "rfft2")


def test_derivatives_are_transforms() -> None:
    x = drawn(2, 6)
    for transform in (at.fft, lambda z: at.irfft(z, n=9), lambda z: at.ifft(z, n=4, axis=0, norm="ortho")):
        verify_grad(lambda z, g=transform: at.abs(g(z)) ** 2, [x])
    verify_grad(lambda y: at.abs(at.rfft(y)), [x.real])
    z = at.tensor("z", dtype="complex128", shape=(8,))
    y = at.fft(z)
    gradient = grad(at.sqr(at.abs(y)).sum(), z)
    f = aot.function([z], [gradient, at.fft(at.fft(z)).conj()], name="parseval")
    a = drawn(8)
    found = f(a)
    np.testing.assert_allclose(found[0], 2 * 8 * a.conj(), rtol=1e-13)  # Parseval: the sum is 8·|z|²
    ops = {node.op.name for node in aot.graph.walk.toposort([grad(at.real(at.fft(z)).sum(), z)])}
    assert "dft" in ops


@pytest.mark.shows("tensor/12-fft")
def test_real_transforms_of_every_length_and_their_derivatives() -> None:
    """The two real transforms, and the pullback of each, which is the other one, to second order and in batches."""
    for n in (1, 2, 3, 8, 13, 34):
        x, z = (
            at.tensor("x", dtype="float64", shape=("b", n)),
            at.tensor("z", dtype="complex128", shape=("b", n // 2 + 1)),
        )
        a, b = drawn(3, n).real, drawn(3, n // 2 + 1)
        f = aot.function([x, z], [at.rfft(x), at.irfft(z, n=n)], name=f"real{n}")
        for found in (f.reference(a, b), f(a, b) if n in (2, 13) else f.reference(a, b)):
            assert_near(found[0], scipy.fft.rfft(a), 2.3e-16, f"rfft {n}")
            assert_near(found[1], scipy.fft.irfft(b, n=n), 2.3e-16, f"irfft {n}")
    for n in (6, 7):
        verify_grad(lambda v: at.abs(at.rfft(v)) ** 2, [drawn(2, n).real])
        verify_grad(lambda v, n=n: at.irfft(v, n=n) ** 3, [drawn(2, n // 2 + 1)])
        x = at.vector("x", shape=(n,))
        matrix = jacobian(at.rfft(x), x).eval({x: np.ones(n)})
        np.testing.assert_allclose(matrix, scipy.fft.rfft(np.eye(n)).T, atol=1e-14)
        verify_grad(lambda v: grad(at.sqr(at.abs(at.rfft(v))).sum() ** 2, v), [drawn(n).real])


@pytest.mark.shows("tensor/12-fft")
def test_rows_are_read_and_written_where_they_lie() -> None:
    """What comes before and after the steps is in the loop over rows: no copy of the batch, one loop in parallel."""
    x, z = at.matrix("x", shape=(200, 64)), at.tensor("z", dtype="complex128", shape=(200, 33))
    for name, y, v in (
        ("rfft", at.rfft(x), x),
        ("irfft", at.irfft(z), z),
        ("fft", at.fft(z), z),
        ("both", at.fft(x), x),
    ):
        text = aot.function([v], y, name=name).ir("loops")
        assert text.count("scf.parallel") == 1, name
        (size,) = re.findall(r"workspace_bytes.*?arith.constant (\d+)", text, re.DOTALL)[-1:]
        assert int(size) < 200 * 33 * 8, name


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda z: at.fft(z, n=1.5), TypeError, "fft: n must be an int, a Variable or None, not 1.5"),
        (lambda z: at.irfft(z, n=z), TypeError, "irfft: the length must be an integer scalar, not complex128"),
        (lambda z: at.fft(z[:4], axis=1), ValueError, "fft: axis 1 is out of range for rank 1"),
        (lambda z: at.fft(z[:4], norm="unit"), ValueError, "fft: norm"),
        (lambda z: at.fft(at.stack([z[0]]), n=0), ValueError, "fft: the length must be at least 1, found 0"),
        (lambda z: at.fft(z[0]), TypeError, "fft: expected at least one axis, found a scalar"),
        (lambda z: at.rfft(z), TypeError, "rfft: x must be real"),
        (lambda z: at.fft2(at.stack([z, z]), axes=(0,)), ValueError, "fft2: expected two axes, found 1"),
        (lambda z: at.fftn(at.stack([z, z]), s=(2,), axes=(0, 1)), ValueError, "fftn: 1 lengths for 2 axes"),
        (lambda z: at.fftn(at.stack([z[0]]), s=(2, 2)), ValueError, "fftn: axis -2 is out of range for rank 1"),
    ],
)
def test_wrong_lengths_norms_and_axes_are_told_by_name(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make(at.zvector("z"))
