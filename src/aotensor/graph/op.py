"""Op: typing, reference, derivatives and lowering of one operation in one class; Apply: an application of an op."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import Field, fields, is_dataclass
from functools import cache
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphError, GraphTypeError, GraphValueError, MissingRuleError, UnsupportedError
from aotensor.graph.operands import check_count, is_complex, is_half, with_operands
from aotensor.graph.operations import KnownValues, complex_numbers, halves, kernel_calls, sparse
from aotensor.graph.placeholder import DisconnectedType, NullType
from aotensor.graph.site import replacement_site, variables_at
from aotensor.graph.variable import Variable, Variables, as_tensor

_TRACE: ContextVar[list[Apply] | None] = ContextVar("trace", default=None)


@contextmanager
def tracing() -> Iterator[list[Apply]]:
    """Context manager that records the nodes created within it, in order, including those of nested traces."""
    outer, made = _TRACE.get(), list[Apply]()
    token = _TRACE.set(made)
    try:
        yield made
    finally:
        _TRACE.reset(token)
        if outer is not None:
            outer.extend(made)


class Apply:
    """One application of an op: `op(inputs) → outputs`. Immutable."""

    __slots__ = ("inputs", "op", "outputs")

    def __init__(self, op: Op, inputs: Sequence[Variable], output_types: Sequence[TensorType]) -> None:
        self.op = op
        self.inputs = tuple(inputs)
        self.outputs = tuple(Variable(type, self, index) for index, type in enumerate(output_types))
        trace = _TRACE.get()
        if trace is not None:
            trace.append(self)

    def on(self, inputs: Sequence[Variable]) -> Apply:
        """The same op applied to other inputs, with this node's source line; the node itself if they are the same.

        Raises: as `Op.apply`
        """
        if all(new is old for new, old in zip(inputs, self.inputs, strict=True)):
            return self
        with variables_at(replacement_site(self)):
            if all(new.type == old.type for new, old in zip(inputs, self.inputs, strict=True)):
                return Apply(self.op, inputs, [x.type for x in self.outputs])
            return self.op.apply(*inputs)

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(map(str, self.inputs))})"


class Op(ABC):
    """An operation: an immutable value; two ops are equal if their class and parameters are.

    Subclasses are frozen dataclasses whose fields are the compile-time parameters (axis, dtype, ...). The rules below
    define the op completely. `infer_type` and `reference` must be given; an op without `lower` or `expand` is not
    compiled, one without a derivative rule is not differentiated, one without `batch` has no Jacobian by one sweep.
    """

    name: ClassVar[str]
    """By default the name of the class."""

    notation: ClassVar[str] = ""
    """Its text in messages, if it is not `name(x, y)` by the public function of its name: an operator ("+", "~"), the
    name of another public function, or a format of the texts of its operands ("(1 - {0})"; "{0}" leaves the op out)."""

    takes_sparse: ClassVar[bool] = False
    """Accepts sparse matrices as inputs."""

    takes_complex: ClassVar[bool] = False
    """Accepts and returns complex values; otherwise its counterpart on complex values is used, or it is refused."""

    takes_half: ClassVar[bool] = False
    """Accepts and returns float16 and bfloat16, because it only moves elements; otherwise it is computed in float32."""

    is_check: ClassVar[bool] = False
    """Output k is input k, after a check at run time."""

    gives_extent: ClassVar[bool] = False
    """Its result is the extent of its input along its parameter `axis`."""

    is_analytic: ClassVar[bool] = False
    """`continued` also evaluates it at complex inputs, for the complex step."""

    is_holomorphic: ClassVar[bool] = False
    """Its complex results are holomorphic functions of its complex inputs."""

    sees_discrete: ClassVar[bool] = True
    """Its derivative rules are called even if all outputs are discrete; otherwise sweeps assume zeros."""

    kernel: ClassVar[Callable[..., Any]]
    """A static method in the kernel language that computes the outputs: it replaces `reference` and `lower`."""

    has_kernel: ClassVar[bool] = False
    """Does the class, or one that it inherits from, have a static method `kernel`?"""

    input_dims: ClassVar[Sequence[Sequence[Dim]]] = ()
    """For an op with a kernel: names or numbers of the axes of each input; equal names are checked to be equal."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if isinstance(vars(cls).get("kernel"), staticmethod):
            cls.has_kernel = True
            for rule in {"reference", "expand"} - vars(cls).keys():
                setattr(cls, rule, lambda op, *inputs, rule=rule: getattr(kernel_calls, rule)(op, *inputs))
        if "name" not in vars(cls) and getattr(cls, "name", None) in {None, *(base.__name__ for base in cls.__mro__)}:
            cls.name = cls.__name__

    def __call__(self, *inputs: Any) -> Any:
        """Apply the op to variables, arrays or numbers: one Variable, or a list of them for several outputs.

        If an input is sparse and the op accepts dense tensors only, its sparse counterpart is applied.
        """
        if not self.takes_sparse and any(getattr(x, "is_sparse", False) for x in inputs):
            return sparse.counterpart(self, inputs)
        outputs = self.apply(*inputs).outputs
        return outputs[0] if len(outputs) == 1 else list(outputs)

    def apply(self, *inputs: Any) -> Apply:
        """Apply the op to these inputs: a new node.

        Raises: GraphError with the names and types of the inputs; GraphTypeError for a wrong result of infer_type, and
        for complex values where the op does not support them.
        """
        variables = self.convert_inputs(inputs)
        check_count(self.name, type(self).infer_type, variables)
        if not self.takes_half and any(map(is_half, variables)):
            return halves.counterpart(self, variables)
        if not self.takes_complex and any(map(is_complex, variables)):
            return complex_numbers.counterpart(self, variables)
        try:
            types = self.infer_type(*(x.tensor_type for x in variables))
        except GraphError as error:
            raise with_operands(error, self.name, variables) from error
        found = types if isinstance(types, tuple | list) else (types,)
        if not all(isinstance(type, TensorType) for type in found):
            raise GraphTypeError(f"{self.name}: infer_type gave {types!r:.60}, which is not a TensorType, nor several")
        if self.has_kernel:
            try:
                kernel_calls.check(self, variables, found)
            except GraphError as error:
                raise with_operands(error, self.name, variables) from error
        if not self.takes_complex and any(dtypes.is_complex(type.dtype) for type in found):
            raise complex_numbers.refusal(self.name, variables)
        if not self.takes_half and any(dtypes.is_half(type.dtype) for type in found):
            return halves.counterpart(self, variables)
        return Apply(self, variables, found)

    def convert_inputs(self, inputs: Sequence[Any]) -> list[Variable]:
        """Convert the inputs to variables; ops with weak literals override it."""
        return [as_tensor(x) for x in inputs]

    @abstractmethod
    def infer_type(self, *types: Any) -> TensorType | tuple[TensorType, ...]:
        """Types of the outputs.   Raises: GraphError if the inputs may not be combined."""

    def types_at(
        self, node: Apply, types: Sequence[TensorType], known: KnownValues
    ) -> TensorType | tuple[TensorType, ...]:
        """`infer_type` for known extents, and for known values where extents depend on values.   Raises: GraphError"""
        return self.infer_type(*types)

    @abstractmethod
    def reference(self, *inputs: Any) -> Any:
        """The reference implementation in NumPy and SciPy: an array, or a tuple of arrays."""

    def continued(self, *inputs: Any) -> Any:
        """The reference at complex inputs, for an analytic op: all floating inputs arrive as complex128."""
        return self.reference(*inputs)

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Variables:
        """The cotangents of all inputs. The cotangent of an unused output has DisconnectedType.

        Raises: MissingRuleError if the op has neither this nor `L_op` nor `grad`.
        """
        return call_pullback(self, inputs, outputs, cotangents)

    def pullback_to(
        self, wanted: Sequence[bool], inputs: Variables, outputs: Variables, cotangents: Variables
    ) -> Variables:
        """`pullback` where terms of inputs that are not wanted may be disconnected, as they are not used."""
        return call_pullback(self, inputs, outputs, cotangents, wanted)

    def L_op(self, inputs: Variables, outputs: Variables, output_grads: Variables) -> Variables:
        """`pullback` under its older name."""
        return call_pullback(self, inputs, outputs, output_grads)

    def grad(self, inputs: Sequence[Variable], output_grads: Sequence[Variable]) -> Sequence[Variable]:
        """`pullback` for formulas that need no outputs."""
        return call_pullback(self, inputs, self.apply(*inputs).outputs, output_grads)

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> Variables:
        """The tangents of all outputs. The tangent of an input that does not vary has DisconnectedType.

        Raises: MissingRuleError if the op has neither this nor `R_op`; `Rop` then uses two pullbacks.
        """
        found: Sequence[Variable] = call_pushforward(self, inputs, outputs, tangents)
        return found

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]) -> Sequence[Variable | None]:
        """The older form of `pushforward`, in which None replaces terms of DisconnectedType."""
        tangents = [disconnected() if x is None else x for x in eval_points]
        found = call_pushforward(self, inputs, self.apply(*inputs).outputs, tangents)
        return [None if is_disconnected(x) else x for x in found]

    def lower(self, b: TensorBuilder, *inputs: Any) -> Tensor | tuple[Tensor, ...]:
        """Emit the op in tensor IR.   Raises: UnsupportedError if the op has neither this nor `expand`."""
        raise UnsupportedError(
            "it cannot be compiled",
            hint="define `lower` or `expand` in the op; `eval` and `reference` do not need them",
        )

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        """The outputs computed by other ops, which replace this op before lowering; None if the op has `lower` instead.

        It also replaces missing derivative rules, connection pattern and batch rule.
        """
        return None

    def output_extents(self, inputs: Sequence[Variable]) -> Sequence[Sequence[Any]] | None:
        """The extents of each output of an op with a kernel, where its type rule does not say which input has them.

        Numbers and integer scalars; None by default.
        """
        return None

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        """The outputs of `node` for a batch: inputs with `is_batched` have one new leading axis, the samples.

        An output has that axis too, unless it is the same for all samples.   Raises: UnsupportedError without a rule.
        """
        raise UnsupportedError(f"{self.name} has no rule for batches", lines=[repr(node)])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """[i][o]: do elements of input i influence elements of output o? True for all by default."""
        return [[True] * len(node.outputs) for _ in node.inputs]

    def without_values(self, node: Apply) -> Sequence[Variable] | None:
        """The outputs, with sparsity patterns computed independently of values; None if all outputs may read all
        inputs.
        """
        return None

    def demanded(self, node: Apply, known: Mapping[Variable, Any]) -> Sequence[Variable]:
        """The inputs of `node` that its reference needs next, given the values so far; all by default."""
        return node.inputs

    def is_faithful(self) -> bool:
        """Are the derivatives those of the value? False where they differ on purpose: cut, scaled or clipped."""
        return True

    def is_dual(self) -> bool:
        """Are pullback and pushforward transposes of each other? False if one of them differs on purpose."""
        return True

    def evaluate(self, node: Apply, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """`reference` on checked inputs, with results of exactly the declared dtypes.

        Raises: GraphValueError for another number of results, or another rank.
        """
        results = self.reference(*inputs)
        is_several = isinstance(results, tuple) or (isinstance(results, list) and len(node.outputs) != 1)
        results = results if is_several else (results,)
        if len(results) != len(node.outputs):
            raise GraphValueError(f"{self.name}: reference gave {len(results)} results instead of {len(node.outputs)}")
        arrays = []
        for x, out in zip(results, node.outputs, strict=True):
            arrays.append(array := np.asarray(x, dtype=out.dtype))
            if array.ndim != out.ndim:
                raise GraphValueError(f"{self.name}: reference gave rank {array.ndim} instead of {out.type}")
        return tuple(arrays)

    def __str__(self) -> str:
        """`sum{axis=(0,)}`: the name with the parameters, in a stable form."""
        known: tuple[Field[Any], ...] = fields(self) if is_dataclass(self) else ()
        parameters = ", ".join(f"{field.name}={getattr(self, field.name)}" for field in known if field.repr)
        return f"{self.name}{{{parameters}}}" if parameters else self.name


REVERSE_RULES: Final = ("pullback_to", "pullback", "L_op", "grad")
FORWARD_RULES: Final = ("pushforward", "R_op")


@cache
def chosen_rule(op: type[Op], rules: tuple[str, ...]) -> str | None:
    """The first of `rules` that the most derived class defines: subclasses override all alternatives of a rule."""
    for base in op.__mro__:
        given = vars(base) if base is not Op else {}
        for rule in rules:
            if rule in given:
                return rule
    return None


def call_pullback(
    op: Op, inputs: Variables, outputs: Variables, cotangents: Variables, wanted: Sequence[bool] = ()
) -> Variables:
    """Call an op's reverse rule, if it can for `wanted` inputs only (by default all).   Raises: MissingRuleError"""
    match chosen_rule(type(op), REVERSE_RULES):
        case "pullback_to":
            return op.pullback_to(wanted or [True] * len(inputs), inputs, outputs, cotangents)
        case "pullback":
            return op.pullback(inputs, outputs, cotangents)
        case "L_op":
            return op.L_op(inputs, outputs, cotangents)
        case "grad":
            return op.grad(inputs, cotangents)
        case _:
            hint = "give the op pullback, L_op or grad"
            raise MissingRuleError(f"{op.name} has no derivative", lines=[x.describe() for x in outputs], hint=hint)


def call_pushforward(op: Op, inputs: Variables, outputs: Variables, tangents: Variables) -> Any:
    """Call the forward rule of an op; only None is checked. If no input varies, all tangents are disconnected.

    Raises: MissingRuleError if there is none.
    """
    if all(map(is_disconnected, tangents)):
        return [disconnected() for _ in outputs]
    match chosen_rule(type(op), FORWARD_RULES):
        case "pushforward":
            return op.pushforward(inputs, outputs, tangents)
        case "R_op":
            found: Any = op.R_op(inputs, [None if is_disconnected(x) else x for x in tangents])
            is_sequence = isinstance(found, list | tuple)
            return [disconnected() if x is None else x for x in found] if is_sequence else found
        case _:
            raise MissingRuleError(
                f"{op.name} has no forward derivative",
                lines=[x.describe() for x in outputs],
                hint="give the op pushforward or R_op",
            )


def disconnected() -> Variable:
    """A new gradient term of DisconnectedType, which says that the input does not influence the output."""
    return Variable(DisconnectedType())


def is_disconnected(x: Variable) -> bool:
    """Is a gradient term of DisconnectedType: does the input not influence the output?"""
    return isinstance(x.type, DisconnectedType)


def is_null(x: Variable) -> bool:
    """Is a gradient undefined or not implemented (NullType)?"""
    return isinstance(x.type, NullType)


def has_value(x: Variable) -> bool:
    """Is a gradient term a real one: neither disconnected nor null?"""
    return not isinstance(x.type, DisconnectedType | NullType)


def connected(directions: Variables) -> dict[int, Variable]:
    """The tangents or cotangents that are not of DisconnectedType, by position."""
    return {k: x for k, x in enumerate(directions) if not is_disconnected(x)}


def null_gradient(op: Op, position: int, x: Variable, what: str, comment: str = "") -> Variable:
    """A gradient term of NullType: `what` is "undefined" or "not implemented"; the reason is raised when it is used."""
    reason = f"the gradient of {op.name} with respect to input {position} ({x}) is {what}"
    return Variable(NullType(f"{reason}: {comment}" if comment else reason))


def sum_terms(terms: Sequence[Variable], add: Callable[[Variable, Variable], Variable]) -> Variable:
    """The sum of gradient terms: null if one is null, without the disconnected ones; disconnected if none is left.

    Raises: GraphTypeError if two terms have different ranks.
    """
    total: Variable | None = None
    for term in terms:
        if is_null(term):
            return term
        if is_disconnected(term):
            continue
        if total is not None and total.ndim != term.ndim:
            raise GraphTypeError("the terms of a gradient differ in rank", lines=[total.describe(), term.describe()])
        total = term if total is None else add(total, term)
    return disconnected() if total is None else total
