"""from_stablehlo: import a text as a Function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError, UnsupportedError
from aotensor.extension import Site, variables_at
from aotensor.importers.gradients import with_gradients
from aotensor.importers.names import function_name
from aotensor.importers.stablehlo.attributes import dtype_of
from aotensor.importers.stablehlo.importer import Importer
from aotensor.importers.stablehlo.names import argument_names, dims_of, result_names
from aotensor.importers.stablehlo.operations import NOTES, TABLE, WRITTEN
from aotensor.importers.stablehlo.reader import read_module
from aotensor.importers.stablehlo.structure import Function, Module
from aotensor.importers.stablehlo.text import DamagedText
from aotensor.importers.stablehlo.translate import Translator

COUNTERPARTS: Final[Mapping[str, str]] = {
    name.removeprefix("stablehlo."): NOTES.get(name, "") for name in sorted({*TABLE, *WRITTEN, "stablehlo.constant"})
}
"""Operation → remark on its import, "" if there is none."""

_LARGEST: Final = 1 << 30
"""Bytes of a text."""


def from_stablehlo(
    source: str | PathLike[str],
    *,
    name: str | None = None,
    entry: str = "main",
    shapes: Mapping[str, Sequence[int | str | None]] | None = None,
    grad: str | Sequence[str] = (),
) -> aot.Function:
    """The Function of a module of StableHLO in MLIR's text form, as `jax.export(...).mlir_module()` prints it.

    source: the text, or the path of a file, as a pathlib.Path. JAX is not needed, and nothing of the text is executed.
    name: of the Function, by default that of the module, without `jit_`. entry: the function of the module. shapes:
    names or numbers for extents that the text leaves open, by input: {"x": ("n", 3)}. grad: names of inputs, or of
    arguments that are trees of them. The first output must be one floating number; `grad_<input>` is its gradient.

    Inputs and outputs are called as in `from_jax`, where the text has their names; dims as JAX's symbolic dims.

    Raises: OSError if the file cannot be read; DamagedText, with the line, for text that is not StableHLO;
    NoCounterpart with all operations that have none, and their lines; UnsupportedError for dtypes that aotensor has
    not; GraphTypeError, GraphValueError for types that do not fit, and unknown names in `shapes` and `grad`.
    """
    text, file = _read(source)
    module = read_module(text, file)
    if entry not in module.functions:
        raise GraphValueError(
            f"{file}: there is no function @{entry}", hint=f"it has {', '.join('@' + f for f in module.functions)}"
        )
    return function_of(module, file, entry, name, shapes or {}, grad)


def function_of(
    module: Module, file: str, entry: str, name: str | None = None,
    shapes: Mapping[str, Sequence[int | str | None]] | None = None, grad: str | Sequence[str] = (),
) -> aot.Function:  # fmt: skip
    """Import a function of a parsed module. file: its name in messages   Raises: as from_stablehlo"""
    translator = Translator(module, file)
    program = translator.function(entry)
    main = module.functions[entry]
    labels = argument_names(module, main)
    inputs = _inputs(module, main, labels, file, shapes or {})
    translator.refuse()
    importer = Importer(file)
    with variables_at(Site(file, main.line)):
        _share_extents(importer, inputs)
        results = _unflatten(main, importer.checked(importer.run(program, inputs)))
        results = with_gradients(
            results, dict(zip(labels, inputs, strict=True)), grad,
            lambda label, name: label == name or label.startswith(f"{name}_"),
        )  # fmt: skip
    return aot.function(
        inputs, results, name=name or function_name(module.name.removeprefix("jit_"), "model"), on_unused_input="ignore"
    )


def _read(source: str | PathLike[str]) -> tuple[str, str]:
    """The text, and its name in messages.   Raises: OSError, DamagedText"""
    if isinstance(source, str):
        if "func.func" not in source:
            raise DamagedText(
                f"from_stablehlo: {source!r:.60} is not a text of StableHLO",
                hint="give a file as pathlib.Path(...)",
            )
        return source, "stablehlo"
    if not isinstance(source, PathLike):
        raise GraphTypeError(f"from_stablehlo: expected a text or a path, found {type(source).__name__}")
    path = Path(source)
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise DamagedText(f"{path.name}: the file has more than {_LARGEST} bytes")
    try:
        return content.decode("utf-8"), path.name
    except UnicodeDecodeError:
        kind = "bytecode of MLIR" if content[:4] == b"ML\xefR" else "not text in UTF-8"
        raise DamagedText(
            f"{path.name}: this is {kind}", hint="write the text: exported.mlir_module(), or str(module)"
        ) from None


def _inputs(
    module: Module, main: Function, labels: Sequence[str], file: str, given: Mapping[str, Sequence[int | str | None]]
) -> list[at.Variable]:
    """Symbols for the arguments.   Raises: UnsupportedError, GraphTypeError, GraphValueError as from_stablehlo"""
    for label in given:
        if label not in labels:
            raise GraphValueError(f"shapes: {label} is not an input", hint=f"inputs: {', '.join(labels)}")
    names = dims_of(module, main)
    found = []
    for position, (label, x) in enumerate(zip(labels, main.body.arguments, strict=True)):
        try:
            dtype = dtype_of(x.aval)
        except UnsupportedError as error:
            title = f"{file}:{main.line}: the input {label} has dtype {x.aval.dtype}, which aotensor does not have"
            raise UnsupportedError(title, hint=error.diagnostic.hint) from error
        dims = [names.get((position, d)) if n is None else n for d, n in enumerate(x.aval.shape)]
        if label in given:
            dims = _fitting(label, x.aval.shape, given[label])
        with variables_at(Site(file, main.line)):
            found.append(at.tensor(label, dtype=dtype, shape=tuple(dims)))
    return found


def _fitting(label: str, known: Sequence[Any], given: Sequence[int | str | None]) -> list[Any]:
    """Merge given dims of an argument with those of the text.   Raises: GraphValueError if they contradict"""
    is_right = not isinstance(given, str) and len(given) == len(known)
    if not is_right or any(n is not None and n != m for n, m in zip(known, given, strict=True)):
        raise GraphValueError(
            f"shapes: {label} has extents {['?' if n is None else n for n in known]}, not {list(given)}"
        )
    return list(given)


def _share_extents(importer: Importer, inputs: Sequence[at.Variable]) -> None:
    """Use one scalar for all dims of the same name."""
    shared: dict[str, Any] = {}
    for x in inputs:
        for axis, dim in enumerate(x.tensor_type.shape):
            if isinstance(dim, str):
                importer.name_extent(x, axis, shared.setdefault(dim, at.shape_i(x, axis)))


def _unflatten(main: Function, values: Sequence[at.Variable]) -> Any:
    """Arrange results as a variable, a list or a dict, by the tree that JAX recorded."""
    names = result_names(main)
    if not values:
        raise GraphValueError(f"@{main.name} returns nothing")
    if names is None:
        return values[0] if len(values) == 1 else list(values)
    return dict(zip(names, values, strict=True))
