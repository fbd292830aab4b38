"""`from_jax`: import a JAX function with given argument shapes and dtypes as a Function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax.tree_util import keystr, tree_flatten_with_path, tree_structure, tree_unflatten

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphTypeError
from aotensor.importers.gradients import with_gradients
from aotensor.importers.jax.dims import dim_of
from aotensor.importers.jax.interpret import Importer, dtype_of
from aotensor.importers.jax.keys import is_key, words
from aotensor.importers.names import function_name


def from_jax(
    function: Callable[..., Any],
    *specs: Any,
    static: Mapping[str, object] | None = None,
    grad: str | Sequence[str] = (),
    name: str | None = None,
    parameters: Mapping[str, aot.Parameter] | None = None,
) -> aot.Function:
    """Import a function that JAX can trace: it is called, compiled, differentiated and shipped as any other Function.

    specs: shape and dtype of each positional argument: `jax.ShapeDtypeStruct`s, arrays, whose values do not matter, or
    pytrees of them. A symbolic dim of `jax.export.symbolic_shape` is a named dim here. Inputs are called as the
    arguments, those of a pytree with the path behind: `params_layers_0_w`.
    static: arguments that are constants instead of inputs, by name.
    grad: names of arguments or inputs; the derivative of the result, or of the first one, with respect to each input
    among them becomes an output `grad_<input>`. `jax.grad` inside of `function` is as good.
    name: of the Function, by default that of `function`, with `_` behind it if C has it: `cos_` of `jnp.cos`.
    parameters: of a log density, as those of `aot.function`.

    One array as a result stays one, a tuple or list of arrays is a list, and all else a dict of names by path:
    `loss`, `state_h`, behind a tuple `out0`, `out1_w`. dtypes are what JAX makes of them: float32 unless
    `jax_enable_x64` is set. Keys of random numbers are uint32[…, 2], as `jax.random.key_data` gives them.

    Raises: NoCounterpart, with all primitives that have none and the lines they come from; GraphTypeError for an
    argument that is not an array, or that JAX would make narrower, and for the gradient of what is not a scalar;
    GraphValueError for a name in `grad` that no input has, and a symbolic dim that is not the extent of an input.
    """
    if not callable(function):
        raise GraphTypeError(f"from_jax: expected a function of JAX, found {type(function).__name__}")
    fixed = dict(static or {})
    names = _argument_names(function, len(specs), fixed)
    leaves, structure = tree_flatten_with_path(specs)
    labels = [_input_name(names, path) for path, _ in leaves]
    avals = [_aval(label, spec) for label, (_, spec) in zip(labels, leaves, strict=True)]
    traced, shapes = jax.make_jaxpr(_caller(function, names, fixed), return_shape=True)(
        *tree_unflatten(structure, avals)
    )
    for label, asked, found in zip(labels, avals, traced.in_avals, strict=True):
        _check_width(label, asked, found)
    Importer({}).check(traced)
    inputs = [_symbol(label, aval) for label, aval in zip(labels, traced.in_avals, strict=True)]
    importer = Importer(_named_extents(inputs, traced.in_avals))
    fitted = [_check_expressions(importer, x, aval) for x, aval in zip(inputs, traced.in_avals, strict=True)]
    results = _unflatten(shapes, importer.run(traced, fitted))
    arguments = dict(zip(labels, (names[path[0].idx] for path, _ in leaves), strict=True))
    known = dict(zip(labels, inputs, strict=True))
    results = with_gradients(results, known, grad, lambda label, name: name in (label, arguments[label]))
    return aot.function(
        inputs,
        results,
        name=name or function_name(_own_name(function), "function"),
        on_unused_input="ignore",
        parameters=parameters,
    )


def _argument_names(function: Callable[..., Any], count: int, fixed: Mapping[str, object]) -> list[str]:
    """Names of the positional arguments that are not fixed."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    found: list[str] = []
    for one in parameters:
        if one.kind is one.VAR_POSITIONAL:
            found += [f"{one.name}{k}" for k in range(count - len(found))]
        elif one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) and one.name not in fixed:
            found.append(one.name)
    return [*found, *(f"arg{k}" for k in range(len(found), count))][:count]


def _caller(function: Callable[..., Any], names: Sequence[str], fixed: Mapping[str, object]) -> Callable[..., Any]:
    """The function of its inputs only, which are passed by name if a fixed argument may precede one of them."""
    if not fixed:
        return function
    return lambda *args: function(**dict(zip(names, args, strict=True)), **fixed)


def _own_name(function: Callable[..., Any]) -> str:
    """The name of the function; "" for a lambda."""
    name = str(getattr(function, "__name__", ""))
    return name if name.isidentifier() and name.isascii() else ""


def _input_name(names: Sequence[str], path: Sequence[Any]) -> str:
    first, *rest = path
    inner = keystr(tuple(rest), simple=True, separator="_")
    return f"{names[first.idx]}_{inner}" if inner else names[first.idx]


def _aval(label: str, spec: Any) -> jax.ShapeDtypeStruct:
    """Shape and dtype of a leaf of the specs.   Raises: GraphTypeError for a leaf without them"""
    if isinstance(spec, bool | int | float | complex):
        return jax.ShapeDtypeStruct((), jax.numpy.asarray(spec).dtype)
    if not hasattr(spec, "shape") or not hasattr(spec, "dtype"):
        raise GraphTypeError(
            f"from_jax: {label} is {type(spec).__name__} {spec!r:.40}, not an array or a jax.ShapeDtypeStruct",
            hint="pass arguments that are not arrays as static={...}",
        )
    return jax.ShapeDtypeStruct(spec.shape, spec.dtype)


def _check_width(label: str, asked: Any, found: Any) -> None:
    """Check that JAX kept the width of a dtype.   Raises: GraphTypeError"""
    if asked.dtype != found.dtype:
        raise GraphTypeError(
            f"from_jax: {label} has dtype {asked.dtype}, but JAX converts it to {found.dtype}",
            hint='ask for that dtype, or call jax.config.update("jax_enable_x64", True)',
        )


def _symbol(label: str, aval: Any) -> at.Variable:
    if is_key(aval):
        aval = words(aval)
    return at.tensor(label, dtype=dtype_of(aval), shape=[dim_of(dim) for dim in aval.shape])


def _named_extents(inputs: Sequence[at.Variable], avals: Sequence[Any]) -> dict[str, at.Variable]:
    found: dict[str, at.Variable] = {}
    for x, aval in zip(inputs, avals, strict=True):
        for axis, dim in enumerate(aval.shape):
            if isinstance(label := dim_of(dim), str) and label not in found:
                found[label] = at.shape_i(x, axis)
    return found


def _check_expressions(importer: Importer, x: at.Variable, aval: Any) -> at.Variable:
    """x with run-time checks of the extents that are expressions of others."""
    if all(dim_of(dim) is not None for dim in aval.shape):
        return x
    return at.specify_shape(x, [None if dim_of(dim) is not None else importer.extent(dim) for dim in aval.shape])


def _unflatten(shapes: Any, values: Sequence[at.Variable]) -> at.Variable | list[at.Variable] | dict[str, at.Variable]:
    """Arrange results as a variable, a list or a dict, by the structure of the function's return value."""
    paths = [path for path, _ in tree_flatten_with_path(shapes)[0]]
    if paths == [()]:
        return values[0]
    if isinstance(shapes, tuple | list) and tree_structure(list(shapes)) == tree_structure([0] * len(values)):
        return list(values)
    return {_output_name(path): x for path, x in zip(paths, values, strict=True)}


def _output_name(path: tuple[Any, ...]) -> str:
    text = keystr(path, simple=True, separator="_")
    return text if text[:1].isalpha() else f"out{text}"
