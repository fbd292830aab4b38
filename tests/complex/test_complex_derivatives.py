"""Derivatives with respect to complex variables: the convention, every function, second order, both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GradientError
from aotensor.gradient import Lop, Rop, grad, verify_grad

HOLOMORPHIC = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh",
    "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "reciprocal", "sqr",
)  # fmt: skip
POINT = np.array([0.4 + 0.7j, -1.3 + 0.6j, 0.9 - 1.1j, -0.5 - 0.8j])


@pytest.mark.shows("tensor/12-gradients")
def test_every_function_against_differences_of_both_parts() -> None:
    z, g = at.zvector("z"), at.zvector("g")
    pulled = {name: Lop(getattr(at, name)(z), z, g) for name in HOLOMORPHIC}
    pushed = {f"push_{name}": Rop(getattr(at, name)(z), z, g) for name in HOLOMORPHIC}
    f = aot.function([z, g], {**pulled, **pushed}, name="holomorphic")
    w = np.array([1 - 2j, 0.5j, 2, -1 + 1j])
    found, step = f(POINT, w), 1e-6
    for name in HOLOMORPHIC:
        function = {"sqr": "square"}.get(name, name)
        ahead, behind = (getattr(np, function)(POINT + s * step) for s in (1, -1))
        slope = (ahead - behind) / (2 * step)
        np.testing.assert_allclose(found[name], w * slope, rtol=1e-8, err_msg=name)
        np.testing.assert_allclose(found[f"push_{name}"], w * slope, rtol=1e-8, err_msg=name)


@pytest.mark.parametrize("shapes", [((), (3, 4)), ((4,), (3, 4)), ((1, 4), (3, 1))])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_tangents_of_operands_that_are_repeated(name: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    rng = np.random.default_rng(3)
    points, tangents = ([rng.normal(size=s) + 1j * rng.normal(size=s) for s in shapes] for _ in range(2))
    inputs = [at.tensor(f"z{k}", dtype="complex128", shape=s) for k, s in enumerate(shapes)]
    y = {"add": at.add, "subtract": at.sub, "multiply": at.mul, "divide": at.true_div}[name](*inputs)
    function, step = getattr(np, name), 1e-6
    for moving in ([0, 1], [0], [1]):
        found = Rop(y, [inputs[k] for k in moving], [at.constant(tangents[k]) for k in moving])
        ahead, behind = (
            function(*(p + s * step * t * (k in moving) for k, (p, t) in enumerate(zip(points, tangents, strict=True))))
            for s in (1, -1)
        )
        got = aot.function(inputs, found, on_unused_input="ignore").reference(*points)
        np.testing.assert_allclose(got, (ahead - behind) / (2 * step), rtol=1e-7)


@pytest.mark.shows("tensor/12-gradients")
def test_the_convention_is_that_the_cost_changes_by_the_real_part() -> None:
    z, x = at.zscalar("z"), at.scalar("x")
    rows: list[tuple[Any, complex]] = [
        (z.real, 1),
        (z.imag, -1j),
        (at.abs(z) ** 2, 2 * (3 - 4j)),
        (at.abs(z), (3 - 4j) / 5),
        (at.angle(z), (-4 - 3j) / 25),
        ((z * z).real, 2 * (3 + 4j)),
        (z.conj().real, 1),
        ((z * z.conj()).real, 2 * (3 - 4j)),
        (at.real(at.sign(z)), 0.128 + 0.096j),
        (at.abs(z - 3 - 4j), 0),
    ]
    f = aot.function([z], [grad(cost, z) for cost, _ in rows], name="convention")
    for k, (found, (_, wanted)) in enumerate(zip(f(3 + 4j), rows, strict=True)):
        np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-15, err_msg=str(k))
    through_real = grad(at.abs(at.complex(x, 4)), x)
    assert through_real.dtype == "float64"
    np.testing.assert_allclose(through_real.eval({x: 3.0}), 0.6)


@pytest.mark.shows("tensor/12-gradients")
def test_programs_to_second_order() -> None:
    z, w, x, A = at.zvector("z"), at.zvector("w"), at.vector("x"), at.zmatrix("A")
    y = at.exp(0.3 * z) * w / (z + 3j) + x
    cost = at.sqr(at.abs(A @ y)).sum() + at.log(y + 5).sum().real + at.abs(z**2.5).sum() + at.angle(at.prod(w))
    first = grad(cost, [z, w, x, A])
    direction = at.zvector("d")
    second = Rop(first[0], z, direction)
    twice = grad(at.real(first[0] * direction).sum(), [z, w])
    f = aot.function([z, w, x, A, direction], [*first, second, *twice], name="second", mode="DEBUG_MODE")
    b, d = np.array([1 - 0.5j, 0.4j, -0.7 + 0.2j, 1]), np.array([0.3j, -1, 0.2 + 1j, 2])
    M = np.outer(POINT, b) + np.eye(4)
    found = f(POINT, b, np.arange(4.0), M, d)
    np.testing.assert_allclose(found[4], found[5], rtol=1e-10)  # a Hessian is symmetric over the reals
    step, run = 1e-6, lambda p: f(p, b, np.arange(4.0), M, d)[0]
    np.testing.assert_allclose(found[4], (run(POINT + step * d) - run(POINT - step * d)) / (2 * step), rtol=1e-6)
    verify_grad(lambda z, x: at.exp(z) * x / at.abs(z), [POINT, np.arange(1.0, 5.0)])
    verify_grad(lambda z: at.cumprod(z) + at.prod(z), [POINT.astype("complex64")])


def test_powers_at_zero_and_logarithms_of_equal_parts_in_a_loop() -> None:
    """0ᵇ⁻¹ is 1 for b = 1; ln |x + iy| is differentiated as it is computed in a loop: by its larger part."""
    z, k = at.zvector("z"), at.vector("k")
    first = grad((z**k).real.sum(), z)
    steps = at.scan(lambda old: at.log(old) + 2, outputs_info=[z[0]], n_steps=1, return_updates=False)
    f = aot.function([z, k], [first, grad(first.real.sum(), z), grad(steps[-1].real, z)], name="zeros")
    found = f(np.array([0, 0, 0, 1 + 1j]), [1.0, 2.0, 3.0, 2.0])
    np.testing.assert_allclose(found[0], [1, 0, 0, 2 + 2j])
    np.testing.assert_allclose(found[1], [0, 2, 0, 2])
    np.testing.assert_allclose(f(np.array([1 + 1j, 1j]), [1.0, 1.0])[2], [0.5 - 0.5j, 0])


def test_wrong_derivatives_are_found() -> None:
    def wrong(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return [cotangents[0] * inputs[0].conj()]

    z = at.zvector("z")
    op = aot.OpFromGraph([z], [z * z / 2], pullback=wrong)
    with pytest.raises(GradientError):
        verify_grad(op, [POINT])


def test_verify_checks_complex_functions() -> None:
    z, w = at.zvector("z", shape=(4,)), at.cvector("w", shape=("n",))
    cost = at.abs(at.exp(z).sum() * w).sum()
    f = aot.function([z, w], [cost, grad(cost, w), at.fft(z)], name="verified")
    report = f.verify(samples=3)
    assert report, str(report)


@pytest.mark.shows("tensor/12-loops")
def test_loops_have_the_derivatives_of_what_they_compute() -> None:
    z, w = at.zvector("z"), np.array([1, 1j, 2, -1j])
    steps: dict[str, Any] = {
        **{name: getattr(at, name) for name in HOLOMORPHIC},
        "power": lambda x: x**0.3,
    }

    def step(x: Any) -> list[Any]:
        return [function(x) for function in steps.values()]

    looped = at.scan(step, at.shape_padleft(z), return_updates=False)
    pairs = {
        name: (grad(at.real(y * w).sum(), z), grad(at.real(function(z) * w).sum(), z))
        for (name, function), y in zip(steps.items(), looped, strict=True)
    }
    f = aot.function([z], {f"{k}{name}": g for name, pair in pairs.items() for k, g in enumerate(pair)})
    found = f.reference(POINT)
    for name in steps:
        np.testing.assert_allclose(found[f"0{name}"], found[f"1{name}"], rtol=1e-12, err_msg=name)
