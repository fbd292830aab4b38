"""Read names, trees and symbolic dims of arguments and results that JAX recorded in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aotensor.importers.stablehlo.structure import Function, Module, Operation, Value

_LIST = re.compile(r"\[\d+\]")


def _identifier(label: str) -> str:
    """An identifier for a label: `params['layers'][0].w` → `params_layers_0_w`; "" for a label without letters."""
    found = re.sub(r"_+", "_", re.sub(r"[^\w]+", "_", label, flags=re.ASCII)).strip("_")
    return f"x{found}" if found[:1].isdigit() else found


def argument_names(module: Module, main: Function) -> list[str]:
    """The names of arguments, from their locations or those of a function that they are passed to; else arg0, …"""
    found = [_identifier(label) for label in main.labels]
    for operation, inner in _calls(module, main):
        for x, label in zip(operation.operands, inner.labels, strict=False):
            for k, argument in enumerate(main.body.arguments):
                if x is argument and not found[k]:
                    found[k] = _identifier(label)
    names: list[str] = []
    for k, label in enumerate(found):
        name = label or f"arg{k}"
        while name in names:
            name += "_"
        names.append(name)
    return names


def _calls(module: Module, main: Function) -> Iterator[tuple[Operation, Function]]:
    """Calls in the body of a function, with their callees."""
    for operation in main.body.operations:
        if operation.name == "func.call" and operation.words and operation.words[0] in module.functions:
            yield operation, module.functions[operation.words[0]]


def dims_of(module: Module, main: Function) -> Mapping[tuple[int, int], str]:
    """The names of extents, by argument and axis; JAX passes them between functions as named integers."""
    made = {id(x): operation for operation in main.body.operations for x in operation.results}
    places = {id(x): k for k, x in enumerate(main.body.arguments)}
    found: dict[tuple[int, int], str] = {}
    for operation, inner in _calls(module, main):
        for x, notes in zip(operation.operands, inner.notes, strict=False):
            label = notes.get("jax.global_constant")
            where = _extent(x, made, places)
            if isinstance(label, str) and label.isidentifier() and label.isascii() and where is not None:
                found.setdefault(where, label)
    return _with_equal_ones(main, made, places, found)


def _extent(x: Value, made: Mapping[int, Operation], places: Mapping[int, int]) -> tuple[int, int] | None:
    """The argument and axis whose extent equals a value."""
    operation = made.get(id(x))
    while operation is not None and operation.name == "stablehlo.convert" and operation.operands:
        operation = made.get(id(operation.operands[0]))
    if operation is None or operation.name != "stablehlo.get_dimension_size" or len(operation.operands) != 1:
        return None
    axis = operation.attributes.get("dim", operation.attributes.get("dimension"))
    place = places.get(id(operation.operands[0]))
    return (place, axis) if place is not None and isinstance(axis, int) else None


def _with_equal_ones(
    main: Function, made: Mapping[int, Operation], places: Mapping[int, int], found: dict[tuple[int, int], str]
) -> dict[tuple[int, int], str]:
    """Add the extents that the text declares equal to named ones."""
    for operation in main.body.operations:
        if operation.name != "stablehlo.custom_call" or "shape_assertion" not in map(str, operation.words):
            continue
        test = made.get(id(operation.operands[0])) if operation.operands else None
        if test is None or test.name != "stablehlo.compare" or "EQ" not in test.words or len(test.operands) != 2:
            continue
        first, second = (_extent(x, made, places) for x in test.operands)
        if first is not None and second is not None and (first in found) != (second in found):
            known, other = (first, second) if first in found else (second, first)
            found[other] = found[known]
    return found


def result_names(main: Function) -> Sequence[str] | None:
    """Names of results; None if the result is one array, or a list or tuple of arrays."""
    infos: list[Any] = [note.get("jax.result_info") for note in main.result_notes]
    if not all(isinstance(info, str) for info in infos):
        return None
    paths = [info.removeprefix("result") for info in infos]
    if paths == [""] or all(_LIST.fullmatch(path) for path in paths):
        return None
    names: list[str] = []
    for k, path in enumerate(paths):
        text = _identifier(path)
        name = text if path[:1] != "[" or path[1:2] in "'\"" else f"out{text.removeprefix('x')}"
        names.append(name if name and name not in names else f"out{k}")
    return names if len(set(names)) == len(names) else None
