"""OpFromGraph: a graph as one op, with optional custom derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from aotensor.core import dtypes
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError, MissingInputError, UnsupportedOptionError
from aotensor.gradient.batched_rules import SampledRules
from aotensor.gradient.forward import push_through
from aotensor.gradient.overrides import Override, forward_rule, older_forward_rule, reverse_rule
from aotensor.gradient.sweep import pull_through
from aotensor.gradient.terms import Pattern, graph_pattern
from aotensor.graph.expansion import Expansion
from aotensor.graph.op import Apply, Op, has_value
from aotensor.graph.sparse_type import SparseTensorType
from aotensor.graph.subgraph import is_dual
from aotensor.graph.variable import Constant, SharedVariable, Variable, Variables
from aotensor.graph.vectorize import batch_through
from aotensor.graph.walk import evaluate_all, leaves, replace
from aotensor.ops.batching import repeated
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.linear import filled
from aotensor.ops.shape.broadcast import specify_shape
from aotensor.ops.shape.extents import shape_i
from aotensor.sparse.op import as_sparse_or_tensor


class OpFromGraph(Op):
    """A graph from `inputs` to `outputs` as one op, which is inlined when it is compiled.

    inputs, outputs: lists of variables; shared variables and constants inside need no mention.
    lop_overrides, or pullback: derivatives in reverse. None differentiates the graph; a function (inputs, outputs,
    cotangents) returns a list with one term per input; another OpFromGraph has inputs + outputs + cotangents; a list
    has one entry per input: None, a function that gives one term, or a variable of NullType or DisconnectedType. The
    cotangent of an unused output is zeros.
    rop_overrides: derivatives forward, in the same forms with one entry per output. A function takes (inputs,
    eval_points), where None is the tangent of an input that does not vary, and may give None for an output that is
    disconnected; another OpFromGraph is applied to inputs + eval_points, zeros for inputs that do not vary.
    pushforward: the same with functions (inputs, outputs, tangents), with DisconnectedType instead of None; another
    OpFromGraph is applied to inputs + outputs + tangents.
    connection_pattern: [i][o], derived from the graph if it is not given.
    inline: accepted for compatibility; every composite is inlined before it is compiled.
    strict: refuse shared variables that are not among the inputs.

    Raises: GraphTypeError unless inputs and outputs are lists of variables, or for an override of another form;
    GraphValueError for an input given twice, a list of another length, or an override given under both names;
    MissingInputError for a leaf that is not an input; NotImplementedError for updates and givens.
    """

    takes_half: ClassVar[bool] = True
    name: ClassVar[str] = "op_from_graph"
    notation: ClassVar[str] = "OpFromGraph"
    takes_sparse: ClassVar[bool] = True
    takes_complex: ClassVar[bool] = True

    def __init__(
        self,
        inputs: list[Variable],
        outputs: list[Variable],
        *,
        inline: bool = False,
        lop_overrides: Override = None,
        rop_overrides: Override = None,
        connection_pattern: Pattern | None = None,
        strict: bool = False,
        name: str | None = None,
        pullback: Override = None,
        pushforward: Override = None,
        updates: object = None,
        givens: object = None,
    ) -> None:
        if updates is not None or givens is not None:
            raise UnsupportedOptionError(
                "OpFromGraph does not support updates and givens", hint="give them to the function that uses it"
            )
        _check_one_name("lop_overrides", lop_overrides, "pullback", pullback)
        _check_one_name("rop_overrides", rop_overrides, "pushforward", pushforward)
        self.inner_inputs, self.inner_outputs = _checked("inputs", inputs), _checked("outputs", outputs)
        self.shared = _shared_leaves(self.inner_inputs, self.inner_outputs, strict)
        self.inline = inline
        self._leaves = [*self.inner_inputs, *self.shared]
        self._reverse = reverse_rule(pullback if lop_overrides is None else lop_overrides, len(inputs))
        older = older_forward_rule(rop_overrides, len(outputs))
        self._forward = forward_rule(pushforward, len(outputs)) if older is None else older
        self._pattern = connection_pattern
        self._instances: dict[tuple[TensorType, ...], Expansion] = {}
        if name is not None:
            self.__dict__.update(name=name, notation="")  # of this instance, not of the class

    def convert_inputs(self, inputs: Sequence[Any]) -> list[Variable]:
        """The inputs, converted to the types of the graph's inputs, and the shared variables that it reads.

        Raises: GraphTypeError for another number of inputs, or one of another type.
        """
        count = len(self.inner_inputs)
        if len(inputs) not in (count, len(self._leaves)):
            raise GraphTypeError(f"{self.name}: expected {count} inputs, found {len(inputs)}")
        extents: dict[str, tuple[Variable, int]] = {}
        fitted = [
            _as_input(f"{self.name}: input {inner}", as_sparse_or_tensor(x), inner.tensor_type, extents)
            for x, inner in zip(inputs, self.inner_inputs, strict=False)
        ]
        return [*fitted, *(inputs[count:] or self.shared)]

    def infer_type(self, *types: TensorType) -> tuple[TensorType, ...]:
        return tuple(x.tensor_type for x in self._instance(types).outputs)

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        return tuple(evaluate_all(self.inner_outputs, dict(zip(self._leaves, inputs, strict=True))))

    def evaluate(self, node: Apply, inputs: Sequence[Array]) -> tuple[Array, ...]:
        graph = self._instance_on(node.inputs)
        return tuple(evaluate_all(graph.outputs, dict(zip(graph.slots, inputs, strict=True))))

    def expand(self, inputs: Sequence[Variable]) -> list[Variable]:
        return self._instance_on(inputs).on(inputs)

    def connection_pattern(self, node: Apply) -> Pattern:
        if self._pattern is None:
            return self._derived_pattern
        if not isinstance(self._pattern, list):
            return self._pattern  # refused where it is used, as that of any op
        return [*self._pattern, *self._derived_pattern[len(self.inner_inputs) :]]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        rule, count = self._reverse, len(self.inner_inputs)
        if rule is None:
            return self._sweep_backward(inputs, outputs, cotangents)
        found: list[Variable] = rule.terms(inputs[:count], outputs, filled(cotangents, outputs))
        if not rule.defaults and not self.shared:
            return found
        own = self._sweep_backward(inputs, outputs, cotangents)
        return [own[i] if i in rule.defaults or i >= count else found[i] for i in range(len(own))]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        rule, count = self._forward, len(self.inner_inputs)
        if rule is None:
            return self._sweep_forward(inputs, outputs, tangents)
        found: list[Variable] = rule.terms(inputs[:count], outputs, tangents[:count])
        if not rule.defaults:
            return found
        own = self._sweep_forward(inputs, outputs, tangents)
        return [own[i] if i in rule.defaults else found[i] for i in range(len(own))]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        if self._reverse is None and self._forward is None and self._pattern is None:
            return self._batched(node, inputs, is_batched)
        slots = [Variable(x.type) for x in inputs]
        samples = slots[list(is_batched).index(True)]
        outputs = [
            new if new.ndim > old.ndim else repeated(new, samples)
            for new, old in zip(self._batched(node, slots, is_batched), node.outputs, strict=True)
        ]
        rules, pattern = SampledRules(node, tuple(is_batched)), self.connection_pattern(node)
        op = OpFromGraph(
            slots,
            outputs,
            pullback=rules.pullback,
            pushforward=rules.pushforward,
            connection_pattern=pattern,
            name=self.name,
        )
        return op.apply(*inputs).outputs

    def is_dual(self) -> bool:
        has_overrides = self._reverse is not None or self._forward is not None
        return not has_overrides and is_dual(self.inner_outputs, self.inner_inputs)

    @cached_property
    def _derived_pattern(self) -> Pattern:
        return graph_pattern(self._leaves, self.inner_outputs)

    def _instance_on(self, inputs: Sequence[Variable]) -> Expansion:
        return self._instance(tuple(x.tensor_type for x in inputs))

    def _instance(self, types: tuple[TensorType, ...]) -> Expansion:
        """The composite for inputs of these types, whose dims may be more specific than those of the definition."""
        if types not in self._instances:
            slots = [Variable(type, name=x.name) for type, x in zip(types, self._leaves, strict=True)]
            inner = replace(self.inner_outputs, dict(zip(self._leaves, slots, strict=True)))
            self._instances[types] = Expansion(slots, inner)
        return self._instances[types]

    def _sweep_backward(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        """Cotangents of all inputs by a backward sweep through the graph."""
        return pull_through(self._instance_on(inputs), inputs, outputs, cotangents)

    def _sweep_forward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        """Tangents of all outputs by a forward sweep through the graph."""
        return push_through(self._instance_on(inputs), inputs, outputs, tangents)

    def _batched(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> list[Variable]:
        """The outputs for all samples, by the batch rules of the ops in the graph."""
        single = [old if on else new for new, old, on in zip(inputs, node.inputs, is_batched, strict=True)]
        return batch_through(self._instance_on(single), inputs, is_batched)


def _as_input(what: str, x: Variable, wanted: TensorType, extents: dict[str, tuple[Variable, int]]) -> Variable:
    """x as an input of type `wanted`: cast if lossless, with its dims checked where the graph relies on them.

    extents: dim name → its first occurrence.
    """
    if isinstance(wanted, SparseTensorType) or x.is_sparse:
        return _fitted_matrix(what, x, wanted)
    is_wide_enough = np.can_cast(x.dtype, wanted.dtype, "safe") or (
        dtypes.is_discrete(x.dtype) and dtypes.is_float(wanted.dtype)
    )
    if x.ndim != wanted.rank or not is_wide_enough:
        raise GraphTypeError(f"{what} must be of {wanted}", lines=[x.describe()])
    if x.dtype != wanted.dtype:
        x = cast(x, wanted.dtype)
    entries: list[Any] = []
    for axis, dim in enumerate(wanted.shape):
        entry = dim if isinstance(dim, int) else None
        if isinstance(dim, str):
            first, first_axis = extents.setdefault(dim, (x, axis))
            known = first.tensor_type.shape[first_axis]
            if first is not x and (known is None or known != x.tensor_type.shape[axis]):
                entries.append(known if isinstance(known, int) else shape_i(first, first_axis))
                continue
        entries.append(entry)
    return specify_shape(x, entries)


def _fitted_matrix(what: str, x: Variable, wanted: TensorType) -> Variable:
    """A sparse x as an input of type `wanted`: cast if lossless; the ops inside check unknown extents."""
    is_known = isinstance(x.type, SparseTensorType) and isinstance(wanted, SparseTensorType)
    known = zip(x.tensor_type.shape, wanted.shape, strict=False)
    differ = any(isinstance(n, int) and isinstance(dim, int) and n != dim for n, dim in known)
    if not is_known or differ or x.type.format != wanted.format or not np.can_cast(x.dtype, wanted.dtype, "safe"):  # type: ignore[attr-defined]
        raise GraphTypeError(f"{what} must be of {wanted}", lines=[x.describe()])
    return x if x.dtype == wanted.dtype else x.astype(wanted.dtype)


def _checked(what: str, variables: Any) -> list[Variable]:
    if not isinstance(variables, list):
        raise GraphTypeError(f"OpFromGraph: {what} must be a list of variables, not {type(variables).__name__}")
    for x in variables:
        if not isinstance(x, Variable):
            raise GraphTypeError(f"OpFromGraph: {what} holds {type(x).__name__} {x!r:.40}, which is not a variable")
        if not has_value(x):
            raise GraphTypeError(f"OpFromGraph: {what} holds a variable of {x.type}, which has no value")
    if what == "inputs" and len(set(variables)) != len(variables):
        double = next(x for position, x in enumerate(variables) if x in variables[:position])
        raise GraphValueError(f"OpFromGraph: input {double} is given twice", lines=[double.describe()])
    return list(variables)


def _shared_leaves(inputs: Sequence[Variable], outputs: Sequence[Variable], strict: bool) -> list[SharedVariable]:
    """Shared variables that the outputs read.   Raises: MissingInputError for other leaves that are not inputs."""
    found: list[SharedVariable] = []
    for x in leaves(outputs, stop=inputs):
        if x in inputs or isinstance(x, Constant):
            continue
        if strict or not isinstance(x, SharedVariable):
            raise MissingInputError(f"OpFromGraph: {x} is needed but is not an input", lines=[x.describe()])
        found.append(x)
    return found


def _check_one_name(older: str, given: object, newer: str, other: object) -> None:
    if given is not None and other is not None:
        raise GraphValueError(f"OpFromGraph: {older} and {newer} are the same option; give only one")
