"""Ops that say where they are linear: their derivatives follow, and those of discrete outputs are never asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import TensorType
from aotensor.gradient import Rop
from aotensor.graph.variable import Variable
from aotensor.graph.walk import evaluate_all
from aotensor.ops.linear import MultilinearOp


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
