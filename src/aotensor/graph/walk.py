"""Graph walks and evaluation, all iterative: deep chains cannot overflow Python's stack."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from aotensor.core.types import Array
from aotensor.errors import (
    AotensorError,
    Diagnostic,
    GraphIndexError,
    GraphLinAlgError,
    GraphOverflowError,
    GraphTypeError,
    GraphValueError,
    MissingInputError,
    OutOfMemory,
)
from aotensor.graph.expression import locate_message
from aotensor.graph.op import Apply
from aotensor.graph.variable import Constant, SharedVariable, Variable


def toposort(outputs: Iterable[Variable], stop: Collection[Variable] = ()) -> list[Apply]:
    """The nodes that `outputs` need in topological order; not those before a variable in `stop`.

    The order depends on the graph alone: depth first, inputs from left to right.
    """
    blocked = set(stop)
    order: list[Apply] = []
    done: set[Apply] = set()
    for output in outputs:
        first = output.owner
        if first is None or output in blocked or first in done:
            continue
        done.add(first)
        stack = [(first, iter(first.inputs))]
        while stack:
            node, pending = stack[-1]
            for x in pending:
                maker = x.owner
                if maker is not None and maker not in done and x not in blocked:
                    done.add(maker)
                    stack.append((maker, iter(maker.inputs)))
                    break
            else:
                stack.pop()
                order.append(node)
    return order


def leaves(outputs: Iterable[Variable], stop: Collection[Variable] = ()) -> list[Variable]:
    """Variables without owner (constants included), and those in `stop`, that `outputs` depend on, in order of use."""
    outputs = list(outputs)
    blocked = set(stop)
    found: dict[Variable, None] = {}
    for node in toposort(outputs, stop):
        for x in node.inputs:
            if x.owner is None or x in blocked:
                found[x] = None
    for x in outputs:
        if x.owner is None or x in blocked:
            found[x] = None
    return list(found)


def replace(
    outputs: Sequence[Variable], replacements: Mapping[Variable, Variable], is_rewrite: bool = False
) -> list[Variable]:
    """The same graph with some variables replaced by others; parts that do not depend on them are shared.

    is_rewrite: made by the compiler, so messages show the user's original nodes.
    """
    mapping: dict[Variable, Variable] = dict(replacements)
    for node in toposort(outputs, stop=replacements):
        if mapping.keys().isdisjoint(node.inputs):
            continue
        inputs = [mapping.get(x, x) for x in node.inputs]
        copies = node.on(inputs).outputs
        if copies is not node.outputs:
            for old, new in zip(node.outputs, copies, strict=True):
                new.name, new.origins = old.name, old.origins
                if not is_rewrite:
                    new.site = old.site
                mapping.setdefault(old, new)
    return [mapping.get(x, x) for x in outputs]


def evaluated(node: Apply, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Evaluate a node by its reference.

    Raises: our errors preceded by the node's expression and site, including value errors of NumPy and SciPy;
    errors of user-defined ops unchanged.
    """
    try:
        return node.op.evaluate(node, inputs)
    except AotensorError as error:
        if error.is_located:  # by a node inside of a loop body
            raise
        raise located_error(type(error), error.diagnostic, node, [np.shape(x) for x in inputs]) from error
    except (ArithmeticError, IndexError, MemoryError, ValueError) as error:
        if not type(node.op).__module__.startswith("aotensor."):
            raise
        kind = next(ours for theirs, ours in _NUMPY_SAYS.items() if isinstance(error, theirs))
        found = Diagnostic(str(error).partition("\n")[0][:120])
        raise located_error(kind, found, node, [np.shape(x) for x in inputs]) from error


def located_error(
    kind: type[AotensorError], found: Diagnostic, node: Apply, shapes: Sequence[Sequence[int | None]]
) -> AotensorError:
    """Make an error of a node: its message begins with the expression and site, and has the shapes of the inputs."""
    lines = [f"{x.describe()}, here {list(shape)}" for x, shape in zip(node.inputs, shapes, strict=True)]
    error = kind(locate_message(node, found.title), lines=found.lines or lines, hint=found.hint)
    error.is_located = True
    return error


_NUMPY_SAYS: Final[dict[type[Exception], type[AotensorError]]] = {
    np.linalg.LinAlgError: GraphLinAlgError,
    MemoryError: OutOfMemory,
    IndexError: GraphIndexError,
    OverflowError: GraphOverflowError,
    ArithmeticError: GraphValueError,
    ValueError: GraphValueError,
}
"""Errors about values, from special to general, with our error of the same kind."""


def evaluate_all(outputs: Sequence[Variable], values: Mapping[Variable, object]) -> list[Array]:
    """Values of several outputs by the reference, each node computed once.

    Raises: MissingInputError for a leaf that has no value, GraphTypeError for one of another type, GraphValueError if
    the same dim name gets two extents.
    """
    known: dict[Variable, Array] = {x: _filtered(x, value) for x, value in values.items()}
    check_named_dims(list(known.items()))
    for x in leaves(outputs, stop=known):
        if isinstance(x, Constant):
            known[x] = x.data
        elif isinstance(x, SharedVariable):
            known.setdefault(x, x.get_value(borrow=True))
        elif x not in known:
            raise MissingInputError(f"no value is given for {x}", lines=[x.describe()])
    compute_all(outputs, known, evaluated)
    return [known[x] for x in outputs]


def compute_all(
    outputs: Sequence[Variable],
    known: dict[Variable, Any],
    compute: Callable[[Apply, list[Any]], Sequence[Any]],
) -> None:
    """Evaluate all nodes that `outputs` need by compute(node, inputs), once each.

    `known` has the values of all leaves and gets the results. A node is evaluated after the inputs that its op demands;
    others are None.
    """
    stack = list(reversed(outputs))
    while stack:
        x = stack[-1]
        if x in known:
            stack.pop()
            continue
        assert x.owner is not None
        missing = [y for y in x.owner.op.demanded(x.owner, known) if y not in known]
        if missing:
            stack.extend(reversed(missing))
            continue
        results = compute(x.owner, [known.get(y) for y in x.owner.inputs])
        for y, value in zip(x.owner.outputs, results, strict=True):
            known.setdefault(y, value)


def input_of(x: Variable, key: Any) -> Variable:
    """The variable that a key of `eval` denotes.   Raises: GraphTypeError for any other key."""
    if not isinstance(key, Variable | str):
        raise GraphTypeError(f"a key of eval must be a variable or a name, not {key!r:.60}")
    return _input_named(x, key) if isinstance(key, str) else key


def _input_named(x: Variable, name: str) -> Variable:
    found = [leaf for leaf in leaves([x]) if leaf.name == name and not isinstance(leaf, Constant)]
    if len(found) != 1:
        raise GraphValueError(f"{len(found)} inputs of {x} have the name {name}", lines=[y.describe() for y in found])
    return found[0]


def _filtered(x: Variable, value: object) -> Array:
    try:
        return x.tensor_type.filter(value)
    except AotensorError as error:
        raise type(error)(f"{x}: {error.diagnostic.title}", hint=error.diagnostic.hint) from error


def check_named_dims(values: Sequence[tuple[Variable, Array]]) -> dict[str, int]:
    """The extent of each dim name.   Raises: GraphValueError if one name has two extents."""
    extents: dict[str, tuple[int, Variable]] = {}
    for x, array in values:
        for axis, dim in enumerate(x.tensor_type.shape):
            if not isinstance(dim, str):
                continue
            extent, first = extents.setdefault(dim, (array.shape[axis], x))
            if extent != array.shape[axis]:
                raise GraphValueError(f"dim {dim} of {x} is {array.shape[axis]}, but {first} has {dim} = {extent}")
    return {name: extent for name, (extent, _) in extents.items()}
