"""`aotensor run`: call a function of a library on data from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aotensor.codegen.files import write_file
from aotensor.sampling.agreement import absolute_tolerance, disagreement
from aotensor_cli.options import Exit, Refusal, similar
from aotensor_cli.reading.arrays import file_content, read_file, read_matrix, read_value
from aotensor_cli.reading.kinds import refuse_other_kinds
from aotensor_cli.reading.library import is_library, split_name
from aotensor_cli.reading.matrices import is_matrix, stored_values, text_of, tree_of
from aotensor_cli.terminal.render import show, show_json
from aotensor_runtime import LibraryFunction, load
from aotensor_runtime.manifest import SparseValue

_FORGIVING = {"float64": 1e-7, "float32": 1e-4}
"""Relative tolerance of --expect: files may come from another program, with less digits."""


def run(
    subject: str, inputs: tuple[str, ...], output: Path | None, expect: Path | None, rtol: float | None, as_json: bool
) -> int:
    """Run `aotensor run` with the parameters that `commands/run.py` declares; returns the exit code."""
    function = _function(subject)
    arguments = _arguments(function, inputs)
    outputs = _outputs(function, function(**arguments))
    if output is not None:
        write_file(output, file_content(output, outputs))
        show(str(output))
    elif as_json:
        show_json({key: tree_of(x) for key, x in outputs.items()})
    elif expect is None:
        for key, x in outputs.items():
            show(_text(key, x))
    if expect is None:
        return Exit.DONE
    return _compare(outputs, expect, rtol)


def _function(subject: str) -> LibraryFunction:
    path, name = split_name(subject)
    if path.suffix == ".py":
        raise Refusal(f"{path}: this is a model, not a library", f"compile it first: aotensor compile {path}")
    if path.is_file() and not is_library(path):
        with path.open("rb") as file:
            refuse_other_kinds(path, file.read(1 << 16))
    library = load(path)
    names = list(library.functions)
    if name is None and len(names) != 1:
        raise Refusal(
            f"{path}: the library has several functions", f"it has {', '.join(names)}: write {path}:{names[0]}"
        )
    if name is not None and name not in names:
        raise Refusal(f"{path}: there is no function {name}", similar(name, names) or f"it has {', '.join(names)}")
    return library.functions[name or names[0]]


def _arguments(function: LibraryFunction, inputs: Sequence[str]) -> dict[str, Any]:
    specs = {value.name: value for value in function.spec.arguments if value.default is None}
    arguments: dict[str, Any] = {}
    for text in inputs:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise Refusal(f"{text!r} is not understood", "write inputs as NAME=FILE or NAME=3.0")
        if name not in specs:
            known = f"its inputs are {', '.join(specs) or 'none'}"
            raise Refusal(f"{function.spec.name} has no input {name}", similar(name, specs) or known)
        if name in arguments:
            raise Refusal(f"input {name} is given twice")
        spec = specs[name]
        if isinstance(spec, SparseValue):
            arguments[name] = read_matrix(value, name, spec.dtype)
        else:
            arguments[name] = read_value(value, name, spec.dtype, len(spec.shape))
    return arguments


def _outputs(function: LibraryFunction, result: Any) -> dict[str, Any]:
    """Output name → array of a call's result."""
    names = [value.name for value in function.spec.results]
    match function.spec.output_kind:
        case "single":
            values = [result]
        case "dict":
            values = list(result.values())
        case "none":
            values = []
        case _:
            values = list(result)
    kinds = [isinstance(value, SparseValue) for value in function.spec.results]
    return {name: x if is_sparse else np.asarray(x) for name, x, is_sparse in zip(names, values, kinds, strict=True)}


def _text(key: str, x: Any) -> str:
    if is_matrix(x):
        return text_of(key, x)
    if x.ndim == 0:
        return f"{key} = {x.item()!r}"
    dims = ", ".join(map(str, x.shape))
    return f"{key} = {x.dtype}[{dims}]\n{np.array2string(x, threshold=200, max_line_width=100)}"


def _compare(outputs: Mapping[str, Any], path: Path, rtol: float | None) -> int:
    """Compare outputs with those in a file; print one line for each output that the file contains."""
    expected = read_file(path)
    if None in expected:
        if len(outputs) != 1:
            raise Refusal(f"{path}: one array, but there are {len(outputs)} outputs", "give an .npz or .json file")
        expected = {next(iter(outputs)): expected[None]}
    unknown = [str(key) for key in expected if key not in outputs]
    if unknown:
        raise Refusal(f"{path}: the function has no output {unknown[0]}", f"the outputs are {', '.join(outputs)}")
    is_right = True
    for key, x in outputs.items():
        if key in expected:
            problem = _difference(x, expected[key], path, rtol)
            is_right = is_right and problem is None
            show(f"{key}: {problem or 'as expected'}", err=True)
    return Exit.DONE if is_right else Exit.WRONG


def _difference(found: Any, expected: Any, path: Path, rtol: float | None) -> str | None:
    if is_matrix(found) and is_matrix(expected):
        if found.shape != expected.shape:
            return f"[{found.shape[0]}, {found.shape[1]}] instead of [{expected.shape[0]}, {expected.shape[1]}]"
        found, expected = stored_values(found, expected)
        expected = expected.astype(found.dtype)
    elif is_matrix(found) or is_matrix(expected):
        return f"{_kind(found)} instead of {_kind(expected)}"
    if path.suffix in (".csv", ".json"):
        shape = found.shape if found.size == expected.size and path.suffix == ".csv" else expected.shape
        expected = expected.astype(found.dtype).reshape(shape)
    tolerance = rtol if rtol is not None else _FORGIVING.get(found.dtype.name, 0.0)
    return disagreement(found, expected, absolute_tolerance(expected, tolerance))


def _kind(x: Any) -> str:
    return "a sparse matrix" if is_matrix(x) else "an array"
