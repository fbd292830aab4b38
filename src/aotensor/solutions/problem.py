"""Users' functions as subgraphs of an unknown, and of the outer values that they read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from aotensor.config import config
from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.operations import sparse
from aotensor.graph.subgraph import Subgraph
from aotensor.graph.variable import Variable, as_tensor
from aotensor.graph.walk import replace
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.scan.step import captures
from aotensor.ops.shape.broadcast import specify_shape
from aotensor.ops.shape.extents import extents_of, shape_i
from aotensor.ops.shape.join import stack
from aotensor.ops.shape.reshape import reshape
from aotensor.solutions.results import Solution


@frozen_dataclass
class Unknown:
    """The unknown of a problem: where the search starts, as the user gave it, and as a vector."""

    given: Variable
    flat: Variable

    def shaped(self, x: Variable) -> Variable:
        """A vector reshaped to the shape of the user's start."""
        return x if self.given.ndim == 1 else reshape(x, extents_of(self.given), ndim=self.given.ndim)

    def restored(self, found: Solution) -> Solution:
        """The solution, reshaped from a vector to the user's shape."""
        return found._replace(solution=self.shaped(found.solution))


@frozen_dataclass
class Problem:
    """The outputs of a user's function of an unknown, and the outer values that the function reads.

    slot: stands for the unknown, (n,) or a scalar. slots: stand for the values in `parameters`.
    """

    slot: Variable
    slots: tuple[Variable, ...]
    output: Variable
    parameters: tuple[Variable, ...]

    def graph(self, *outputs: Variable) -> Subgraph:
        """The outputs as functions of (unknown, parameters)."""
        return Subgraph((self.slot, *self.slots), outputs)

    def at(self, output: Variable, x: Variable) -> Variable:
        """An output with another x substituted for the unknown; parameters stay symbols."""
        return replace([output], {self.slot: x})[0]


def unknown(name: str, what: str, x0: Any, dtype: str | None = None) -> Unknown:
    """Check and convert the start of a search.

    Raises: GraphTypeError unless x0 is a real dense tensor.
    """
    x = sparse.as_sparse_or_tensor(x0)
    if x.is_sparse or dtypes.is_complex(x.dtype):
        raise GraphTypeError(
            f"{name}: {what} must be a dense real tensor",
            lines=[x.describe()],
            hint="solve for the real and the imaginary parts, or for the stored values",
        )
    kind = dtypes.promote(x.dtype if dtypes.is_float(x.dtype) else config.floatX, dtype or "float32")
    x = cast(x, kind if dtypes.is_float(x.dtype) or dtype else config.floatX)
    return Unknown(x, x if x.ndim == 1 else reshape(x, [-1]))


def arguments(args: Any) -> list[Variable]:
    """The further arguments of a function as a list, from one value or a tuple."""
    given = args if isinstance(args, tuple | list) else (args,)
    return [sparse.as_sparse_or_tensor(x) for x in given]


def scalar_output(what: str) -> Callable[[Variable, Variable], Variable]:
    """A function that checks that a user's function returns a scalar.   It raises: GraphValueError"""

    def check(x: Variable, found: Variable) -> Variable:
        if found.ndim != 0:
            raise GraphValueError(f"{what} must return a scalar", lines=[found.describe()])
        return found

    return check


def called(name: str, what: str, fn: Callable[..., Any], values: Sequence[Variable]) -> Variable:
    """Call a user's function: returns its result, with a list of tensors of one shape stacked.

    Raises: GraphTypeError if it is not callable, or returns something else.
    """
    if not callable(fn):
        raise GraphTypeError(f"{name}: {what} must be a function, not {type(fn).__name__}")
    found = fn(*values)
    if isinstance(found, list | tuple):
        found = stack(list(found))
    if found is None:
        raise GraphTypeError(f"{name}: {what} returned None")
    found = as_tensor(found)
    if dtypes.is_complex(found.dtype):
        raise GraphTypeError(f"{name}: {what} must be real, but it is complex", lines=[found.describe()])
    return found


def vector_like(what: str, x: Variable, found: Variable, name: str = "x") -> Variable:
    """A result as a vector, after a check that it has the shape of x, at run time for unknown extents.

    name: of x, for errors.

    Raises: GraphValueError for another rank or other known extents.
    """
    pairs = zip(x.tensor_type.shape, found.tensor_type.shape, strict=False)
    differ = any(isinstance(m, int) and isinstance(n, int) and m != n for m, n in pairs)
    if found.ndim != x.ndim or differ:
        raise GraphValueError(f"{what} must have the shape of {name}", lines=[f"{name}: {x.type}", found.describe()])
    pairs = zip(x.tensor_type.shape, found.tensor_type.shape, strict=True)
    entries = [None if n is not None and m == n else shape_i(x, k) for k, (m, n) in enumerate(pairs)]
    if any(entry is not None for entry in entries):
        found = specify_shape(found, entries)
    return found if found.ndim == 1 else reshape(found, [-1])


def traced(
    name: str,
    what: str,
    fn: Callable[..., Any],
    given: Unknown,
    args: Sequence[Variable],
    check: Callable[[Variable, Variable], Variable],
    is_scalar: bool = False,
) -> tuple[Problem, Unknown]:
    """(problem, unknown) of a user's function, traced on symbols of the wider dtype of start and result.

    check: (symbol in the user's shape, what fn returned) → the output as the solver wants it.
    is_scalar: the slot has the rank of the user's x, not that of a vector.

    Raises: GraphTypeError, GraphValueError for a function that does not fit, or does not depend on x.
    """
    while True:
        shape = given.given.tensor_type.shape if is_scalar else given.flat.tensor_type.shape
        slot = Variable(TensorType(given.flat.dtype, shape), name="x")
        x = slot if is_scalar else given.shaped(slot)
        output = check(x, called(name, what, fn, [x, *args]))
        if not dtypes.is_float(output.dtype) or dtypes.promote(output.dtype, slot.dtype) == slot.dtype:
            break
        given = unknown(name, "x0", given.given, output.dtype)
    output = cast(output, slot.dtype)
    outer = captures([output], [slot])
    slots = tuple(Variable(value.type, name=value.name) for value in outer)
    output = replace([output], dict(zip(outer, slots, strict=True)))[0]
    problem = Problem(slot, slots, output, tuple(outer))
    if 0 not in problem.graph(output).influences[0]:
        raise GraphValueError(f"{name}: {what} does not depend on x", lines=[output.describe()])
    return problem, given
