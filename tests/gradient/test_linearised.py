"""Ops that give their pushforward alone, and which directions reach a rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import TensorType
from aotensor.gradient import Lop, NullTypeGradError, Rop, disconnected_type, grad, grad_undefined
from aotensor.graph.op import Apply, Op, connected
from aotensor.ops.linear import LinearisedOp, filled

R, PHI = at.dvector("r"), at.dvector("phi")
POINT = {R: np.array([1.0, 2.0, 0.5]), PHI: np.array([0.1, -0.7, 2.0])}


@dataclass(frozen=True)
class Polar(LinearisedOp):
    """r, φ → r·cos φ, r·sin φ, and the sign of r; a third input has no influence."""

    name: ClassVar[str] = "polar"

    def infer_type(self, r: TensorType, phi: TensorType, n: TensorType) -> tuple[TensorType, ...]:
        return r, phi, TensorType("int64", r.shape)

    def reference(self, r: Any, phi: Any, n: Any) -> Any:
        return r * np.cos(phi), r * np.sin(phi), np.sign(r)

    def pushforward(self, inputs: Any, outputs: Any, tangents: Any) -> Any:
        (_, phi, _), (x, y, _) = inputs, outputs
        t_r, t_phi, _ = filled(tangents, inputs)
        return [at.cos(phi) * t_r - y * t_phi, at.sin(phi) * t_r + x * t_phi, disconnected_type()]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True, True, False], [True, True, False], [False] * 3]


def test_a_pullback_is_the_transposed_pushforward(rng: np.random.Generator) -> None:
    x, y, _ = Polar()(R, PHI, 3)
    a, b = rng.normal(size=3), rng.normal(size=3)
    r, phi = POINT[R], POINT[PHI]
    for outputs, weights in (([x, y], [a, b]), ([x], [a]), ([y], [b])):
        ct_x, ct_y = (a if x in outputs else 0 * a), (b if y in outputs else 0 * b)
        by_r, by_phi = (g.eval(POINT) for g in Lop(outputs, [R, PHI], weights))
        np.testing.assert_allclose(by_r, np.cos(phi) * ct_x + np.sin(phi) * ct_y)
        np.testing.assert_allclose(by_phi, r * (np.cos(phi) * ct_y - np.sin(phi) * ct_x))
    np.testing.assert_allclose(Rop(x, PHI, a).eval(POINT), -r * np.sin(phi) * a)
    second = grad(grad(x.sum(), PHI).sum(), R)
    np.testing.assert_allclose(second.eval(POINT), -np.sin(phi))


def test_it_is_compiled_with_its_expansion() -> None:
    @dataclass(frozen=True)
    class Compiled(Polar):
        def expand(self, inputs: Any) -> Any:
            r, phi, _ = inputs
            return [r * at.cos(phi), r * at.sin(phi), at.cast(at.sgn(r), "int64")]

    x, y, _ = Compiled()(R, PHI, 3)
    f = aot.function([R, PHI], grad((x * y).sum(), [R, PHI]), mode="DEBUG_MODE")
    by_r, by_phi = f(POINT[R], POINT[PHI])
    np.testing.assert_allclose(by_r, POINT[R] * np.sin(2 * POINT[PHI]))
    np.testing.assert_allclose(by_phi, POINT[R] ** 2 * np.cos(2 * POINT[PHI]))


def test_an_undefined_tangent_makes_the_pullback_undefined() -> None:
    class Partly(Polar):
        def pushforward(self, inputs: Any, outputs: Any, tangents: Any) -> Any:
            return [super().pushforward(inputs, outputs, tangents)[0], grad_undefined(self, 0, R), disconnected_type()]

    x, y, _ = Partly()(R, PHI, 3)
    assert grad(x.sum(), R).eval(POINT).shape == (3,)
    with pytest.raises(NullTypeGradError, match="undefined"):
        grad((x + y).sum(), R)


@dataclass(frozen=True)
class Spy(Op):
    """x, y → 2·x and 3·y, with rules that note the positions of the directions that they get."""

    name: ClassVar[str] = "spy"
    seen: list[Any] = field(default_factory=list, compare=False, repr=False)

    def infer_type(self, x: TensorType, y: TensorType) -> tuple[TensorType, ...]:
        return x, y, x

    def reference(self, x: Any, y: Any) -> Any:
        return 2 * x, 3 * y, np.ones_like(x)

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        self.seen.append([*connected(cotangents)])
        a, b, _ = filled(cotangents, outputs)
        return [2 * a, 3 * b]

    def pushforward(self, inputs: Any, outputs: Any, tangents: Any) -> Any:
        self.seen.append([*connected(tangents)])
        a, b = filled(tangents, inputs)
        return [2 * a, 3 * b, disconnected_type()]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True, False, False], [False, True, False]]


def test_rules_are_called_for_connected_directions_only() -> None:
    spy = Spy()
    first, second, third = spy(R, PHI)
    assert grad((first * third).sum(), R).eval(POINT).tolist() == [2.0, 2.0, 2.0]
    assert spy.seen == [[0]]
    grad((first * 0 + third).sum(), R, disconnected_inputs="ignore")
    grad(third.sum(), [R, PHI], disconnected_inputs="ignore")
    assert spy.seen == [[0], [0]]
    spy.seen.clear()
    ones = np.ones(3)
    assert Rop([first, second], R, ones, return_disconnected="none", disconnected_outputs="ignore")[1] is None
    assert Rop(second, PHI, ones).eval(POINT).tolist() == [3.0, 3.0, 3.0]
    assert spy.seen == [[0], [1]]
