"""A solution as an op: a search, and derivatives by the implicit function theorem.

    G(x, p) = 0        ẋ = −J⁻¹·(∂G/∂p·ṗ)        p̄ = −(∂G/∂p)ᵀ·J⁻ᵀ·x̄        J = ∂G/∂x at the solution

All of it is a graph of the solution and of p, so it can be differentiated again. No step of the search is.
"""

from __future__ import annotations

from aotensor.core.frozen import frozen_dataclass
from aotensor.gradient.composite import OpFromGraph
from aotensor.gradient.forward import push_through
from aotensor.gradient.sweep import pull_through
from aotensor.graph.expansion import Expansion
from aotensor.graph.op import disconnected, has_value, is_disconnected
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable, Variables
from aotensor.ops.elementwise.compare import switch
from aotensor.ops.linear import zero_gradient
from aotensor.solutions.formulas import number, solve_or_nan
from aotensor.solutions.jacobians.matrix_free import MatrixFree


@frozen_dataclass
class Rules:
    """Derivatives of x with G(x, p) = 0; nan where the search failed or J is singular.

    equations: (x, *p) → (G, J), with G and J scalars, or (n,) and (n, n), or (n,) for a diagonal J; or (G,), whose
    Jacobian is known by its products. starts: the number of inputs before p.
    """

    equations: Subgraph
    starts: int

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        """Cotangents of the inputs: zeros for the start, by the implicit function theorem for the parameters p."""
        x, success, *_ = outputs
        place = [x, *inputs[self.starts :]]
        value, *matrix = self.equations.inlined(place)
        direction = -_nan_unless(success, self._solved(place, matrix, cotangents[0], is_transposed=True))
        graph = Expansion(self.equations.inputs, self.equations.outputs[:1])
        terms = pull_through(graph, place, [value], [direction])
        return [*map(zero_gradient, inputs[: self.starts]), *(_unless_failed(success, term) for term in terms[1:])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        """The tangent of the solution; other outputs have none."""
        x, success, *rest = outputs
        place = [x, *inputs[self.starts :]]
        value, *matrix = self.equations.inlined(place)
        graph = Expansion(self.equations.inputs, self.equations.outputs[:1])
        (moved,) = push_through(graph, place, [value], [disconnected(), *tangents[self.starts :]])
        found = (
            zero_gradient(x)
            if is_disconnected(moved)
            else -_nan_unless(success, self._solved(place, matrix, moved, is_transposed=False))
        )
        return [found, *(disconnected() for _ in (success, *rest))]

    def _solved(self, place: Variables, matrix: Variables, right: Variable, is_transposed: bool) -> Variable:
        """J⁻¹·right, or J⁻ᵀ·right; nan if there is none.   place: (x, *p). matrix: J, or nothing"""
        if matrix:
            return solve_or_nan(matrix[0], right, is_transposed)
        return MatrixFree(self.equations, is_transposed).solve(place, right)


def _unless_failed(success: Variable, term: Variable) -> Variable:
    """A term of the derivative, nan if the search failed, even if the term does not depend on the solution."""
    return _nan_unless(success, term) if has_value(term) and not term.is_sparse else term


def _nan_unless(success: Variable, x: Variable) -> Variable:
    return switch(success, x, number(float("nan"), x))


def as_op(name: str, starts: Variables, parameters: Variables, search: Subgraph, equations: Subgraph) -> list[Variable]:
    """The outputs of a search as one op, differentiated by the equations that its first output satisfies.

    search: (*starts, *parameters) → (solution, success, …). equations: (solution, *parameters) → (G, J), or (G,).
    """
    count = len(starts)
    connected = equations.influences[0]
    others = [False] * (len(search.outputs) - 1)
    pattern = [[k < count or k - count + 1 in connected, *others] for k in range(len(search.inputs))]
    rules = Rules(equations, count)
    op = OpFromGraph(
        list(search.inputs),
        list(search.outputs),
        pullback=rules.pullback,
        pushforward=rules.pushforward,
        connection_pattern=pattern,
        name=name,
    )
    return list(op.apply(*starts, *parameters).outputs)
