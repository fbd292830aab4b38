"""Op: all that is known about one operation, in one class; Apply: its use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import Field, fields, is_dataclass
from typing import Any, ClassVar

import numpy as np

from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphError, GraphTypeError, UnsupportedError
from aotensor.graph.placeholder import DisconnectedType, NullType
from aotensor.graph.variable import Variable, as_tensor


class Apply:
    """One use of an op: `op(inputs) → outputs`. Immutable."""

    __slots__ = ("inputs", "op", "outputs")

    def __init__(self, op: Op, inputs: Sequence[Variable], output_types: Sequence[TensorType]) -> None:
        self.op = op
        self.inputs = tuple(inputs)
        self.outputs = tuple(Variable(type, self, index) for index, type in enumerate(output_types))

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(map(str, self.inputs))})"


class Op(ABC):
    """An operation: an immutable value, equal to another one if class and parameters are.

    Subclasses are frozen dataclasses whose fields are the compile-time parameters (axis, dtype, ...). The rules below
    hold the whole knowledge; those that are abstract must be given.
    """

    name: ClassVar[str]

    is_analytic: ClassVar[bool] = False
    """Whether `continued` gives the values at complex inputs too, which the complex step differentiates."""

    def __call__(self, *inputs: Any) -> Any:
        """Apply the op to variables, arrays or numbers: one Variable, or a list of them for several outputs."""
        outputs = self.apply(*inputs).outputs
        return outputs[0] if len(outputs) == 1 else list(outputs)

    def apply(self, *inputs: Any) -> Apply:
        """The node of this op on these inputs.   Raises: GraphError with the names and types of the inputs."""
        variables = self.convert_inputs(inputs)
        try:
            types = self.infer_type(*(x.tensor_type for x in variables))
        except GraphError as error:
            raise _with_operands(error, self, variables) from error
        return Apply(self, variables, types if isinstance(types, tuple) else (types,))

    def convert_inputs(self, inputs: Sequence[Any]) -> list[Variable]:
        """Inputs as variables; ops with weak literals override it."""
        return [as_tensor(x) for x in inputs]

    @abstractmethod
    def infer_type(self, *types: Any) -> TensorType | tuple[TensorType, ...]:
        """Types of the outputs.   Raises: GraphError if the inputs may not be combined."""

    @abstractmethod
    def reference(self, *inputs: Any) -> Any:
        """The meaning, in NumPy and SciPy: an array, or a tuple of arrays."""

    def continued(self, *inputs: Any) -> Any:
        """The meaning at complex inputs, for an analytic op: every floating input comes as complex128."""
        return self.reference(*inputs)

    @abstractmethod
    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> Sequence[Variable]:
        """One cotangent per input. The cotangent of an unused output is of DisconnectedType."""

    @abstractmethod
    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> Sequence[Variable]:
        """One tangent per output. The tangent of an input that does not vary is of DisconnectedType."""

    @abstractmethod
    def lower(self, b: TensorBuilder, *inputs: Any) -> Tensor | tuple[Tensor, ...]:
        """The op in tensor IR."""

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        """The outputs of `node` on inputs of which those marked have one new leading axis, the samples.

        An output has that axis too, unless it is the same for all samples.   Raises: UnsupportedError without a rule.
        """
        raise UnsupportedError(f"{self.name}: has no rule for a batch of samples", lines=[repr(node)])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """[i][o] is true if elements of input i influence elements of output o. All, unless an op says otherwise."""
        return [[True] * len(node.outputs) for _ in node.inputs]

    def evaluate(self, node: Apply, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """`reference` on checked inputs, with results of exactly the declared dtypes."""
        results = self.reference(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        return tuple(np.asarray(x, dtype=out.dtype) for x, out in zip(results, node.outputs, strict=True))

    def __str__(self) -> str:
        """`sum{axis=(0,)}`: the name and the parameters, as stable text."""
        known: tuple[Field[Any], ...] = fields(self) if is_dataclass(self) else ()
        parameters = ", ".join(f"{field.name}={getattr(self, field.name)}" for field in known if field.repr)
        return f"{self.name}{{{parameters}}}" if parameters else self.name


def _with_operands(error: GraphError, op: Op, variables: Sequence[Variable]) -> GraphError:
    """The same error with the op's name in front and its operands below."""
    found = error.diagnostic
    title = found.title if found.title.startswith(op.name) else f"{op.name}: {found.title}"
    return type(error)(title, lines=[*found.lines, *(x.describe() for x in variables)], hint=found.hint)


def disconnected() -> Variable:
    """A gradient term that says: no influence."""
    return Variable(DisconnectedType())


def is_disconnected(x: Variable) -> bool:
    """True for a gradient term that says: no influence."""
    return isinstance(x.type, DisconnectedType)


def is_null(x: Variable) -> bool:
    """True for a gradient that is undefined or not implemented."""
    return isinstance(x.type, NullType)


def null_gradient(op: Op, position: int, x: Variable, what: str, comment: str = "") -> Variable:
    """A gradient term that is `what` ("undefined" or "not implemented"), with the reason for whoever uses it."""
    reason = f"the gradient of {op.name} with respect to input {position} ({x}) is {what}"
    return Variable(NullType(f"{reason}: {comment}" if comment else reason))


def sum_terms(terms: Sequence[Variable], add: Callable[[Variable, Variable], Variable]) -> Variable:
    """The sum of gradient terms: null poisons, disconnected ones are skipped; nothing left is disconnected.

    Raises: GraphTypeError if two terms have different ranks.
    """
    total: Variable | None = None
    for term in terms:
        if is_null(term):
            return term
        if is_disconnected(term):
            continue
        if total is not None and total.ndim != term.ndim:
            raise GraphTypeError("gradient terms of different rank", lines=[total.describe(), term.describe()])
        total = term if total is None else add(total, term)
    return disconnected() if total is None else total
