"""The Python module of a package: one typed function per function of its libraries, written from their manifests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from packaging.version import Version

from aotensor_cli.packaging.libraries import PackagedLibrary
from aotensor_cli.packaging.names import identifiers
from aotensor_runtime.arrays.dtypes import DTYPES
from aotensor_runtime.signature import ArgumentSpec, FunctionSpec, OutputSpec, SparseValue, kind_of, typed_line

_HEAD: Final = """from __future__ import annotations

from pathlib import Path as _Path
from typing import Any as _Any
from typing import TypedDict as _TypedDict

import numpy as _np
from aotensor_runtime import Library as _Library
from aotensor_runtime import load as _load
from numpy.typing import ArrayLike as _ArrayLike
from numpy.typing import NDArray as _NDArray
"""
_TAKEN: Final = frozenset({
    "libraries", "_Any", "_ArrayLike", "_Library", "_NDArray", "_Path", "_TypedDict", "_load", "_np", "annotations",
    "__all__", "__annotations__", "__builtins__", "__doc__", "__file__", "__loader__", "__name__", "__package__",
    "__path__", "__spec__", "__version__", "dict", "int", "list", "None", "object", "str",
})  # fmt: skip
"""Names that the module has for itself, or takes from Python."""


@dataclass(frozen=True)
class _Wrapper:
    """A function of the module.   entry: the variable that holds the function of the library"""

    library: PackagedLibrary
    spec: FunctionSpec
    name: str
    entry: str
    result: str


def module_text(name: str, version: Version, libraries: Sequence[PackagedLibrary]) -> str:
    """The text of `__init__.py`."""
    pairs = [(library, spec) for library in libraries for spec in library.manifest.functions]
    names = identifiers([spec.name for _, spec in pairs], _TAKEN)
    entries = identifiers([f"_{name}" for name in names], [*_TAKEN, *names])
    results = identifiers([_camel(name) + "Result" for name in names], [*_TAKEN, *names, *entries])
    wrappers = [_Wrapper(*pair, *rest) for pair, *rest in zip(pairs, names, entries, results, strict=True)]
    public = ["libraries", *names, *(x.result for x in wrappers if _has_own_result(x.spec))]
    files = "".join(f"    {x.name!a}: _load(_Path(__file__).parent / {x.file_name!a}),\n" for x in libraries)
    parts = [
        _docstring(_about(name, version, libraries), ""),
        _HEAD,
        f"__all__ = [{', '.join(ascii(name) for name in sorted(public))}]\n__version__ = {str(version)!r}\n",
        f"libraries: dict[str, _Library] = {{\n{files}}}\n",
        "\n".join(f"{x.entry} = libraries[{x.library.name!a}].functions[{x.spec.name!a}]" for x in wrappers) + "\n",
        *(_result_class(x) for x in wrappers if _has_own_result(x.spec)),
    ]
    return "\n".join(parts) + "".join(f"\n\n{_function(wrapper)}" for wrapper in wrappers)


def _about(name: str, version: Version, libraries: Sequence[PackagedLibrary]) -> list[str]:
    lines = [f"{name} {version}: functions that aotensor has compiled.", ""]
    lines += [f"    {typed_line(spec)}" for library in libraries for spec in library.manifest.functions]
    return [
        *lines, "",
        "`libraries` has what they are functions of, by name: `libraries[...].f.bind(...)` fixes arrays for loops,",
        "`libraries[...].f.pointer` is the function for C.",
    ]  # fmt: skip


def _function(wrapper: _Wrapper) -> str:
    spec = wrapper.spec
    inputs = [value for value in spec.arguments if value.default is None]
    options = [name for name in ("out", "num_threads") if name not in {value.name for value in inputs}]
    parameters = identifiers([value.name for value in inputs], [*options, *_TAKEN, wrapper.entry, wrapper.result])
    types = {"out": "_Any = None", "num_threads": "int | None = None"}
    declared = [f"{name}: {_argument_type(value)}" for name, value in zip(parameters, inputs, strict=True)]
    declared += ["*", *(f"{name}: {types[name]}" for name in options)] if options else []
    gives, given = _result_type(wrapper), ", ".join(parameters)
    called, result = identifiers(("_function", "_result"), [*parameters, *_TAKEN, wrapper.entry])
    body = [_docstring(_explained(spec, parameters, options), "    ")]
    if "num_threads" in options:
        chosen = f"{wrapper.entry} if num_threads is None else {wrapper.entry}.with_threads(num_threads)"
        body.append(f"    {called} = {chosen}\n")
    else:
        called = wrapper.entry
    into = f" if out is None else {called}({', '.join([*parameters, 'out=out'])})" if "out" in options else ""
    body.append(f"    {result}: {gives} = {called}({given}){into}\n    return {result}\n")
    head = f"def {wrapper.name}({', '.join(declared)}) -> {gives}:\n"
    if len(head) > 120:
        head = f"def {wrapper.name}(\n" + "".join(f"    {name},\n" for name in declared) + f") -> {gives}:\n"
    return head + "".join(body)


def _explained(spec: FunctionSpec, parameters: Sequence[str], options: Sequence[str]) -> list[str]:
    """The docstring of a function: arguments, results and exceptions."""
    inputs = [value for value in spec.arguments if value.default is None]
    lines = [*(spec.doc.strip().splitlines() or [typed_line(spec)]), ""]
    about = {"out": "arrays to write into, instead of new ones", "num_threads": "threads at most"}
    taken = [f"    {name}: {kind_of(value)}" for name, value in zip(parameters, inputs, strict=True)]
    lines += ["Args:", *taken, *(f"    {name}: {about[name]}" for name in options), ""]
    states = [value for value in spec.arguments if value.default is not None]
    if states:
        lines += ["State:", *(f"    {value.name}: {kind_of(value)}" for value in states), ""]
    lines += ["Returns:"]
    lines += [f"    {value.name}: {kind_of(value)}" for value in spec.results] or ["    an empty list"]
    return lines


def _argument_type(value: ArgumentSpec | SparseValue) -> str:
    """The type annotation of an argument: array-like, or a SciPy sparse matrix, without importing SciPy."""
    return "_Any" if isinstance(value, SparseValue) else "_ArrayLike"


def _given(value: OutputSpec | SparseValue) -> str:
    if isinstance(value, SparseValue) or DTYPES[value.dtype].package:  # SciPy and ml_dtypes may be absent
        return "_Any"
    return f"_NDArray[_np.{'bool_' if value.dtype == 'bool' else value.dtype}]"


def _has_own_result(spec: FunctionSpec) -> bool:
    return spec.output_kind == "dict" and bool(spec.results)


def _result_type(wrapper: _Wrapper) -> str:
    """The type annotation of the result."""
    spec = wrapper.spec
    if _has_own_result(spec):
        return wrapper.result
    types = list(dict.fromkeys(_given(value) for value in spec.results)) or ["_Any"]
    if spec.output_kind == "single":
        return types[0]
    return "dict[str, _Any]" if spec.output_kind == "dict" else f"list[{' | '.join(types)}]"


def _result_class(wrapper: _Wrapper) -> str:
    """The TypedDict of the results in functional syntax, which allows any text as a key."""
    fields = "".join(f"    {value.name!a}: {_given(value)},\n" for value in wrapper.spec.results)
    return f"{wrapper.result} = _TypedDict({wrapper.result!a}, {{\n{fields}}})\n"


def _camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("_") if word) or "Function"


def _docstring(lines: Sequence[str], indent: str) -> str:
    """Quote lines as a docstring; their content is escaped."""
    safe = [
        line.encode("unicode_escape").decode() if not line.isprintable() else line.replace("\\", "\\\\")
        for line in lines
    ]
    text = [line.replace('"', '\\"') if '"""' in line or line.endswith('"') else line for line in safe]
    if len(text) == 1:
        return f'{indent}"""{text[0]}"""\n'
    body = "".join(f"{indent}{line}".rstrip() + "\n" for line in text[1:])
    return f'{indent}"""{text[0]}\n{body}{indent}"""\n'
