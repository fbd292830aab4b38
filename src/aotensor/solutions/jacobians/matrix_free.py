"""Solutions with a Jacobian that is known by its products with vectors: J·v forward, Jᵀ·v in reverse.

    x = J(y)⁻¹·b        ẋ = J⁻¹·(ḃ − (∂(J·x)/∂y)·ẏ)        b̄ = J⁻ᵀ·x̄        ȳ = −(∂(J·x)/∂y)ᵀ·b̄

The solution is an op whose derivatives are solutions with the same products, so it can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aotensor.core.frozen import frozen_dataclass
from aotensor.gradient.composite import OpFromGraph
from aotensor.gradient.forward import push_through
from aotensor.gradient.sweep import pull_through
from aotensor.graph.expansion import Expansion
from aotensor.graph.op import disconnected, has_value
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.linear import zero_gradient
from aotensor.solutions.jacobians.gmres import gmres


@frozen_dataclass
class MatrixFree:
    """The Jacobian J = ∂G/∂x, or its transpose.   equations: y = (x, *parameters) → (G, …), with x and G (n,)"""

    equations: Subgraph
    is_transposed: bool = False

    def product(self, y: Sequence[Variable], v: Variable) -> Variable:
        """J·v, or Jᵀ·v."""
        graph = Expansion(self.equations.inputs, self.equations.outputs[:1])
        value = graph.on(y)
        if self.is_transposed:
            found = pull_through(graph, y, value, [v])[0]
        else:
            (found,) = push_through(graph, y, value, [v, *(disconnected() for _ in y[1:])])
        return found if has_value(found) else zero_gradient(v)

    def solve(self, y: Sequence[Variable], b: Variable) -> Variable:
        """J⁻¹·b, or J⁻ᵀ·b, by GMRES; nan if it is not found."""
        slots = [Variable(x.type, name=x.name) for x in y]
        right = Variable(b.type, name="b")
        connected = Subgraph((right, *slots), (self.product(slots, right),)).influences[0]
        op = OpFromGraph(
            [right, *slots],
            [gmres(lambda v: self.product(slots, v), right)],
            pullback=self.pullback,
            pushforward=self.pushforward,
            connection_pattern=[[k == 0 or k in connected] for k in range(1 + len(slots))],
            name="gmres",
        )
        return op(b, *y)  # type: ignore[no-any-return]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        """Cotangents of b and y."""
        x, (b, *y) = outputs[0], inputs
        graph, value = self._image(b, y, x)
        for_b = replace(self, is_transposed=not self.is_transposed).solve(y, cotangents[0])
        return [for_b, *pull_through(graph, [x, *y], value, [-for_b])[1:]]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        """The tangent of x."""
        x, (b, *y) = outputs[0], inputs
        graph, value = self._image(b, y, x)
        (moved,) = push_through(graph, [x, *y], value, [disconnected(), *tangents[1:]])
        right = tangents[0] if has_value(tangents[0]) else zero_gradient(b)
        return [self.solve(y, right - moved if has_value(moved) else right)]

    def _image(self, b: Variable, y: Sequence[Variable], x: Variable) -> tuple[Expansion, list[Variable]]:
        """(x, *y) → J(y)·x, and its value."""
        slots = [Variable(one.type, name=one.name) for one in y]
        v = Variable(b.type, name="v")
        graph = Expansion([v, *slots], [self.product(slots, v)])
        return graph, graph.on([x, *y])
