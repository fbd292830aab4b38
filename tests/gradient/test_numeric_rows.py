"""numeric_grad, verify_grad and GradientError in detail."""

from __future__ import annotations

from typing import Any

import ml_dtypes  # noqa: F401  (np.dtype("bfloat16"))
import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import TensorType
from aotensor.errors import GradientError, GraphTypeError, NullTypeGradError, UnsupportedError
from aotensor.gradient import grad_scale, numeric_grad, undefined_grad, verify_grad
from aotensor.graph.op import Op

# --- numeric_grad ----------------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/8.1-method")
def test_one_call_more_than_there_are_elements() -> None:
    seen: list[Any] = []

    def f(a: Any, b: Any) -> Any:
        seen.append((a.copy(), b.copy()))
        return 3 * a.sum() + 5 * b

    found = numeric_grad(f, [np.zeros((2, 2)), np.array(1.0)])
    assert len(seen) == 4 + 1 + 1
    np.testing.assert_array_equal(seen[0][0], np.zeros((2, 2)))
    np.testing.assert_array_equal([a.sum() for a, _ in seen[1:]], [1e-7] * 4 + [0])
    np.testing.assert_allclose(found.gf[0], np.full((2, 2), 3.0), rtol=1e-6)
    np.testing.assert_allclose(found.gf[1], 5.0, rtol=1e-6)


@pytest.mark.shows("gradient/8.1-point")
def test_gf_follows_the_container_of_pt() -> None:
    one = np.array([1.0, 2.0])
    assert isinstance(numeric_grad(np.sum, one).gf, np.ndarray)
    assert isinstance(numeric_grad(np.sum, [one]).gf, list)
    assert isinstance(numeric_grad(np.sum, (one,)).gf, list)


def test_the_point_is_left_as_it_was() -> None:
    point = np.array([1.0, 2.0])
    numeric_grad(np.sum, [point])
    np.testing.assert_array_equal(point, [1, 2])


@pytest.mark.shows("gradient/8.1-steps")
def test_table_of_steps() -> None:
    for key, step in (("float64", 1e-7), ("float32", 3e-4), ("float16", 1e-1)):
        assert numeric_grad.type_eps[key] == numeric_grad.type_eps[np.dtype(key)] == step


@pytest.mark.shows("gradient/8.1-eps", "gradient/8.1-working-dtype")
def test_mixed_dtypes_take_the_largest_step_and_the_finest_dtype() -> None:
    dtypes: set[Any] = set()

    def f(a: Any, b: Any) -> Any:
        dtypes.update((a.dtype.name, b.dtype.name))
        return np.sum(a**2 * b)

    found = numeric_grad(f, [np.array([1.0, 2.0]), np.array([3.0, 4.0], "float32")])
    np.testing.assert_allclose(found.gf[0], [6.0009, 16.0012], rtol=1e-9)
    assert dtypes == {"float64"}


def test_given_step() -> None:
    np.testing.assert_allclose(numeric_grad(lambda a: np.sum(a**2), np.array([1.0]), eps=0.5).gf, [2.5])


@pytest.mark.shows("gradient/8.1-eps", "gradient/8.1-sample")
def test_default_step_number() -> None:
    found = numeric_grad(lambda a: np.sum(a**2), np.array([1.0, 2.0])).gf
    np.testing.assert_allclose(found, [2.0000001, 4.00000009], atol=2e-8)


@pytest.mark.shows("gradient/8.1-integer")
@pytest.mark.parametrize("pt", [np.array([1, 2]), [np.array([True])], (np.array([1j]),), 3])
def test_points_that_are_not_floating(pt: Any) -> None:
    with pytest.raises(TypeError, match="not a floating dtype"):
        numeric_grad(np.sum, pt)


@pytest.mark.shows("gradient/8.1-out-type")
@pytest.mark.parametrize("out_type", ["complex32", "complex64", "complex128"])
def test_complex_out_type(out_type: str) -> None:
    with pytest.raises(TypeError, match="complex"):
        numeric_grad(np.sum, np.ones(2), out_type=out_type)


@pytest.mark.shows("gradient/8.1-abs-rel-err")
@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [(1, 1.1, (0.1, 0.1 / 2.1)), (0, 0, (0, 0)), (1e-10, 0, (1e-10, 0.01)), (-1.0, 1.0, (2.0, 1.0))],
)
def test_abs_rel_err(a: float, b: float, expected: tuple[float, float]) -> None:
    np.testing.assert_allclose(numeric_grad.abs_rel_err(a, b), expected, rtol=1e-9)


@pytest.mark.shows("gradient/8.1-abs-rel-err")
def test_abs_rel_err_keeps_its_floor_in_float64() -> None:
    absolute, relative = numeric_grad.abs_rel_err(np.float16(6e-8), np.float16(0))
    assert relative == pytest.approx(1.0)
    assert absolute == np.float16(6e-8)


@pytest.mark.shows("gradient/8.1-abs-rel-errors")
def test_abs_rel_errors_are_pairs() -> None:
    found = numeric_grad(lambda a, b: np.sum(a) + np.sum(b), [np.zeros(2), np.zeros(3)])
    pairs = found.abs_rel_errors([np.ones(2), np.ones(3)])
    assert [absolute.shape for absolute, _ in pairs] == [(2,), (3,)]
    for wrong in ([np.ones(2)], [np.ones(2), np.ones(2)], [np.ones((1, 2)), np.ones(3)]):
        with pytest.raises(ValueError, match="gradient"):
            found.abs_rel_errors(wrong)


@pytest.mark.shows("gradient/8.1-max-err")
def test_max_err_is_where_both_tolerances_are_exceeded_most() -> None:
    """Element 0 is off by much relatively, element 1 absolutely, element 2 by some of both."""
    found = numeric_grad(lambda a: np.sum(a * [1e-6, 1e6, 1.0]), np.zeros(3), eps=1.0)
    exact = np.array([2e-6, 1e6 + 1, 1.1])
    argument, position, absolute, relative = found.max_err([exact], 1e-3, 1e-3)
    assert (argument, position) == (0, 2)
    assert (absolute, relative) == pytest.approx((0.1, 0.1 / 2.1))
    with pytest.raises(ValueError, match="argument 0 is not finite"):
        found.max_err([exact * np.inf], 1, 1)


# --- verify_grad -----------------------------------------------------------------------------------------------------


class Counting:
    """A generator that counts its draws, and knows their shapes."""

    def __init__(self) -> None:
        self.shapes: list[Any] = []

    def random(self, shape: Any) -> Any:
        self.shapes.append(shape)
        return np.random.default_rng(len(self.shapes)).random(shape)


@pytest.mark.shows("gradient/8.2-loop", "gradient/8.2-no-tests")
@pytest.mark.parametrize("n_tests", [0, 1, 2, 5])
def test_projections_are_drawn_as_often_as_there_are_tests(n_tests: int) -> None:
    rng = Counting()
    verify_grad(lambda x: at.outer(x, x), [np.array([0.3, 0.5, 0.7])], n_tests=n_tests, rng=rng)
    assert rng.shapes == [(3, 3)] * n_tests


@pytest.mark.shows("gradient/8.2-rng")
@pytest.mark.parametrize(
    "rng", [None, np.random.default_rng(3), np.random.RandomState(3)], ids=["none", "Generator", "RandomState"]
)
def test_generators(rng: Any) -> None:
    verify_grad(at.tanh, [np.array([0.3, 0.5])], rng=rng)


@pytest.mark.shows("gradient/8.2-inputs")
def test_inputs_have_dtypes_shapes_and_names() -> None:
    seen: list[Any] = []

    def fun(*inputs: Any) -> Any:
        seen.extend((x.name, str(x.type)) for x in inputs)
        return inputs[0] * at.sum(inputs[1])

    verify_grad(fun, [np.ones(2, "float32"), np.ones((1, 3))], n_tests=1)
    assert seen == [("input 0", "float32[2]"), ("input 1", "float64[1, 3]")]


@pytest.mark.shows("gradient/8.2-tolerances", "gradient/8.2-failure")
def test_tolerances_by_dtype() -> None:
    """A relative error of 1 in 300 passes in float32 and fails in float64; the widest of the inputs counts."""

    def fun(x: Any, *others: Any) -> Any:
        return grad_scale(x, 1 + 1 / 300) * 100 + sum(at.sum(other) for other in others)

    verify_grad(fun, [np.ones(2, "float32")])
    verify_grad(fun, [np.ones(2), np.ones(2, "float32")])
    with pytest.raises(GradientError):
        verify_grad(fun, [np.ones(2)])
    verify_grad(fun, [np.ones(2)], rel_tol=1e-2)
    verify_grad(fun, [np.ones(2)], abs_tol=10.0)
    with pytest.raises(GradientError):
        verify_grad(fun, [np.ones(2, "float32")], abs_tol=1e-4, rel_tol=1e-4)


@pytest.mark.shows("gradient/8.2-tolerances", "tensor/0-half-gradients")
def test_half_precision_is_checked_with_a_step_of_its_own() -> None:
    """float16 alone: the numbers of bfloat16 are too far apart for differences."""
    verify_grad(lambda x: at.tanh(x) * x, [np.array([0.5, 1.5], "float16")], mode="FAST_RUN")
    with pytest.raises(GradientError):
        verify_grad(lambda x: at.tanh(x) * aot.gradient.disconnected_grad(x), [np.array([0.5, 1.5], "float16")])
    with pytest.raises(GraphTypeError, match="bfloat16, not a floating dtype"):
        verify_grad(at.tanh, [np.ones(2, "bfloat16")])


@pytest.mark.shows("gradient/8.2-linear-eps")
def test_a_step_does_linear_functions_no_harm() -> None:
    verify_grad(lambda x: 3 * x, [np.array([1.0, 2.0])], eps=10.0)
    with pytest.raises(GradientError):
        verify_grad(lambda x: x**2, [np.array([1.0, 2.0])], eps=10.0)


def test_projections_in_the_dtype_of_the_output() -> None:
    dtypes: list[str] = []

    class Note(Op):
        def infer_type(self, x: TensorType) -> TensorType:
            return x

        def reference(self, x: Any) -> Any:
            return x

        def grad(self, inputs: Any, output_grads: Any) -> Any:
            dtypes.append(output_grads[0].dtype)
            return [output_grads[0]]

    note = Note()
    verify_grad(lambda x: note(x), [np.ones(2, "float32")], cast_to_output_type=True)
    verify_grad(lambda x: note(x), [np.ones(2, "float32")])
    assert dtypes == ["float32", "float32"]


@pytest.mark.shows("gradient/8.2-discrete")
def test_discrete_outputs_pass() -> None:
    verify_grad(lambda x: at.cast(x, "int64"), [np.array([0.3, 0.7])])
    verify_grad(lambda x: at.gt(x, 0.5), [np.array([0.3, 0.7])])


@pytest.mark.shows("gradient/8.2-empty")
def test_empty_arrays_pass() -> None:
    verify_grad(at.exp, [np.zeros((0, 2))])
    verify_grad(lambda x, y: at.exp(y), [np.zeros(0), np.ones(2)])
    verify_grad(lambda: at.constant(1.0), [])


@pytest.mark.shows("gradient/8.2-analytic")
def test_inputs_that_do_not_matter_pass() -> None:
    verify_grad(lambda x, y: at.exp(x), [np.ones(2), np.ones(3)])


@pytest.mark.shows("gradient/8.2-forward")
@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "DEBUG_MODE", aot.function])
def test_modes(mode: Any) -> None:
    verify_grad(lambda x: at.sum(x**2) * x, [np.array([0.5, -0.3])], mode=mode)
    with pytest.raises(GradientError):
        verify_grad(lambda x: grad_scale(x, 2.0), [np.array([0.5])], mode=mode)


def test_differences_are_compiled_unless_told() -> None:
    """An op without lowering: the slow modes run it, the compiled evaluations of the differences do not."""

    class Cube(Op):
        def infer_type(self, x: TensorType) -> TensorType:
            return x

        def reference(self, x: Any) -> Any:
            return x**3

        def grad(self, inputs: Any, output_grads: Any) -> Any:
            return [3 * inputs[0] ** 2 * output_grads[0]]

    verify_grad(Cube(), [np.array([0.5])])
    verify_grad(Cube(), [np.array([0.5])], mode="FAST_COMPILE", no_debug_ref=False)
    with pytest.raises(UnsupportedError, match="Cube"):
        verify_grad(Cube(), [np.array([0.5])], mode="FAST_COMPILE")


@pytest.mark.shows("gradient/8.2-point", "gradient/8.2-result", "gradient/8.2-non-finite", "gradient/8.2-null")
@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: verify_grad(at.exp, np.ones(2)), TypeError, "list or tuple"),
        (lambda: verify_grad(at.exp, {"x": np.ones(2)}), TypeError, "list or tuple"),  # type: ignore[arg-type]
        (lambda: verify_grad(at.exp, [np.ones(2), np.ones(2, int)]), TypeError, r"pt\[1\]"),
        (lambda: verify_grad(lambda x: [x], [np.ones(2)]), NotImplementedError, "list"),
        (lambda: verify_grad(lambda x: (x, x), [np.ones(2)]), TypeError, "tuple"),
        (lambda: verify_grad(at.sqrt, [np.zeros(2)]), ValueError, "not finite"),
        (lambda: verify_grad(undefined_grad, [np.zeros(2)]), NullTypeGradError, "undefined"),
        (lambda: verify_grad(at.exp, [np.ones(2)], out_type="complex64"), TypeError, "complex"),
    ],
)
def test_refusals(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


# --- GradientError ---------------------------------------------------------------------------------------------------


@pytest.mark.shows("gradient/8.2-error")
def test_gradient_error_says_where_and_how_much() -> None:
    error = GradientError(1, 4, (2, 3), 2.5e-7, 1.0, 0.5, 0.25, 1e-4, 1e-3)
    found = (
        error.arg, error.err_pos, error.shape, error.val1, error.val2, error.abs_err, error.rel_err, error.abs_tol,
        error.rel_tol,
    )  # fmt: skip
    assert found == (1, 4, (2, 3), 2.5e-7, 1.0, 0.5, 0.25, 1e-4, 1e-3)
    lines = str(error).splitlines()
    assert len(lines) == 3
    assert "argument 1, element 4 of shape (2, 3)" in lines[0]
    assert "2.5e-07" in lines[0]
    assert "0.0001" in lines[1]
    assert "0.25" in lines[2]
