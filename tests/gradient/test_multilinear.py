"""Ops that say where they are linear: their derivatives follow, and those of discrete outputs are never asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.core.types import TensorType
from aotensor.gradient import Rop
from aotensor.graph.variable import Variable
from aotensor.graph.walk import evaluate_all
from aotensor.ops.linear import MultilinearOp, SolveOp


@dataclass(frozen=True)
class Triple(MultilinearOp):
    """Σ x·y·z·s, linear in x, y and z; s steers."""

    linear_in = ((0,), (1,), (2,))

    def infer_type(self, *types: TensorType) -> TensorType:
        return TensorType(types[0].dtype, ())

    def reference(self, *arrays: Any) -> Any:
        return np.asarray(np.prod(arrays, axis=0).sum(), arrays[0].dtype)

    def adjoints(self, inputs: Sequence[Variable], cotangent: Variable) -> Sequence[Variable]:
        x, y, z, s = inputs
        assert x.dtype != "int64", "the sweeps know what a discrete output sends"
        return [cotangent * s * y * z, cotangent * s * x * z, cotangent * s * x * y]


def test_both_rules_follow(rng: np.random.Generator) -> None:
    variables = [at.vector(name, dtype="float64") for name in "xyzs"]
    arrays = [rng.normal(size=4) for _ in variables]
    tangents = [rng.normal(size=4) for _ in range(3)]
    x, y, z, s = arrays
    out = Triple()(*variables)
    wrt = variables[:3]
    gradients = aot.grad(out, wrt)
    pushed = Rop(out, wrt, [at.constant(t) for t in tangents])
    second = Rop(gradients[0], [variables[1]], [at.constant(tangents[1])])
    found = evaluate_all([*gradients, pushed, second], dict(zip(variables, arrays, strict=True)))
    for value, expected in zip(found, [s * y * z, s * x * z, s * x * y], strict=False):
        np.testing.assert_allclose(value, expected)
    a, b, c = tangents
    np.testing.assert_allclose(found[3], (s * (a * y * z + x * b * z + x * y * c)).sum())
    np.testing.assert_allclose(found[4], s * b * z)


def test_what_steers_is_not_connected() -> None:
    variables = [at.vector(name, dtype="float64") for name in "xyzs"]
    with pytest.raises(aot.errors.DisconnectedInputError):
        aot.grad(Triple()(*variables), variables[3])


def test_discrete_outputs_send_zeros() -> None:
    variables = [at.vector(name, dtype="int64") for name in "xyzs"]
    out = Triple()(*variables)
    gradient = aot.grad(at.cast(out, "float64"), variables[1])
    pushed = Rop(at.cast(out, "float64"), variables[1], at.ones_like(variables[1], dtype="float64"))
    values = {v: np.arange(1, 4) for v in variables}
    found = evaluate_all([gradient, pushed], values)
    np.testing.assert_array_equal(found[0], np.zeros(3))
    np.testing.assert_array_equal(found[1], 0.0)


def test_checked_integers_move_nothing(rng: np.random.Generator) -> None:
    """The two modes agree on weights that are integers."""
    x, w = at.matrix("x", dtype="float64"), at.vector("w", dtype="int64")
    y = at.cov(x, fweights=w)
    pushed = Rop(y, w, at.ones_like(w, dtype="float64"))
    f = aot.function([x, w], {"g": aot.grad(y.sum(), w), "r": pushed}, name="f")
    found = f(rng.normal(size=(2, 5)), np.array([1, 2, 1, 1, 3]))
    assert not found["g"].any()
    assert not found["r"].any()


def test_integer_entries_move_nothing(rng: np.random.Generator) -> None:
    """A sparse matrix of integers is discrete like its data: zeros in both modes, whatever float op it meets."""
    a, v = at.vector("a", dtype="int64"), at.vector("v", dtype="float64")
    A = sp.CSR(a, np.array([0, 2, 1]), np.array([0, 2, 3]), np.array([2, 3]))
    y = sp.dot(A, v)
    pushed = Rop(y, a, at.ones_like(a, dtype="float64"))
    both = Rop(y, [a, v], [at.ones_like(a, dtype="float64"), v])
    f = aot.function([a, v], [aot.grad(y.sum(), a), pushed, both], name="f")
    at_entries = np.array([1, 2, 3]), rng.normal(size=3)
    for found in (f(*at_entries), f.reference(*at_entries)):
        np.testing.assert_array_equal(found[0], np.zeros(3))
        np.testing.assert_array_equal(found[1], np.zeros(2))
        np.testing.assert_allclose(found[2], [at_entries[1][0] + 2 * at_entries[1][2], 3 * at_entries[1][1]])


@dataclass(frozen=True)
class Halving(SolveOp):
    """x = b / a, by the equation a·x = b; s steers."""

    side = 1

    def infer_type(self, *types: TensorType) -> TensorType:
        return types[1]

    def reference(self, *arrays: Any) -> Any:
        return arrays[1] / arrays[0]

    def again(self, inputs: Sequence[Variable], b: Variable, is_transposed: bool = False) -> Variable:
        return self(inputs[0], b, inputs[2])  # type: ignore[no-any-return]

    def times(self, position: int, inputs: Sequence[Variable], tangent: Variable, x: Variable) -> Variable:
        return tangent * x

    outer = times


def test_solutions_are_differentiated_as_their_equations(rng: np.random.Generator) -> None:
    a, b, s = (at.vector(name, dtype="float64") for name in "abs")
    x = Halving()(a, b, s)
    point = [rng.uniform(1, 2, size=3) for _ in range(3)]
    terms = [*aot.grad(x.sum(), [a, b]), Rop(x, [a, b], [b, a]), Rop(x, b, a)]
    found = evaluate_all(terms, dict(zip((a, b, s), point, strict=True)))
    u, v, _ = point
    for value, expected in zip(found, [-v / u**2, 1 / u, 1 - v**2 / u**2, np.ones(3)], strict=True):
        np.testing.assert_allclose(value, expected)
    with pytest.raises(aot.errors.DisconnectedInputError):
        aot.grad(x.sum(), s)
