"""Replace variables in a graph: the public functions, with checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from aotensor.core.types import TensorType, as_items
from aotensor.errors import AotensorError, GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.sparse_type import SparseConstant, SparseTensorType
from aotensor.graph.variable import Constant, Variable, as_tensor
from aotensor.graph.walk import leaves, toposort
from aotensor.graph.walk import replace as replaced

Replacements: TypeAlias = Mapping[Variable, Any] | Iterable[tuple[Variable, Any]] | None


@coerced
def clone_replace(output: Any, replace: Replacements = None, rebuild_strict: bool = True) -> Any:
    """A copy of the graph of `output` with variables exchanged; a list or tuple gives a list.

    replace: variable → its replacement, all at once: replacements are not searched for further ones.
    rebuild_strict: False also accepts replacements of another dtype, for which the ops find new types.

    Raises: GraphTypeError for a replacement of another type.
    """
    outputs = [output] if isinstance(output, Variable) else listed_variables(output)
    found = cloned(outputs, checked_replacements(replace, rebuild_strict))
    return found[0] if isinstance(output, Variable) else found


@coerced
def graph_replace(outputs: Any, replace: Replacements = None, *, strict: bool = True) -> Any:
    """`outputs` with variables exchanged; a list or tuple gives a list. Unchanged parts are shared.

    strict: False ignores variables that are not in the graph.

    Raises: GraphValueError if a variable is not in the graph, GraphTypeError for a replacement of another type.
    """
    targets = [outputs] if isinstance(outputs, Variable) else listed_variables(outputs)
    pairs = checked_replacements(replace)
    if strict:
        _check_presence(targets, pairs)
    found = replaced(targets, pairs)
    return found[0] if isinstance(outputs, Variable) else found


def listed_variables(outputs: Any) -> list[Variable]:
    """A sequence of variables as a list.   Raises: GraphTypeError for anything else."""
    found = as_items(outputs, "several variables")
    for x in found:
        if not isinstance(x, Variable):
            raise GraphTypeError(f"expected symbolic variables, found {type(x).__name__} {x!r:.60}")
    return found


def pairs_of(items: Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None) -> list[tuple[Any, Any]]:
    """A list of pairs from a mapping or an iterable of pairs.   Raises: GraphTypeError for anything else."""
    if items is None:
        return []
    if isinstance(items, Mapping):
        return list(items.items())
    if not isinstance(items, Iterable) or isinstance(items, str | Variable):
        raise GraphTypeError(f"expected a mapping or pairs, found {type(items).__name__} {items!r:.40}")
    pairs = [tuple(item) if isinstance(item, list | tuple) else (item,) for item in items]
    for pair in pairs:
        if len(pair) != 2:
            raise GraphTypeError(f"expected pairs, found {pair!r:.60}")
    return [(old, new) for old, new in pairs]


def checked_replacements(items: Replacements, is_strict: bool = True) -> dict[Variable, Variable]:
    """Check replacements, and return them by variable; if `is_strict`, each must have the type of its variable.

    Raises: GraphTypeError for a key that is not a variable, GraphTypeError or GraphValueError for another type.
    """
    result: dict[Variable, Variable] = {}
    for old, new in pairs_of(items):
        if not isinstance(old, Variable):
            raise GraphTypeError(f"expected a symbolic variable, found {type(old).__name__} {old!r:.60}")
        result[old] = convert_to_type_of(new, old, f"the replacement of {old}") if is_strict else as_tensor(new)
    return result


def convert_to_type_of(value: Any, x: Variable, what: str) -> Variable:
    """`value` as a variable of the type of x; numbers and arrays are converted if the conversion is lossless.

    Raises: GraphTypeError for another dtype, rank or static extent, or if x broadcasts along an axis of extent 1 that
    `value` is not known to have.
    """
    if not isinstance(value, Variable):
        return _constant_like(value, x, what)
    lines = [x.describe(), value.describe()]
    if value.is_sparse or x.is_sparse:
        _check_same_storage(value, x, what)
    if not isinstance(value.type, TensorType) or (value.dtype, value.ndim) != (x.dtype, x.ndim):
        is_near = isinstance(value.type, TensorType) and value.ndim == x.ndim
        raise GraphTypeError(f"{what} has another type", lines=lines, hint=f"cast it to {x.dtype}" if is_near else None)
    for axis, (one, other) in enumerate(zip(value.static_shape, x.static_shape, strict=True)):
        if one is not None and other is not None and one != other:
            raise GraphTypeError(f"{what} has extent {one} instead of {other} along axis {axis}", lines=lines)
        if other == 1 and one is None:
            raise GraphTypeError(
                f"{what} is not known to have extent 1 along axis {axis}", lines=lines, hint="use specify_broadcastable"
            )
    return value


def _check_same_storage(value: Variable, x: Variable, what: str) -> None:
    """Check that both are sparse matrices of one format and one index dtype.   Raises: GraphTypeError if not"""
    found, expected = (
        (y.type.format, y.type.index_dtype) if isinstance(y.type, SparseTensorType) else None for y in (value, x)
    )
    if found == expected:
        return
    hint = None
    if found is not None and expected is not None:
        hint = f"convert it to {expected[0]} with indices of {expected[1]}"
    elif expected is not None:
        hint = f"use {expected[0]}_from_dense"
    raise GraphTypeError(f"{what} has another storage format", lines=[x.describe(), value.describe()], hint=hint)


def cloned(outputs: Sequence[Variable], replacements: Mapping[Variable, Variable]) -> list[Variable]:
    """A copy of every node, with variables replaced by others."""
    mapping = dict(replacements)
    for node in toposort(outputs, stop=replacements):
        copies = node.op.apply(*(mapping.get(x, x) for x in node.inputs)).outputs
        for old, new in zip(node.outputs, copies, strict=True):
            new.name, new.site, new.origins = old.name, old.site, old.origins
            mapping.setdefault(old, new)
    return [mapping.get(x, x) for x in outputs]


def _constant_like(value: Any, x: Variable, what: str) -> Variable:
    if isinstance(value, list | tuple):
        variable = as_tensor(value)
        if not isinstance(variable, Constant):
            return convert_to_type_of(variable, x, what)
    try:
        if isinstance(x.type, SparseTensorType):
            matrix = x.type.filter(value)
            return SparseConstant(matrix, x.type.with_shape(matrix.shape))
        return Constant(x.tensor_type.filter(value))
    except AotensorError as error:
        raise type(error)(
            f"{what}: {error.diagnostic.title}", lines=[x.describe()], hint=error.diagnostic.hint
        ) from error


def _check_presence(outputs: Sequence[Variable], replacements: Mapping[Variable, Variable]) -> None:
    present = {*outputs, *leaves(outputs)}
    for node in toposort(outputs):
        present.update(node.inputs)
    for x in replacements:
        if x not in present:
            raise GraphValueError(f"{x} is not in the graph, so it cannot be replaced", lines=[x.describe()])
