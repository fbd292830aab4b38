"""Build a Function from a checked ONNX model: initializers become constants, and outputs a dict by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError, OptionError, UnsupportedError
from aotensor.importers.base import LOST
from aotensor.importers.gradients import with_gradients
from aotensor.importers.names import distinct_names, function_name
from aotensor.importers.onnx.model import opsets_of, read_model
from aotensor.importers.onnx.tensors import dtype_of
from aotensor.importers.onnx.trainable import trained
from aotensor.importers.onnx.walk import Scope, Walk


def from_onnx(
    path: str | PathLike[str],
    *,
    name: str | None = None,
    grad: str | Sequence[str] = (),
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int | str | None]] | None = None,
    trainable: str | Sequence[str] = (),
) -> aot.Function:
    """Import an ONNX model as a Function that returns a dict of its outputs by name. Nothing in the file is executed.

    path: a file with operators of opset 7 or later. Data outside of the file are read from its folder, or below, only.
    name: of the function, by default the file's as an identifier, else the graph's.
    dims: extents of dims by their name in the model: {"batch": 1}. shapes: of inputs: {"input": (1, 3, 224, 224)};
    names and None stay open.
    trainable: names of initializers, or patterns such as "*.weight", that become shared variables with the values of
    the file; a pattern with wildcards selects those of float32 and float64.
    grad: names of inputs or initializers. The first output must be one floating number; `grad_<name>` is its gradient.

    Inputs are arguments, with dims named as `dim_param` names them; initializers are constants.

    Raises: OSError if the file cannot be read; GraphValueError for what is not an ONNX model, or one with damaged
    tensors,
    undefined names or cycles, by the node's name; NoCounterpart with all operators that have none, and their nodes;
    UnsupportedError for dtypes and kinds of values that aotensor has not; GraphTypeError for types that do not fit.
    OptionError for a name in `dims` or `shapes` that the model has not, an extent that it contradicts, and a name in
    `trainable` that matches no initializer.
    """
    model, file = read_model(path)
    wanted = name if name is not None else function_name(file.stem, function_name(model.graph.name, "model"))
    patterns = (trainable,) if isinstance(trainable, str) else tuple(trainable)
    return function_of(model, file.parent, wanted, grad, FixedExtents(dims or {}, shapes or {}), patterns)


def function_of(
    model: Any,
    folder: Path | None,
    name: str,
    grad: str | Sequence[str] = (),
    fixed: FixedExtents | None = None,
    trainable: Sequence[str] = (),
) -> aot.Function:
    """The Function of a model.   folder: where external data may be; grad: inputs or initializers; fixed: extents;
    trainable: patterns of initializers that become shared variables

    Raises: as `from_onnx`.
    """
    graph = model.graph
    embedded = {item.name for item in graph.initializer}
    given = [item for item in graph.input if item.name not in embedded]
    names = [item.name for item in given]
    fixed = FixedExtents({}, {}) if fixed is None else fixed
    fixed.check(given)
    fixed = fixed.apply_by_name(given)
    inputs = [_symbol(item, fixed) for item in given]
    if len(set(names)) < len(names):
        raise GraphValueError(f"graph {graph.name!r}: two inputs have the same name")
    walk = Walk(model.functions, folder)
    values = dict(zip(names, inputs, strict=True)) | trained(graph, folder, trainable)
    scope = Scope(graph.name, opsets_of(model), values=values)
    outputs = walk.graph(graph, scope)
    walk.refuse()
    results: dict[str, Any] = {}
    for item, y in zip(graph.output, outputs, strict=True):
        assert y is not LOST, item.name  # it would have an entry among the missing
        _check_output(item, y)
        if item.name in results:
            raise GraphValueError(f"graph {graph.name!r}: two outputs have the name {item.name!r}")
        results[item.name] = y
    if not results:
        raise GraphValueError(f"graph {graph.name!r} has no outputs")
    known = {**scope.values, **dict(zip(names, inputs, strict=True))}
    hint = "let the model compute a loss first, with ReduceMean or SoftmaxCrossEntropyLoss"
    results = with_gradients(results, {k: known[k] for k in (*names, *sorted(embedded))}, grad, hint=hint)
    arguments = [
        x if one == item.name else aot.In(x, name=one)
        for x, item, one in zip(inputs, given, distinct_names(names), strict=True)
    ]
    results = dict(zip(distinct_names(list(results)), results.values(), strict=True))
    return aot.function(arguments, results, name=name, on_unused_input="ignore")


@dataclass(frozen=True)
class FixedExtents:
    """Extents that the user fixes at import. dims: by name. shapes: by input, None for an axis that stays dynamic"""

    dims: Mapping[str, int]
    shapes: Mapping[str, Sequence[int | str | None]]

    def check(self, inputs: Sequence[Any]) -> None:
        """Raises: OptionError for an unknown dim or input, or a negative extent;
        GraphTypeError for other containers than dicts
        """
        for what, given in (("dims", self.dims), ("shapes", self.shapes)):
            if not isinstance(given, Mapping):
                example = {"dims": {"batch": 1}, "shapes": {"input": (1, None, 3)}}[what]
                raise GraphTypeError(f"{what}: expected a dict, found {given!r:.60}", hint=f"such as {example}")
        names = [item.name for item in inputs]
        known = {d.dim_param for item in inputs for d in item.type.tensor_type.shape.dim if d.dim_param}
        for name, n in self.dims.items():
            if name not in known:
                hint = f"named dims of the model: {', '.join(sorted(known)) or 'none'}"
                raise OptionError(f"no input of the model has a dim {name!r}", hint=hint)
            if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 0:
                raise OptionError(f"dim {name!r} is {n!r}, not a whole number of at least 0")
        for name, shape in self.shapes.items():
            if name not in names:
                raise OptionError(f"the model has no input {name!r}", hint=f"its inputs are {', '.join(names)}")
            if isinstance(shape, str) or not isinstance(shape, Sequence | np.ndarray):
                raise OptionError(f"input {name!r} has the shape {shape!r:.60}", hint="write a tuple: (1, None, 3)")
            if any(isinstance(n, int | np.integer) and n < 0 for n in shape):
                raise OptionError(f"input {name!r} cannot have the shape {tuple(shape)}: an extent is negative")

    def apply_by_name(self, inputs: Sequence[Any]) -> FixedExtents:
        """These extents, with a number given for one axis applied to all axes of the same name."""
        dims = {name: int(n) for name, n in self.dims.items()}
        shapes = {
            name: [int(n) if isinstance(n, np.integer) else n for n in shape] for name, shape in self.shapes.items()
        }
        for item in inputs:
            for dim, n in zip(item.type.tensor_type.shape.dim, shapes.get(item.name, ()), strict=False):
                if isinstance(_dim(dim), str) and isinstance(n, int):
                    dims.setdefault(dim.dim_param, n)
        return FixedExtents(dims, shapes)

    def shape_of(self, item: Any) -> list[int | str | None]:
        """The shape of an input with fixed extents.   Raises: OptionError if rank or extents contradict the model"""
        what, declared = f"input {item.name!r}", list(item.type.tensor_type.shape.dim)
        named = [self.dims.get(dim.dim_param, _dim(dim)) for dim in declared]
        wanted = self.shapes.get(item.name)
        if wanted is None:
            return named
        if len(wanted) != len(named):
            raise OptionError(f"{what} has {len(named)} axes, but the shape {tuple(wanted)} has {len(wanted)}")
        for axis, (n, m) in enumerate(zip(wanted, named, strict=True)):
            if isinstance(n, int) and isinstance(m, int) and n != m:
                raise OptionError(f"{what} has extent {m} along axis {axis}, not {n}")
        return [m if n is None or isinstance(m, int) else n for n, m in zip(wanted, named, strict=True)]


def _symbol(item: Any, fixed: FixedExtents) -> Any:
    """The symbol for an input.   Raises: UnsupportedError, GraphTypeError if it is not a tensor of known rank"""
    what = f"input {item.name!r}"
    kind = item.type.WhichOneof("value")
    if kind != "tensor_type":
        raise UnsupportedError(
            f"{what} is not a dense tensor but a {(kind or 'value without a type').removesuffix('_type')}"
        )
    tensor = item.type.tensor_type
    dtype = dtype_of(tensor.elem_type, what)
    if not tensor.HasField("shape"):
        raise GraphTypeError(f"{what} has no shape and no rank", hint="call onnx.shape_inference.infer_shapes(model)")
    return at.tensor(item.name, dtype=dtype, shape=tuple(fixed.shape_of(item)))


def _dim(dim: Any) -> int | str | None:
    """Convert a dim: a number, a name that is an identifier, or None for an unknown extent, which exporters also write
    as -1 or ?.
    """
    kind = dim.WhichOneof("value")
    if dim.dim_param == "-1":
        return None
    if kind == "dim_value":
        return int(dim.dim_value) if dim.dim_value >= 0 else None
    name = re.sub(r"\W", "_", dim.dim_param if kind else "", flags=re.ASCII).strip("_")
    return f"d{name}" if name[:1].isdigit() else name or None


def _check_output(item: Any, y: Any) -> None:
    """Raises: GraphTypeError for an output that is declared with another dtype

    Declared extents are only hints, which exporters get wrong, down to the rank.
    """
    if item.type.WhichOneof("value") != "tensor_type" or not item.type.tensor_type.elem_type:
        return
    tensor = item.type.tensor_type
    declared = dtype_of(tensor.elem_type, f"output {item.name!r}")
    if declared != y.type.dtype:
        raise GraphTypeError(f"output {item.name!r} is declared as {declared}, but has type {y.type}")
