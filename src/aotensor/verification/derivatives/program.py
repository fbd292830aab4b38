"""The derivatives of a program as another program, and the ways to evaluate both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np

from aotensor.core.dtypes import epsilon, is_float, is_half
from aotensor.core.types import Array
from aotensor.driver.definition import Definition
from aotensor.driver.prepare import expand_composites
from aotensor.errors import AotensorError
from aotensor.gradient.forward import pushforward
from aotensor.gradient.reverse import pullback
from aotensor.graph.continuation import continue_all
from aotensor.graph.expansion import has_complex
from aotensor.graph.subgraph import all_nodes
from aotensor.graph.variable import Variable
from aotensor.graph.walk import evaluate_all, leaves, replace, toposort
from aotensor.sampling.dense_view import Graph

Values: TypeAlias = dict[Variable, Array]
Pair: TypeAlias = tuple[str, str]
"""(output, input)"""


@dataclass
class Derivatives:
    """Pullbacks and pushforwards of floating outputs with respect to floating inputs.

    cotangents, tangents: symbols of the types of outputs and inputs. pulled: ȳᵀ·∂y/∂x per pair that is connected in the
    graph; pushed: Σₓ ∂y/∂x·ẋ per output. left: output → why it has no derivative.
    """

    outputs: dict[str, Variable]
    inputs: dict[str, Variable]
    cotangents: dict[str, Variable] = field(init=False)
    tangents: dict[str, Variable] = field(init=False)
    pulled: dict[Pair, Variable] = field(init=False, default_factory=dict)
    pushed: dict[str, Variable] = field(init=False, default_factory=dict)
    left: dict[str, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.cotangents = {key: Variable(y.tensor_type, name=f"{key}_cotangent") for key, y in self.outputs.items()}
        self.tangents = {key: Variable(x.tensor_type, name=f"{key}_tangent") for key, x in self.inputs.items()}
        for key, y in self.outputs.items():
            try:
                self._derive(key, y)
            except (AotensorError, NotImplementedError) as error:
                self.left[key] = error.diagnostic.title if isinstance(error, AotensorError) else str(error)

    def _derive(self, key: str, y: Variable) -> None:
        wrt = list(self.inputs.values())
        derivatives = pullback(y, wrt, self.cotangents[key], disconnected_inputs="ignore")
        tangent = pushforward(y, wrt, list(self.tangents.values()), disconnected_outputs="ignore")
        reached = set(leaves([y], stop=wrt))
        pairs = zip(self.inputs, wrt, derivatives, strict=True)
        self.pulled.update({(key, name): derivative for name, x, derivative in pairs if x in reached})
        self.pushed[key] = tangent

    @property
    def operations(self) -> int:
        """Operations of the program of all derivatives, those in the bodies of loops counted once."""
        return len(all_nodes([*self.pulled.values(), *self.pushed.values()]))

    def within(self, most: float) -> tuple[Derivatives, dict[str, int]]:
        """(Derivatives of at most `most` operations, those of the smallest outputs; the operations of each other one)

        Operations in the bodies of loops count.
        """
        sizes = {
            key: len(all_nodes([*(y for (output, _), y in self.pulled.items() if output == key), tangent]))
            for key, tangent in self.pushed.items()
        }
        larger, total = dict[str, int](), 0
        for key in sorted(sizes, key=lambda key: sizes[key]):
            total += sizes[key]
            if total > most:
                larger[key] = sizes[key]
        smaller = copy(self)
        smaller.pulled = {pair: y for pair, y in self.pulled.items() if pair[0] not in larger}
        smaller.pushed = {key: y for key, y in self.pushed.items() if key not in larger}
        return smaller, larger

    def dtype(self, output: str) -> str:
        """The least precise dtype on the paths to an output."""
        return _coarsest(self.outputs[output])

    def function(self, arguments: Mapping[str, Variable], name: str) -> Definition:
        """The definition of Σ over outputs of ȳᵀ·∂y/∂x per input, then of `pushed`; shared variables become inputs.

        Its inputs: `arguments`, the cotangents, the tangents. One sweep per mode, so that it compiles quickly.
        """
        inputs = {x: Variable(x.tensor_type, name=key) for key, x in arguments.items()}
        symbols = [*self.cotangents.values(), *self.tangents.values()]
        outputs = [self.outputs[key] for key in self.pushed]
        cotangents = [self.cotangents[key] for key in self.pushed]
        derivatives = pullback(outputs, list(self.inputs.values()), cotangents, disconnected_inputs="ignore")
        results = replace([*derivatives, *self.pushed.values()], inputs)
        return Definition([*inputs.values(), *symbols], results, name=name, on_unused_input="ignore")


class Execution(Protocol):
    """Base of ways to compute values and derivatives of a program."""

    name: str
    derivatives: Derivatives

    def evaluate_shifted(self, values: Values, x: Variable, change: Array | float) -> dict[str, Array]:
        """All outputs at `values`, with input x increased by `change`."""
        ...

    def derivatives_at(self, values: Values) -> tuple[dict[Pair, Array], dict[str, Array]]:
        """(pulled, pushed) at `values`, which include cotangents and tangents."""
        ...


class Reference:
    """The NumPy reference, in float64 wherever the graph allows, even for float32 inputs.

    dtypes: output → the least precise dtype of its value, and of its derivatives.
    """

    name = "reference"

    def __init__(self, derivatives: Derivatives) -> None:
        self.derivatives = derivatives
        outputs = list(derivatives.outputs.values())
        wider = {x: Variable(x.tensor_type.with_dtype("float64"), name=x.name) for x in derivatives.inputs.values()}
        widened = _widened(outputs, wider)
        self._inputs = wider if widened else {x: x for x in wider}
        #: the same outputs as functions of float64 inputs, if that is possible
        self.path = dict(zip(derivatives.outputs, widened or outputs, strict=True))

    def values_of(self, values: Values) -> Values:
        """The values of all leaves on which `path` depends."""
        return values | {y: values[x].astype(y.dtype) for x, y in self._inputs.items()}

    def evaluate_shifted(self, values: Values, x: Variable, change: Array | float) -> dict[str, Array]:
        known, wide = self.values_of(values), self._inputs[x]
        known[wide] = np.asarray(known[wide] + change, dtype=wide.dtype)
        with np.errstate(all="ignore"):
            found = evaluate_all(list(self.path.values()), known)
        return dict(zip(self.path, found, strict=True))

    def continued(self, output: str, values: Values, x: Variable, change: Array) -> Array:
        """One output with input x increased by i·change.   Raises: UnsupportedError if the graph is not analytic."""
        known, wide = self.values_of(values), self._inputs[x]
        path = [self.path[output]]
        if _has_matrices(path[0]) or _has_complex(path[0]):
            path = expand_composites(path, list(known))
        return continue_all(path, known | {wide: known[wide] + 1j * change})[0]

    def dtype(self, output: str) -> str:
        """The least precise dtype on the paths to the values of an output."""
        return _coarsest(self.path[output])

    def derivatives_at(self, values: Values) -> tuple[dict[Pair, Array], dict[str, Array]]:
        d = self.derivatives
        with np.errstate(all="ignore"):
            found = evaluate_all([*d.pulled.values(), *d.pushed.values()], values)
        count = len(d.pulled)
        return dict(zip(d.pulled, found[:count], strict=True)), dict(zip(d.pushed, found[count:], strict=True))


class Compiled:
    """Compiled code: `call` returns all results of the function, `derive` those of its derivatives."""

    name = "compiled"

    def __init__(self, f: Graph, derivatives: Derivatives, call: Callables, derive: Callables) -> None:
        self.derivatives = derivatives
        self._arguments = list(f.arguments.values())
        self._results = list(f.results)
        self._call, self._derive = call, derive

    def evaluate_shifted(self, values: Values, x: Variable, change: Array | float) -> dict[str, Array]:
        return self.values_at(values | {x: np.asarray(values[x] + change, dtype=x.dtype)})

    def values_at(self, values: Values) -> dict[str, Array]:
        """All floating outputs at `values`."""
        found = dict(zip(self._results, self._call([values[y] for y in self._arguments]), strict=True))
        return {key: found[key] for key in self.derivatives.outputs}

    def derivatives_at(self, values: Values) -> tuple[dict[Pair, Array], dict[str, Array]]:
        d = self.derivatives
        pulled: dict[Pair, Array] = {}
        pushed: dict[str, Array] = {}
        for key in d.pushed:
            others = {x: np.zeros_like(values[x]) for name, x in d.cotangents.items() if name != key}
            known = values | others
            symbols = [*self._arguments, *d.cotangents.values(), *d.tangents.values()]
            found = self._derive([known[x] for x in symbols])
            pulled.update({(key, name): x for name, x in zip(d.inputs, found, strict=False) if (key, name) in d.pulled})
            pushed[key] = found[len(d.inputs) + len(pushed)]
        return pulled, pushed


class Callables(Protocol):
    """An execution by functions from arrays to arrays."""

    def __call__(self, values: Sequence[Array]) -> Sequence[Array]: ...


def _widened(outputs: Sequence[Variable], inputs: Mapping[Variable, Variable]) -> list[Variable] | None:
    """The outputs as functions of float64 inputs; None if some op requires float32."""
    if all(x.dtype == "float64" for x in inputs):
        return None
    try:
        widened = _without_rounding(outputs, inputs)
    except AotensorError:
        return None
    return None if any(_coarsest(y) != "float64" for y in widened) else widened


def _without_rounding(outputs: Sequence[Variable], inputs: Mapping[Variable, Variable]) -> list[Variable]:
    """The outputs for other inputs, without the casts around each op to and from storage-only dtypes."""
    known = dict(inputs)
    for node in toposort(outputs, stop=inputs):
        found = [known.get(x, x) for x in node.inputs]
        x, y = node.inputs[0] if node.inputs else None, node.outputs[0]
        if x is not None and node.op.name == "cast" and is_half(x.dtype) != is_half(y.dtype) and is_float(y.dtype):
            known[y] = found[0]
        else:
            known.update(zip(node.outputs, node.op.apply(*found).outputs, strict=True))
    return [known.get(x, x) for x in outputs]


def _has_complex(output: Variable) -> bool:
    """Are there complex values on the paths to an output? If so, it is expanded to real values for the complex step."""
    return any(map(has_complex, toposort([output])))


def _has_matrices(output: Variable) -> bool:
    """Are there sparse values on the paths to an output? If so, they are expanded to vectors for the complex step."""
    return any(x.is_sparse for node in toposort([output]) for x in node.outputs)


def _coarsest(output: Variable) -> str:
    nodes = toposort([output])
    values = [output, *(x for node in nodes for x in (*node.inputs, *node.outputs))]
    found = {x.dtype for x in values}
    return max(filter(is_float, found), key=epsilon, default="float64")
