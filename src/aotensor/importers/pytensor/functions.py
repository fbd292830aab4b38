"""`from_pytensor` and `function`: import graphs and functions of PyTensor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import aotensor as aot
from aotensor.errors import GraphTypeError
from aotensor.extension import c_name
from aotensor.importers.pytensor.rewrites import rewritten
from aotensor.importers.pytensor.table import Walk
from aotensor.importers.pytensor.values import is_constant, shared_of, symbol

_SHARED: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""PyTensor's shared variables → ours, so that functions share them."""


def from_pytensor(inputs: Sequence[Any], outputs: Any) -> tuple[list[aot.tensor.Variable], Any]:
    """Translate a graph of PyTensor to (inputs, outputs); the outputs are one variable, or a list or dict of them.

    inputs: its symbolic variables; names and static shapes are kept, and each value knows the line that made it.
    Shared variables become shared variables of ours with the values that they have now, the same for every call;
    `default_update` is followed. Generators become states of our streams: the distributions are the same, the numbers
    are not.

    Raises: NoCounterpart, an UnsupportedError, with all ops that have no counterpart and where they were made;
    MissingInputError for a variable that is needed but is not an input; GraphTypeError for what is not a variable of
    PyTensor.
    """
    symbols, walk = _prepared(inputs)
    keys, listed = _listed(outputs)
    found = walk.run(listed)
    _follow_default_updates(walk)
    return list(symbols.values()), _as_given(outputs, keys, found)


def function(
    inputs: Sequence[Any],
    outputs: Any = None,
    *,
    updates: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = (),
    givens: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = (),
    name: str | None = None,
    on_unused_input: str | None = None,
    allow_input_downcast: bool | None = None,
    no_default_updates: bool = False,
) -> aot.Function:
    """A Function for a graph of PyTensor, compiled at its first call; arguments as for `pytensor.function`.

    updates: shared variable → its next value. givens: variable → what stands for it. The rest as `aotensor.function`.
    The shared variables are copies: those of PyTensor do not follow.

    Raises: as `from_pytensor` and `aotensor.function`.
    """
    symbols, walk = _prepared(inputs)
    for old, new in _pairs(givens):
        walk.values[old] = Walk(symbols, _shared).run([_variable(new, old)])[0]
    keys, listed = _listed(outputs)
    next_values = [(target, _variable(new, target)) for target, new in _pairs(updates)]
    found = walk.run([*listed, *(new for _, new in next_values)])
    results, values = found[: len(listed)], found[len(listed) :]
    _follow_default_updates(walk)
    return aot.function(
        list(symbols.values()),
        _as_given(outputs, keys, results),
        updates={_shared(target): value for (target, _), value in zip(next_values, values, strict=True)},
        name=name,
        on_unused_input=on_unused_input,
        allow_input_downcast=allow_input_downcast,
        no_default_updates=no_default_updates,
    )


def functions_of(namespace: Mapping[str, Any]) -> dict[str, aot.Function]:
    """Convert the compiled PyTensor functions in a namespace to Functions, without duplicates.

    They have the graphs that PyTensor has made of the user's by its rewrites, which keep values alone: a derivative is
    refused unless the mode has no rewrites.   Raises: as `function`
    """
    found: dict[str, aot.Function] = {}
    seen: list[Any] = []
    for name, value in namespace.items():
        if _is_compiled(value) and not any(value is other for other in seen):
            seen.append(value)
            found[name] = _recompiled(value, name)
    return found


def _is_compiled(value: Any) -> bool:
    return type(value).__module__.startswith("pytensor.") and hasattr(value, "maker") and hasattr(value, "vm")


def _recompiled(compiled: Any, name: str) -> aot.Function:
    """Convert a compiled PyTensor function to a Function; shared variables get their current values."""
    maker = compiled.maker
    graph, given = maker.fgraph, [own.variable for own in maker.expanded_inputs]
    symbols = {x: _leaf(own) for x, own in zip(graph.inputs, given, strict=True)}
    is_whole = set(getattr(maker.mode.provided_optimizer, "include", {"all"})) <= {"minimum_compile"}
    results = Walk(symbols, has_short_buffers=True, has_derivatives=is_whole).run(graph.outputs)
    if not is_whole:
        results = [rewritten(x, name) if isinstance(x, aot.tensor.Variable) else x for x in results]
    updates = {symbols[graph.inputs[target]]: results[k] for k, target in graph.update_mapping.items()}
    outputs = [x for k, x in enumerate(results) if k not in graph.update_mapping]
    is_single = compiled.unpack_single and len(outputs) == 1
    return aot.function(
        [symbols[x] for x, own in zip(graph.inputs, given, strict=True) if not hasattr(own, "get_value")],
        outputs[0] if is_single else outputs,
        updates=updates,
        name=c_name(name, (), "function"),
        on_unused_input="ignore",
    )


def _prepared(inputs: Sequence[Any]) -> tuple[dict[Any, Any], Walk]:
    variables = [getattr(x, "variable", x) for x in inputs]  # In(x)
    for x in variables:
        _check(x)
        if hasattr(x, "get_value"):
            raise GraphTypeError(
                f"the shared variable {x} must not be listed as an input",
                hint="remove it: shared variables become inputs by themselves",
            )
    symbols = {x: symbol(x) for x in variables}
    return symbols, Walk(symbols, _leaf)


def _leaf(x: Any) -> Any:
    """Translate a leaf: a shared variable, or a symbol, which `function` reports if it is not an input."""
    return _shared(x) if hasattr(x, "get_value") else symbol(x)


def _shared(x: Any) -> Any:
    if x not in _SHARED:
        _SHARED[x] = shared_of(x)
    return _SHARED[x]


def _follow_default_updates(walk: Walk) -> None:
    """Default updates of PyTensor's shared variables, including those of variables that the updates use."""
    done: set[Any] = set()
    while pending := [x for x in walk.values if hasattr(x, "get_value") and x not in done]:
        done.update(pending)
        for x in pending:
            following = getattr(x, "default_update", None)
            if following is not None:
                [_SHARED[x].default_update] = walk.run([following])


def _listed(outputs: Any) -> tuple[list[str] | None, list[Any]]:
    if outputs is None:
        return None, []
    keys = list(outputs) if isinstance(outputs, Mapping) else None
    values = list(outputs.values()) if isinstance(outputs, Mapping) else outputs
    listed = [getattr(x, "variable", x) for x in (values if isinstance(values, list | tuple) else [values])]
    for x in listed:
        _check(x)
    return keys, listed


def _as_given(outputs: Any, keys: list[str] | None, found: list[Any]) -> Any:
    if keys is not None:
        return dict(zip(keys, found, strict=True))
    if outputs is None:
        return None
    return found if isinstance(outputs, list | tuple) else found[0]


def _pairs(given: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    return list(given.items() if isinstance(given, Mapping) else given)


def _variable(value: Any, target: Any) -> Any:
    """Convert a value to a PyTensor variable of the type of its target."""
    return value if hasattr(value, "owner") else target.type.filter_variable(target.type.make_constant(value))


def _check(x: Any) -> None:
    if not hasattr(x, "owner") or not type(x).__mro__ or isinstance(x, aot.tensor.Variable) or is_constant(x) is None:
        raise GraphTypeError(f"expected a variable of PyTensor, found {type(x).__name__} {x!r:.60}")
