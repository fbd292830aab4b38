"""C functions that overwrite states in place: `static inline` functions of the header that call the typed entry."""

from __future__ import annotations

from collections.abc import Collection
from math import prod
from typing import Final

from aotensor.codegen.declarations.text import prototype
from aotensor.codegen.entry.names import Symbols
from aotensor_runtime.arrays.dtypes import DTYPES
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, Manifest, OutputSpec
from aotensor_runtime.typed.parameters import Parameter, entry_parameters, parameter_names

_ALIGNMENT: Final = 64
"""Bytes that the next value of each state is rounded up to."""


def in_place_lines(manifest: Manifest, spec: FunctionSpec) -> tuple[str, str] | None:
    """The comment and the C text of `<function>_in_place`, and of the function for its workspace size.

    None for a function without updates or with states that are not dense arrays, and if the name is already used.
    """
    symbols = Symbols.in_library(manifest, spec.name)
    name = f"{symbols.typed}_in_place"
    taken = {Symbols.in_library(manifest, other.name).typed for other in manifest.functions}
    pairs = _pairs(spec)
    if not pairs or spec.workspace_dims != spec.typed_dims or taken & {name, f"{name}_workspace"}:
        return None
    states, nexts = {state.name for state, _ in pairs}, {output.name for _, output in pairs}
    parameters = entry_parameters(spec)
    known = [p.name for p in parameters]
    at, own, status, k = (_free(word, known) for word in ("at", "own", "status", "k"))
    dims = parameter_names(spec)[: len(spec.typed_dims)]
    c_dims = dict(zip(spec.typed_dims, dims, strict=True))
    declared = ", ".join(f"int64_t {dim}" for dim in dims) or "void"
    kept = [p for p in parameters if p.value is None or p.is_read_only or p.value.name not in nexts]
    arguments, results = (
        {p.value.name: p for p in parameters if p.value is not None and p.is_read_only is is_input}
        for is_input in (True, False)
    )
    sizes = [_rounded(state, c_dims) for state, _ in pairs]
    lines = [
        f"static inline int64_t {name}_workspace({declared}) {{",
        f"  int64_t {own} = {symbols.workspace}({', '.join(dims)});",
        f"  if ({own} < 0) {own} = 0;",
        *(f"  {own} += {size};" for size in sizes),
        f"  return {own};",
        "}",
        "",
        prototype("static inline int32_t", name, [_declared(p, states) for p in kept]).removesuffix(";") + " {",
        f"  char *{at} = (char *)workspace;",
        f"  int64_t {own} = {symbols.workspace}({', '.join(dims)});",
        f"  int32_t {status};",
        *(f"  {_c_type(results[output.name])}{results[output.name].name};" for _, output in pairs),
        f"  if (!{at}) return AOTENSOR_NULL_POINTER;",
    ]
    for (_, output), size in zip(pairs, sizes, strict=True):
        p = results[output.name]
        lines += [f"  {p.name} = ({_c_type(p).strip()}){at};", f"  {at} += {size};"]
    passed = [*(p.name for p in parameters[:-1]), f"{own} > 0 ? (void *){at} : (void *)0"]
    lines.append(prototype(f"  {status} =", symbols.typed, passed))
    lines.append(f"  if ({status}) return {status};")
    for state, output in pairs:
        to, source = arguments[state.name].name, results[output.name].name
        count = _elements(state, c_dims)
        lines.append(f"  for (int64_t {k} = 0; {k} < {count}; {k}++) {to}[{k}] = {source}[{k}];")
    lines += ["  return 0;", "}"]
    if isinstance(spec.workspace, int) and not dims:
        total = spec.workspace + sum(map(int, sizes))
        lines = [f"#define {name}_WORKSPACE_BYTES {total} /* what {name}_workspace gives */", "", *lines]
    comment = (
        f"{spec.name}, which overwrites its states: {', '.join(sorted(states))}. If the status is not 0 they stay as "
        f"they are. workspace is not NULL, of {name}_workspace bytes and aligned to {_ALIGNMENT} bytes."
    )
    return comment, "\n".join(lines)


def _pairs(spec: FunctionSpec) -> list[tuple[ArgumentSpec, OutputSpec]]:
    """Each state with the output that is its next value; empty unless all states are dense."""
    arguments, outputs = ({value.name: value for value in values} for values in (spec.arguments, spec.produced))
    found = []
    for state, output in spec.updates:
        before, after = arguments.get(state), outputs.get(output)
        if not isinstance(before, ArgumentSpec) or not isinstance(after, OutputSpec) or after.is_allocated:
            return []
        found.append((before, after))
    return found


def _declared(p: Parameter, states: Collection[str]) -> str:
    is_state = p.value is not None and p.is_read_only and p.value.name in states
    return f"{_c_type(p)}{p.name}" if is_state else str(p)


def _c_type(p: Parameter) -> str:
    return f"{p.type} *"


def _elements(state: ArgumentSpec, dims: dict[str, str]) -> str:
    """The number of elements of a state: a C expression of type int64_t, or a literal."""
    known = prod(n for n in state.shape if isinstance(n, int))
    named = [dims[n] for n in state.shape if isinstance(n, str)]
    return f"({' * '.join([*named, str(known)] if known != 1 else named)})" if named else str(known)


def _rounded(state: ArgumentSpec, dims: dict[str, str]) -> str:
    """The C expression of a state's size in bytes, rounded up; a number if all extents are known."""
    size = DTYPES[state.dtype].size
    if all(isinstance(n, int) for n in state.shape):
        return str(-(-size * int(_elements(state, dims)) // _ALIGNMENT) * _ALIGNMENT)
    return f"({_elements(state, dims)} * {size} + {_ALIGNMENT - 1}) / {_ALIGNMENT} * {_ALIGNMENT}"


def _free(word: str, known: Collection[str]) -> str:
    while word in known:
        word += "_"
    return word
