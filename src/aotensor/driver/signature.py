"""In and Out, the options of inputs and outputs, and the checks of inputs, outputs and updates."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from aotensor.core.dtypes import is_complex, is_inexact
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError, MissingInputError, UnusedInputError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import is_disconnected, is_null
from aotensor.graph.site import warn_user
from aotensor.graph.substitute import convert_to_type_of, pairs_of
from aotensor.graph.variable import Constant, SharedVariable, Variable
from aotensor.graph.walk import leaves, replace, toposort
from aotensor.sparse.construct.declared_pattern import checked_pattern
from aotensor.sparse.op import as_sparse_or_tensor
from aotensor_runtime.signature import MANIFOLDS

Outputs: TypeAlias = "Variable | Out | Sequence[Any] | Mapping[str, Any] | None"
Updates: TypeAlias = Mapping[SharedVariable, Any] | Iterable[tuple[SharedVariable, Any]] | None


@coerced
@dataclass(frozen=True, eq=False)
class In:
    """An input of a function, with options for its argument.

    name: the argument's name, by default the variable's.
    mutable: the function may overwrite the array that is passed. borrow: results may share its memory; by default as
    `mutable`. Compiled functions never do either, so both permissions are unused.
    strict: accept arrays of exactly this dtype and rank only.
    allow_downcast: True accepts wider floats; None follows `allow_input_downcast` of the function.
    value, update: refused; a shared variable holds a value that stays.
    data: solvers do not change it, so `abi="ceres"` makes it a member of the cost function, not a parameter block.
    manifold: on which a solver keeps it, one of `MANIFOLDS`: "quaternion" (w first), "eigen_quaternion" (w last),
    "sphere", "line" (a point and a direction). The manifest names it.
    layout: "F" for a dense array that C callers pass column-major, so that the first index is the fastest; Python
    callers pass any array; those with order="F" are not copied. Header and manifest say so.
    pattern: where a CSR or CSC matrix of static shape has stored entries in every call: a SciPy matrix with entries
    there, of any values, or a dense one that is not 0 there. Header and manifest have it; a call with another one is
    refused. Patterns of outputs and Jacobians follow from it, and interfaces such as `abi="casadi"` need it.

    start: the value that importers of an FMU begin with (`abi="fmi"`), by default 0; a number fills an array.

    Raises: GraphTypeError for anything but a variable, for a pattern of anything but a matrix of static shape, and for
    a start value of another type or of a sparse matrix;
    GraphValueError for value or update, for an input that is mutable but not borrowed, for an unknown manifold, for
    data on a manifold, for an unknown layout, and for a pattern of another shape.
    """

    variable: Variable
    name: str | None = None
    value: object = None
    update: object = None
    mutable: bool | None = None
    borrow: bool | None = None
    strict: bool = False
    allow_downcast: bool | None = None
    data: bool = False
    manifold: str | None = None
    layout: str = "C"
    pattern: Any = None
    start: Any = None

    def __post_init__(self) -> None:
        symbol(self.variable)
        if self.value is not None or self.update is not None:
            what = "value" if self.value is not None else "update"
            raise GraphValueError(f"In({self.variable}): {what} is not supported", hint="use a shared variable")
        if self.mutable and self.borrow is False:
            raise GraphValueError(
                f"In({self.variable}): mutable=True implies borrow=True", hint="leave out borrow=False"
            )
        if not isinstance(self.data, bool):
            raise GraphTypeError(f"In({self.variable}): data must be a bool, not {self.data!r:.60}")
        if self.manifold is not None and not (isinstance(self.manifold, str) and self.manifold in MANIFOLDS):
            raise GraphValueError(
                f"In({self.variable}): manifold {self.manifold!r:.60} is unknown",
                hint=f"known manifolds: {', '.join(MANIFOLDS)}",
            )
        _check_layout(f"In({self.variable})", self.layout, self.variable)
        if self.pattern is not None:
            checked = checked_pattern(f"In({self.variable})", self.variable, self.pattern)
            object.__setattr__(self, "pattern", checked)
        if self.start is not None:
            object.__setattr__(self, "start", _checked_start(self.variable, self.start))
        if self.data and self.manifold is not None:
            raise GraphValueError(
                f"In({self.variable}): data=True and manifold={self.manifold!r} contradict each other",
                hint="the solver keeps data constant, and changes an input with a manifold: leave out one option",
            )


@dataclass(frozen=True, eq=False)
class Out:
    """An output of a function, with options.

    layout: "F" for a dense array that is written column-major, as that of an `In`; its extents are known.
    borrow: the result may share memory with the function's state. Results are new arrays in any case: a later call
    never changes them, and writing to them changes no shared variable.

    Raises: GraphValueError for an unknown layout, GraphTypeError for a sparse matrix in column-major layout.
    """

    variable: Any
    borrow: bool = False
    layout: str = "C"

    def __post_init__(self) -> None:
        _check_layout(f"Out({self.variable})", self.layout, self.variable)


def _checked_start(x: Variable, start: Any) -> Array:
    """A start value as an array of the type of x.   Raises: GraphTypeError; GraphValueError unless it is finite"""
    name = f"In({x}): start"
    if x.is_sparse or None in x.static_shape:
        raise GraphTypeError(
            f"{name}= is supported only for dense arrays of static shape, not for {x.type}", lines=[x.describe()]
        )
    given, shape = np.asarray(start), tuple(n for n in x.static_shape if n is not None)
    fits = given.dtype.kind in ("biufc" if is_complex(x.dtype) else "biuf") and given.shape in ((), shape)
    found = np.full(shape, given).astype(x.dtype) if fits else given
    if not fits or not (is_inexact(x.dtype) or np.array_equal(found, np.full(shape, given))):
        raise GraphTypeError(f"{name}={start!r:.60} does not fit {x.type}", lines=[x.describe()])
    if not np.isfinite(found).all():
        raise GraphValueError(f"{name}={start!r:.60} is not finite", lines=[x.describe()])
    return found


def _check_layout(name: str, layout: object, x: object) -> None:
    """Raises: GraphValueError for an unknown layout, GraphTypeError for a sparse matrix in column-major layout"""
    if not isinstance(layout, str) or layout not in ("C", "F"):
        raise GraphValueError(f"{name}: layout must be 'C' or 'F', not {layout!r:.60}")
    if layout == "F" and isinstance(x, Variable) and x.is_sparse:
        raise GraphTypeError(
            f"{name}: layout='F' is supported only for dense arrays",
            lines=[x.describe()],
            hint="a csc matrix is stored by columns",
        )


def symbol(x: object) -> Variable:
    """x, after a check that it is a variable.   Raises: GraphTypeError"""
    if not isinstance(x, Variable):
        raise GraphTypeError(f"expected a symbolic variable, found {type(x).__name__} {x!r:.60}")
    return x


def checked_inputs(inputs: Sequence[Variable | In]) -> list[In]:
    """The inputs, each as an `In`.

    Raises: GraphTypeError for anything but a list of symbols, UnusedInputError for an input given twice.
    """
    if isinstance(inputs, Variable | In) or not isinstance(inputs, Sequence):
        raise GraphTypeError("inputs must be a list of variables", hint="write function([x], ...)")
    found = [x if isinstance(x, In) else In(symbol(x)) for x in inputs]
    variables = [one.variable for one in found]
    for x in variables:
        if isinstance(x, SharedVariable):
            raise GraphTypeError(
                f"the shared variable {x} cannot be an input",
                lines=[x.describe()],
                hint="it becomes an input by itself; use givens to replace it",
            )
        if isinstance(x, Constant):
            raise GraphTypeError(f"the constant {x} cannot be an input", lines=[x.describe()])
    doubles = [x for position, x in enumerate(variables) if x in variables[:position]]
    if doubles:
        raise UnusedInputError(f"input {doubles[0]} is given twice", lines=[doubles[0].describe()])
    return found


def named_outputs(outputs: Outputs) -> tuple[str, dict[str, Variable]]:
    """The kind of the result (single, list, dict or none) and the outputs by name.   Raises: GraphTypeError"""
    if outputs is None:
        return "none", {}
    if isinstance(outputs, Mapping):
        for key in outputs:
            if not isinstance(key, str):
                raise GraphTypeError(f"output key {key!r} is not a str")
        return "dict", {key: _output(x) for key, x in outputs.items()}
    if isinstance(outputs, list | tuple):
        return "list", {f"out{position}": _output(x) for position, x in enumerate(outputs)}
    return "single", {"out": _output(outputs)}


def are_column_major(outputs: Outputs) -> list[bool]:
    """For each output of `named_outputs`: is its layout "F" (column-major)?"""
    if isinstance(outputs, Mapping):
        listed = list(outputs.values())
    else:
        listed = list(outputs) if isinstance(outputs, list | tuple) else [outputs] if outputs is not None else []
    return [isinstance(x, Out) and x.layout == "F" for x in listed]


def _output(x: Any) -> Variable:
    return as_sparse_or_tensor(x.variable if isinstance(x, Out) else x)


def checked_updates(updates: Updates) -> list[tuple[SharedVariable, Variable]]:
    """Shared variable → next value, as pairs.

    Raises: GraphTypeError for another target or a value of another type, GraphValueError for a target given twice.
    """
    pairs: list[tuple[SharedVariable, Variable]] = []
    for target, value in pairs_of(updates):
        if not isinstance(target, SharedVariable):
            raise GraphTypeError(f"only shared variables can be updated, not {target!r:.60}")
        if any(target is old for old, _ in pairs):
            raise GraphValueError(f"the shared variable {target} is updated twice")
        pairs.append((target, convert_to_type_of(value, target, f"the update of {target}")))
    return pairs


def default_updates(
    targets: Sequence[Variable],
    with_known_type: Collection[SharedVariable],
    excluded: bool | Collection[Variable],
    inputs: Collection[Variable] = (),
    replacements: Mapping[Variable, Variable] | None = None,
) -> list[tuple[SharedVariable, Variable]]:
    """The default updates of the shared variables that are read and neither settled nor excluded.

    Counted are reads by `targets`, and by the updates of such variables in turn; not by the graphs of `inputs`.

    targets: outputs and given updates, after replacement. settled: variables with an update. excluded: True for all,
    or those that keep their value. replacements: made in the updates that are found.

    Raises: GraphTypeError for `excluded` of another kind, and for a default update of another type.
    """
    kept = _keeping(excluded)
    found: dict[SharedVariable, Variable] = {}
    pending = list(targets)
    while pending and kept is not None:
        read = [x for x in leaves(pending, stop=inputs) if isinstance(x, SharedVariable)]
        news = {x: x.default_update for x in read if x.default_update is not None}
        fresh = checked_updates({x: new for x, new in news.items() if x not in {*with_known_type, *kept, *found}})
        pending = replace([new for _, new in fresh], replacements or {})
        found |= dict(zip((x for x, _ in fresh), pending, strict=True))
    return list(found.items())


def _keeping(excluded: Any) -> set[Variable] | None:
    """The variables of `no_default_updates`, which keep their value; None for all.   Raises: GraphTypeError"""
    if isinstance(excluded, bool | np.bool_):
        return None if excluded else set()
    is_collection = isinstance(excluded, Collection) and not isinstance(excluded, str | Variable | np.ndarray)
    if not is_collection or not all(isinstance(x, SharedVariable) for x in excluded):
        raise GraphTypeError(f"no_default_updates must be a bool or a list of shared variables, not {excluded!r:.60}")
    return set(excluded)


def check_values(named: Mapping[str, Variable], results: Sequence[Variable]) -> None:
    """Check that outputs have values.   Raises: GraphTypeError for a null or disconnected output, with the reason."""
    for key, x in zip(named, results, strict=True):
        if is_null(x):
            raise GraphTypeError(f"output {key} has no value: {x.type.why_null}", lines=[x.describe()])
        if is_disconnected(x):
            raise GraphTypeError(f"output {key} has no value: it is a disconnected gradient", lines=[x.describe()])
        assert isinstance(x.type, TensorType)


def shared_leaves(
    name: str, inputs: Sequence[Variable], targets: Sequence[Variable], updated: Sequence[SharedVariable]
) -> list[SharedVariable]:
    """Shared variables that are read or updated, in order of use.

    Raises: MissingInputError for a leaf that is not an input.
    """
    found: dict[SharedVariable, None] = {}
    for x in leaves(targets, stop=inputs):
        if isinstance(x, SharedVariable):
            found[x] = None
        elif not isinstance(x, Constant) and x not in inputs:
            message = f"{name}: {x} is needed but is not an input"
            raise MissingInputError(message, lines=[x.describe()], hint="add it to inputs, or to givens")
    for x in updated:
        found[x] = None
    return list(found)


def check_unused(
    inputs: Sequence[Variable],
    targets: Sequence[Variable],
    replacements: Mapping[Variable, Variable],
    written: Sequence[Variable],
    policy: str,
) -> None:
    """Raise or warn about inputs that no output needs.   Raises: UnusedInputError

    targets: the computed variables. written: the same before replacement. A derivative counts as needing the inputs of
    its function, so the gradient of 2·x has an input x.
    """
    used = set(leaves(targets, stop=inputs))
    if policy == "ignore" or used.issuperset(inputs):
        return
    used.update(leaves(replace(_origins(written, inputs), replacements), stop=inputs))
    for x in inputs:
        if x in used:
            continue
        if policy == "raise":
            raise UnusedInputError(
                f"input {x} is not needed", lines=[x.describe()], hint="pass on_unused_input='ignore' to keep it"
            )
        warn_user(f"input {x} is not needed")


def _origins(outputs: Sequence[Variable], stop: Sequence[Variable]) -> list[Variable]:
    """The primal functions whose derivatives are among `outputs` or in their graphs."""
    nodes = toposort(outputs, stop)
    found = [*outputs, *(x for node in nodes for x in (*node.inputs, *node.outputs))]
    return list(dict.fromkeys(y for x in found for y in x.origins))
