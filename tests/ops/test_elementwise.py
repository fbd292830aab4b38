"""What the case tables cannot hold of the elementwise ops: dtypes, literals, equality, text, wrong programs."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import (
    GraphTypeError,
    GraphValueError,
    NullTypeGradError,
    UnsupportedError,
)
from aotensor.gradient import grad
from aotensor.ops.elementwise.base import ELEMENTWISE

FLOATS = ("float16", "bfloat16", "float32", "float64")
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint32", "uint64", *FLOATS)
FLOATED = ("float32", "float32", "float32", "float64", "float64", "float32", "float64", "float64", *FLOATS)
DIVIDED = ("float64",) * 8 + FLOATS


@pytest.mark.shows("tensor/0-elementwise-dtypes")
@pytest.mark.parametrize("name", ["exp", "sqrt", "sigmoid", "gammaln", "ceil", "reciprocal"])
@pytest.mark.parametrize(("dtype", "result"), list(zip(DTYPES, FLOATED, strict=True)))
def test_float_functions_give_the_dtype_of_the_table(name: str, dtype: str, result: str) -> None:
    assert getattr(at, name)(at.vector("x", dtype)).dtype == result


@pytest.mark.shows("tensor/0-true-division")
@pytest.mark.parametrize(("dtype", "result"), list(zip(DTYPES, DIVIDED, strict=True)))
def test_true_div_gives_the_dtype_of_the_table(dtype: str, result: str) -> None:
    x = at.vector("x", dtype)
    assert (x / x).dtype == result


@pytest.mark.shows("tensor/0-promotion")
@pytest.mark.parametrize("dtype", DTYPES)
def test_abs_and_sqr_keep_the_dtype(dtype: str) -> None:
    x = at.vector("x", dtype)
    assert (abs(x).dtype, at.sqr(x).dtype) == (dtype, dtype)


@pytest.mark.shows("tensor/2-comparisons", "tensor/0-equality")
@pytest.mark.parametrize("dtype", DTYPES)
def test_comparisons_give_bool(dtype: str) -> None:
    x, y = at.vectors("x", "y", dtype=dtype)
    assert {at.eq(x, x).dtype, (x < x).dtype, at.isnan(x).dtype} == {"bool"}
    assert (x == x, x != x, x == y) == (True, False, False)


@pytest.mark.shows("tensor/0-promotion")
@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ("int8", "uint8", "int16"),
        ("int8", "float32", "float32"),
        ("int32", "float32", "float64"),
        ("uint64", "int64", "float64"),
        ("bool", "bool", "bool"),
        ("int8", "float16", "float16"),
        ("int16", "float16", "float32"),
        ("int32", "float16", "float64"),
        ("uint8", "bfloat16", "bfloat16"),
        ("int16", "bfloat16", "float32"),
        ("float16", "bfloat16", "float32"),
    ],
)
def test_mixed_dtypes_promote_as_arrays_do(left: str, right: str, result: str) -> None:
    assert (at.vector("x", left) + at.vector("y", right)).dtype == result


@pytest.mark.shows("tensor/0-literals")
@pytest.mark.parametrize(
    ("dtype", "literal", "result"),
    [
        ("int8", 1, "int8"),
        ("int8", 300, "int16"),
        ("uint8", 1, "int16"),
        ("uint64", 1, "float64"),
        ("float16", 1.5, "float32"),
        ("float16", 1, "float16"),
        ("bfloat16", 0.1, "float32"),
        ("float32", 1.5, "float32"),
        ("float32", 1, "float32"),
        ("float32", 10**20, "float32"),
        ("int32", 1.5, "float64"),
        ("int64", 1.5, "float64"),
        ("float32", np.float64(1.5), "float64"),
    ],
)
def test_literals_are_weak(dtype: str, literal: float, result: str) -> None:
    x = at.vector("x", dtype)
    assert (x + literal).dtype == result
    assert (literal + x).dtype == result
    assert at.switch(x > 0, x, literal).dtype == result


@pytest.mark.shows("tensor/0-half-literals")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_literals_beyond_halves_are_refused(dtype: str) -> None:
    x, huge = at.vector("x", dtype), 10**39
    assert (x * 1.5).dtype == "float32" and (x * 2).dtype == dtype
    for build in (lambda: x + huge, lambda: at.constant(1e39, dtype=dtype), lambda: at.switch(x > 0, x, -huge)):
        with pytest.raises(GraphValueError, match=f"e\\+39 does not fit {dtype}"):
            build()
    assert at.cast(1e39, dtype).eval() == np.inf


@pytest.mark.shows("tensor/0-literals", "tensor/11-literals")
def test_literals_keep_full_precision() -> None:
    x = at.iscalar("x")
    derivative = grad(0.1 * x, x)
    assert derivative.eval({x: 3}) == 0.1
    y = at.dscalar("y")
    assert grad(2.0**y, y).eval({y: 0.0}) == np.log(2.0)


def test_equal_ops_are_equal_values() -> None:
    x = at.vector("x")
    assert at.cast(x, "int8").owner.op == at.cast(x, "int8").owner.op
    assert at.cast(x, "int8").owner.op != at.cast(x, "int16").owner.op
    assert (x**3).owner.op != (x**4).owner.op
    assert len(set(ELEMENTWISE.values())) == len(ELEMENTWISE)


def test_text_names_the_parameters() -> None:
    x = at.vector("x")
    assert str(at.exp) == "exp"
    assert str(at.cast(x, "int8").owner.op) == "cast{dtype=int8}"
    assert str((x**3).owner.op) == "int_pow{exponent=3}"


def test_cast_to_its_own_dtype_is_x() -> None:
    x = at.vector("x", "float32")
    assert at.cast(x, "float32") is x
    assert at.cast(x, "floatX").dtype == "float64"


@pytest.mark.shows("tensor/0-static-broadcasting")
@pytest.mark.parametrize("extent", [1, 3])
def test_an_extent_that_happens_to_differ_is_refused(extent: int) -> None:
    x, y = at.vector("x"), at.vector("y")
    with pytest.raises(GraphValueError, match=rf"x \+ y at .*: extents {extent} and 4 along axis 0 differ"):
        (x + y).eval({x: np.zeros(extent), y: np.zeros(4)})


def test_static_extents_that_differ_are_refused() -> None:
    x, y = at.vector("x", shape=(3,)), at.vector("y", shape=(4,))
    with pytest.raises(GraphValueError, match="mul: extents 3 and 4 do not broadcast along axis 0") as caught:
        x * y
    assert [line.split(" ")[0] for line in caught.value.diagnostic.lines] == ["x:", "y:"]


@pytest.mark.parametrize(
    "build",
    [
        lambda b, x: -b,
        lambda b, x: at.sign(b),
        lambda b, x: b - b,
        lambda b, x: x & x,
        lambda b, x: ~x,
        lambda b, x: at.exp(x, x),
        lambda b, x: at.add(),
        lambda b, x: at.eq(x, True),
        lambda b, x: at.exp("x"),
        lambda b, x: bool(x),
    ],
)
def test_wrong_operands_are_type_errors(build: object) -> None:
    with pytest.raises(GraphTypeError):
        build(at.vector("b", "bool"), at.vector("x"))  # type: ignore[operator]


def test_unsupported_dtypes_are_refused() -> None:
    x = at.vector("x")
    with pytest.raises(UnsupportedError):
        at.cast(x, "datetime64[s]")
    with pytest.raises(UnsupportedError):
        x + np.array(["text"])


@pytest.mark.shows("tensor/0-negative-powers")
def test_integers_to_negative_powers_are_refused() -> None:
    x, y = at.ivector("x"), at.ivector("y")
    with pytest.raises(GraphValueError, match="power -2"):
        x**-2
    with pytest.raises(GraphValueError, match="negative integer power"):
        (x**y).eval({x: np.int32([2]), y: np.int32([-1])})


def test_an_unknown_rounding_mode_is_refused() -> None:
    with pytest.raises(GraphValueError, match="half_up"):
        at.round(at.vector("x"), "half_up")


ORDERS = [0, 1, 2, 3, 5, 8, 9, 15]
POSITIVE = np.concatenate([np.linspace(0.05, 4, 20), np.linspace(4.5, 60, 12), [1e-9, 1e-3, 1e3, 1e9]])
NEGATIVE = np.array([-0.3, -0.9, -1.25, -2.2, -7.1, -30.2])  # away from zeros


def _psi(order: int, x: float) -> float:
    with mp.workdps(40):
        return float(mp.psi(order, mp.mpf(x)))


@pytest.mark.shows("tensor/3-polygamma")
def test_polygamma_of_known_orders_and_its_derivatives() -> None:
    """Against mpmath; float32 against float64."""
    x, single = at.dvector("x"), at.fvector("single")
    values = [at.polygamma(n, x) for n in ORDERS]
    f = aot.function([x], [*values, *(grad(y.sum(), x) for y in values)])
    for points, rtol in ((POSITIVE, 4e-15), (NEGATIVE, 1e-12)):
        for run in (f, f.reference):
            for n, found in zip([*ORDERS, *(n + 1 for n in ORDERS)], run(points), strict=True):
                np.testing.assert_allclose(found, [_psi(n, v) for v in points], rtol=rtol, err_msg=f"order {n}")
    g = aot.function([single], [at.polygamma(n, single) for n in ORDERS[:5]])
    for found, n in zip(g(np.float32([0.5, 2.5])), ORDERS, strict=False):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, [_psi(n, 0.5), _psi(n, 2.5)], rtol=2e-7)


@pytest.mark.shows("tensor/3-polygamma")
def test_polygamma_of_orders_in_a_tensor() -> None:
    n, x = at.lvector("n"), at.dvector("x")
    y = at.polygamma(n, x)
    f = aot.function([n, x], [y, grad(y.sum(), x)])
    orders = np.resize(np.arange(12), len(POSITIVE))
    for run in (f, f.reference):
        value, derivative = run(orders, POSITIVE)
        np.testing.assert_allclose(value, [_psi(int(k), v) for k, v in zip(orders, POSITIVE, strict=True)], rtol=2e-14)
        np.testing.assert_allclose(
            derivative, [_psi(int(k) + 1, v) for k, v in zip(orders, POSITIVE, strict=True)], rtol=2e-14
        )
        np.testing.assert_array_equal(run([-1, 2, 3], [1.0, -1.0, 0.0])[0], [np.nan, -np.inf, np.inf])
    np.testing.assert_allclose(at.polygamma(n, 2.5).eval({n: [0, 1]}), [_psi(0, 2.5), _psi(1, 2.5)], rtol=1e-14)


@pytest.mark.shows("tensor/3-polygamma")
def test_polygamma_at_the_corners_is_that_of_scipy() -> None:
    corners = np.array([0.0, -0.0, -1.0, -2.0, -(2.0**60), np.inf, np.nan])
    x = at.dvector("x")
    f = aot.function([x], [at.polygamma(n, x) for n in (2, 3, 9)])
    for run in (f, f.reference):
        for found, n in zip(run(corners), (2, 3, 9), strict=True):
            np.testing.assert_array_equal(found, scipy.special.polygamma(n, corners))


def test_polygamma_says_what_an_order_is() -> None:
    x, n = at.scalar("x"), at.scalar("n")
    with pytest.raises(GraphValueError, match="order -1 is negative"):
        at.polygamma(-1, x)
    for wrong in (1.0, True, n, np.array([0.5])):
        with pytest.raises(GraphTypeError, match="the order must be an integer"):
            at.polygamma(wrong, x)
    k = at.iscalar("k")
    with pytest.raises(NullTypeGradError, match="it counts derivatives"):
        grad(at.polygamma(k, x), k)


def test_second_derivatives() -> None:
    x = at.scalar("x")
    for build, expected in ((at.log, -0.25), (at.sqrt, -0.25 * 2**-1.5), (lambda v: v**3, 12.0), (at.psi, None)):
        derivative = grad(build(x), x)
        if expected is not None:
            assert grad(derivative, x).eval({x: 2.0}) == pytest.approx(expected, rel=1e-14)


def test_infinity_needs_no_warning() -> None:
    x = at.vector("x")
    values = (1 / x + at.log(x) + x // 0 + at.exp(x * 1e9)).eval({x: np.array([0.0, -1.0, 1.0])})
    assert np.isnan(values[:2]).all()
    assert values[2] == np.inf
