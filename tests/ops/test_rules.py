"""Every row of the case tables against every rule: types, both modes of differentiation, compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import pytest
from budgets import DEFAULT, level_of_run
from case import Case
from row_programs import CompiledRows, combined_programs, half_program, row_program
from tables import CASES, COMPILED, DIFFERENTIABLE, by_ops, over

from aotensor.core.dtypes import HALVES, epsilon, is_float, is_half
from aotensor.core.types import Array, TensorType
from aotensor.errors import UnsupportedError
from aotensor.gradient import Lop, Rop
from aotensor.graph.variable import Variable
from aotensor.graph.vectorize import batch
from aotensor.graph.walk import evaluate_all

ALL, SMOOTH = over(CASES), over(DIFFERENTIABLE)

STEERED = {
    "repeat-vector-of-one", "reshape-rest-ndim", "reshape-rest-vector", "reshape-vector", "scan-condition",
    "scan-until", "tile-vector",
}  # fmt: skip
"""Rows where an extent, or a number of steps, would differ from sample to sample: refused."""


@pytest.fixture(scope="module")
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CompiledRows:
    """The rows that this run compiles; with `-k` these are few, and one library is quickly made.

    By default values and gradients; with `--ci` J·ẋ, too.
    """
    wanted, folder = _wanted(request, test_compiled_is_reference), tmp_path_factory.mktemp("rows")
    has_tangents = level_of_run(request.config) != DEFAULT
    return CompiledRows.compile_all(wanted, folder, _opt_level(request), lambda case: [row_program(case, has_tangents)])


@pytest.fixture(scope="module")
def combined(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CompiledRows:
    """The rows that this run compiles in combinations of outputs."""
    wanted = _wanted(request, test_outputs_are_right_together)
    folder = tmp_path_factory.mktemp("combined")
    return CompiledRows.compile_all(wanted, folder, _opt_level(request), combined_programs, rows=8)


def _opt_level(request: pytest.FixtureRequest) -> int:
    return 1 if request.config.getoption("--all") else 0


def _wanted(request: pytest.FixtureRequest, test: Callable[..., None]) -> dict[str, list[Case]]:
    """Table → its rows that this run asks `test` for."""
    here = [item for item in request.session.items if isinstance(item, pytest.Function) and item.function is test]
    cases = [item.callspec.params["case"] for item in here]
    wanted = {case.id for case in cases if isinstance(case, Case)}
    return {module: [case for case in table if case.id in wanted] for module, table in COMPILED.items()}


HALF: Final = (
    "add", "true_div", "switch-broadcasts", "sum-keepdims", "prod-second", "op-CumSum", "sort-nan", "op-Softmax",
    "dot-matrices", "svd-square", "gather-rows", "scatter-set-rows", "scatter-inc-rows", "index-column-reversed",
    "mask-set-rows", "reshape-rest-stack", "op-Join", "op-Split", "scan-taps", "ifelse-else", "shift", "exp",
    "gammaln", "maximum-ties", "pow-specials", "isfinite", "where", "var-ddof", "median-odd-axis", "norm-3", "topk",
    "dot-with-itself", "matmul-batch", "einsum-ellipsis", "solve-matrix", "qr-r", "cholesky-odd", "inc-row",
    "broadcast_arrays", "transpose", "alloc-of-shape", "diag-above", "scan-nested", "random-normal",
    "random-gamma-scale",
)  # fmt: skip
"""Rows that are compiled for float16 and bfloat16, too: each way that an op has with dtypes that are stored only."""


@pytest.fixture(scope="module", params=HALVES)
def halved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CompiledRows:
    """Rows with float16, or bfloat16, in place of float64."""
    folder = tmp_path_factory.mktemp(request.param)
    wanted = _wanted(request, test_halves_are_those_of_the_reference)
    rows = {"half": [case for table in wanted.values() for case in table]}
    return CompiledRows.compile_all(rows, folder, 0, lambda case: [half_program(case, request.param)])


@pytest.mark.shows("tensor/0-halves", "tensor/0-half-rounding")
@over(case for case in CASES if case.id in HALF)
def test_halves_are_those_of_the_reference(case: Case, halved: CompiledRows) -> None:
    """Within 2 ulp: functions of float32 may differ in their last bit, which then rounds to the other side."""
    pairs = halved.results(case)
    assert any(is_half(expected.dtype.name) for _, expected in pairs) or case.id == "isfinite"
    for found, expected in pairs:
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        tolerance = 2 * epsilon(expected.dtype.name) if is_half(expected.dtype.name) else 1e-5
        wide = [x.astype(float) if is_float(x.dtype.name) else x for x in (found, expected)]
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance / 4)


@pytest.fixture(scope="module")
def fixed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CompiledRows:
    """Rows with all extents in their types."""
    wanted = _wanted(request, test_rows_of_known_extents_are_the_reference)
    folder = tmp_path_factory.mktemp("fixed")
    return CompiledRows.compile_all(wanted, folder, 0, lambda case: [row_program(case.of_known_extents())], rows=12)


@over(case for case in CASES if case.compiles)
def test_rows_of_known_extents_are_the_reference(case: Case, fixed: CompiledRows) -> None:
    """Rows compiled for one shape: where a loop is shared out, all that decides is a number then."""
    _check_results(case, fixed.results(case))


def test_ids_are_unique() -> None:
    ids = [case.id for case in CASES]
    assert {*HALF} - {*ids} == set()
    assert len(set(ids)) == len(ids), sorted({one for one in ids if ids.count(one) > 1})


@pytest.mark.unlimited("every row, 40 s in all")
@ALL
def test_declared_types_hold(case: Case, rng: np.random.Generator) -> None:
    """dtype, rank and static dims of every output, and the values where the case knows them."""
    arrays = case.draw(rng)
    variables = case.variables(arrays)
    outputs = case.outputs(variables)
    values = _evaluate(outputs, variables, arrays)
    for output, value in zip(outputs, values, strict=True):
        assert value.dtype == output.dtype
        assert value.ndim == output.ndim
        for known, extent in zip(output.static_shape, value.shape, strict=True):
            assert known is None or known == extent, (output.type, value.shape)
    rtol, atol = case.tolerances(outputs[0].dtype)
    for left, right in case.oracle(arrays, values):
        assert left.shape == right.shape
        np.testing.assert_allclose(left, right, rtol=rtol, atol=atol)


@dataclass(frozen=True)
class _Pullback:
    """A row at the point that the fixture `rng` draws first: its values, and Jᵀ·ȳ for random ȳ, the weights."""

    variables: Sequence[Variable]
    outputs: Sequence[Variable]
    wrt: Sequence[Variable]
    values: Sequence[Array]
    weights: Sequence[Array]
    pulled: Sequence[Array]


@lru_cache(maxsize=1)
def _pullback(id: str) -> _Pullback:
    """What both tests of a row's derivatives need; they run one after the other."""
    case, rng = next(case for case in DIFFERENTIABLE if case.id == id), np.random.default_rng(1)
    arrays = case.draw(np.random.default_rng(20240229))
    variables = case.variables(arrays)
    outputs = case.outputs(variables)
    wrt = [variables[position] for position in case.differentiable(arrays)]
    values = _evaluate(outputs, variables, arrays) if wrt else []
    weights = [_direction(rng, value) for value in values]
    pulled = _evaluate(Lop(outputs, wrt, weights), variables, arrays) if wrt else []
    return _Pullback(variables, outputs, wrt, values, weights, pulled)


@pytest.mark.unlimited("every row, 40 s in all")
@SMOOTH
def test_modes_are_adjoint(case: Case, rng: np.random.Generator) -> None:
    """⟨ȳ, J·ẋ⟩ = ⟨Jᵀ·ȳ, ẋ⟩: the two modes agree without any step size; derivatives have the types of their inputs."""
    pullback = _pullback(case.id)
    if not pullback.wrt:
        pytest.skip("no floating input")
    arrays, variables, outputs, wrt = case.draw(rng), pullback.variables, pullback.outputs, pullback.wrt
    values, weights, pulled = pullback.values, pullback.weights, pullback.pulled
    directions = [_direction(rng, array) for array, x in zip(arrays, variables, strict=True) if x in wrt]
    pushed = _evaluate(Rop(outputs, wrt, directions), variables, arrays)
    for x, derivative, position in zip(wrt, pulled, case.differentiable(arrays), strict=True):
        assert derivative.shape == arrays[position].shape
        assert derivative.dtype.kind == "f"
        assert x.dtype in (derivative.dtype.name, "bool") or x.dtype.lstrip("u").startswith("int")
    for tangent, value in zip(pushed, values, strict=True):
        assert tangent.shape == value.shape
    if all(np.all(np.isfinite(x)) for x in (*pulled, *pushed)):
        forward, reverse = _inner(weights, pushed), _inner(pulled, directions)
        floats = [x.dtype for x in (*wrt, *outputs) if x.dtype.startswith("float")]
        rtol, atol = case.tolerances(min(floats, default="float64"))
        assert abs(forward - reverse) <= rtol * _size(pulled, directions) + atol


@pytest.mark.unlimited("every row, 40 s in all")
@SMOOTH
def test_derivatives_agree_with_differences(case: Case, rng: np.random.Generator) -> None:
    """⟨Jᵀ·ȳ, ẋ⟩ against (⟨ȳ, f(x + hẋ)⟩ − ⟨ȳ, f(x − hẋ)⟩) / 2h along some random directions."""
    arrays = case.draw(rng)
    positions = case.differentiable(arrays)
    if not case.numeric or not positions or any(arrays[position].dtype != np.float64 for position in positions):
        pytest.skip("not smooth there, or too coarse a dtype")
    pullback = _pullback(case.id)
    outputs, variables, weights, pulled = pullback.outputs, pullback.variables, pullback.weights, pullback.pulled
    for _ in range(3):
        directions = [_direction(rng, arrays[position]) for position in positions]
        expected = _inner(pulled, directions)
        found = _central_difference(outputs, variables, arrays, positions, directions, weights)
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-7 * max(_size(pulled, directions), 1.0))


@pytest.mark.shows("gradient/11-choose-kink")
@over(case for case in CASES if case.specials)
def test_derivatives_at_special_points(case: Case, rng: np.random.Generator) -> None:
    """Documented subgradients and limits: ȳᵀ·J for ȳ of ones, and the same derivatives in forward mode."""
    arrays = case.draw(rng)
    variables = case.variables(arrays)
    outputs = case.outputs(variables)
    weights = [np.ones_like(value) for value in _evaluate(outputs, variables, arrays)]
    assert case.specials is not None
    for position, derivative in case.specials.items():
        x = variables[position]
        pulled, pushed = Lop(outputs, x, weights), Rop(outputs, x, np.ones(arrays[position].shape))
        np.testing.assert_allclose(_evaluate([pulled], variables, arrays)[0], derivative, rtol=1e-12, err_msg="reverse")
        if arrays[position].shape == weights[0].shape and len(weights) == 1:
            found = _evaluate(list(pushed), variables, arrays)[0]
            np.testing.assert_allclose(found, np.broadcast_to(derivative, found.shape), rtol=1e-12, err_msg="forward")


@pytest.mark.unlimited("tables.py says which rows run")
@by_ops(CASES)
def test_a_batch_is_its_samples(case: Case, rng: np.random.Generator) -> None:
    """Three samples of all inputs at once, and of each input alone, against the samples one by one."""
    arrays = case.draw(rng)
    variables = case.variables(arrays)
    outputs = case.outputs(variables)
    values = dict(zip(variables, arrays, strict=True))
    sampled = [x for x, array in values.items() if array.ndim or array.dtype.kind == "f"]
    refusals = 0
    for chosen in [sampled, *([x] for x in sampled if len(sampled) > 1)]:
        try:
            _check_batch(case, outputs, values, {x: _samples(rng, values[x], case.keeps_places) for x in chosen})
        except UnsupportedError:
            refusals += 1
    assert (refusals > 0) == (case.ragged or case.id in STEERED)


@pytest.mark.unlimited("tables.py says which rows run")
@by_ops(DIFFERENTIABLE)
def test_a_batch_of_derivatives_is_its_samples(case: Case, rng: np.random.Generator) -> None:
    """Jᵀ·ȳ for three ȳ at once, J·ẋ for three ẋ: what Jacobians are made of."""
    arrays = case.draw(rng)
    variables = case.variables(arrays)
    outputs = case.outputs(variables)
    values = dict(zip(variables, arrays, strict=True))
    wrt = [variables[position] for position in case.differentiable(arrays)]
    if not wrt:
        pytest.skip("no floating input")
    cotangents = _slots(rng, outputs, _evaluate(outputs, variables, arrays))
    tangents = _slots(rng, wrt, [values[x] for x in wrt])
    _check_batch(case, Lop(outputs, wrt, list(cotangents)), values, cotangents)
    _check_batch(case, Rop(outputs, wrt, list(tangents)), values, tangents)


@pytest.mark.unlimited("tables.py says which rows run")
@by_ops(case for table in COMPILED.values() for case in table)
def test_compiled_is_reference(case: Case, compiled: CompiledRows) -> None:
    """Values and derivatives of the library against the reference, dtypes included."""
    _check_results(case, compiled.results(case))


@over(case for case in DIFFERENTIABLE if case.compiles)
def test_outputs_are_right_together(case: Case, combined: CompiledRows) -> None:
    """Values, gradients, tangents and Hessian products of one graph share loops and storage, and keep their numbers."""
    results = combined.results(case)
    if not results:
        pytest.skip("no floating input")
    _check_results(case, results)


def _check_results(case: Case, results: Sequence[tuple[Array, Array]]) -> None:
    dtypes = {array.dtype.name for array in case.draw(np.random.default_rng(7))}
    for found, expected in results:
        assert found.dtype == expected.dtype
        coarsest = "float32" if "float32" in dtypes | {expected.dtype.name} else "float64"
        rtol, atol = case.tolerances(coarsest)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


def _evaluate(outputs: Sequence[Variable], variables: Sequence[Variable], arrays: Sequence[Array]) -> list[Array]:
    return evaluate_all(outputs, dict(zip(variables, arrays, strict=True)))


def _samples(rng: np.random.Generator, array: Array, keeps_places: bool) -> Array:
    """Three arrays of the same elements, the first one in their order; or of multiples of them, all in order."""
    if keeps_places:
        return np.stack([array, 2 * array, 3 * array])
    return np.stack([array, *(rng.permutation(array.ravel()).reshape(array.shape) for _ in range(2))])


def _slots(rng: np.random.Generator, xs: Sequence[Variable], arrays: Sequence[Array]) -> dict[Variable, Array]:
    """A symbol for a derivative of each x, and three directions for it."""
    slots: dict[Variable, Array] = {}
    for x, array in zip(xs, arrays, strict=True):
        dtype = x.dtype if array.dtype.kind == "f" else "float64"
        slot = Variable(TensorType(dtype, x.tensor_type.shape))
        slots[slot] = np.stack([_direction(rng, array) for _ in range(3)])
    return slots


def _check_batch(
    case: Case, outputs: Sequence[Variable], values: dict[Variable, Array], samples: dict[Variable, Array]
) -> None:
    """The outputs for all samples against each sample alone; `values` are the inputs that are not sampled."""
    symbols = {x: Variable(TensorType(x.dtype, (None, *x.tensor_type.shape))) for x in samples}
    whole = batch(outputs, symbols)
    found = evaluate_all(whole, values | {symbols[x]: array for x, array in samples.items()})
    alone = [evaluate_all(outputs, values | {x: array[k] for x, array in samples.items()}) for k in range(3)]
    for array, new, old, *singles in zip(found, whole, outputs, *alone, strict=True):
        expected = np.stack(singles) if new.ndim > old.ndim else singles[0]
        assert array.dtype == expected.dtype
        rtol, atol = case.tolerances(array.dtype.name)
        np.testing.assert_allclose(array, expected, rtol=rtol, atol=atol)


def _direction(rng: np.random.Generator, array: Array) -> Array:
    """Random numbers of the shape of `array`, of its dtype if that is a float."""
    return np.asarray(rng.uniform(0.5, 1.5, array.shape) * rng.choice([-1.0, 1.0], array.shape)).astype(
        array.dtype if array.dtype.kind == "f" else "float64"
    )


def _inner(xs: Sequence[Array], ys: Sequence[Array]) -> float:
    return sum(float(np.sum(np.asarray(x, "float64") * y)) for x, y in zip(xs, ys, strict=True))


def _size(xs: Sequence[Array], ys: Sequence[Array]) -> float:
    """Σ|xᵢ·yᵢ|: what the rounding of an inner product is proportional to."""
    return sum(float(np.sum(np.abs(x * y))) for x, y in zip(xs, ys, strict=True))


def _central_difference(
    outputs: Sequence[Variable],
    variables: Sequence[Variable],
    arrays: Sequence[Array],
    positions: Sequence[int],
    directions: Sequence[Array],
    weights: Sequence[Array],
    step: float = 2.0**-18,
) -> float:
    """Derivative of ⟨ȳ, f⟩ along the directions, by one extrapolation of central differences: error O(step⁴)."""

    def moved(amount: float) -> float:
        shifted = list(arrays)
        for position, direction in zip(positions, directions, strict=True):
            shifted[position] = np.asarray(arrays[position] + amount * direction)
        return _inner(weights, _evaluate(outputs, variables, shifted))

    coarse = (moved(2 * step) - moved(-2 * step)) / (4 * step)
    fine = (moved(step) - moved(-step)) / (2 * step)
    return (4 * fine - coarse) / 3
