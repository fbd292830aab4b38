"""C declarations of sparse inputs and outputs with constant pattern."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Final

from aotensor.codegen.entry.names import Symbols
from aotensor_runtime.manifest import FunctionSpec, Manifest, SparseValue
from aotensor_runtime.typed.parameters import C_TYPES, parameter_names
from aotensor_runtime.typed.patterns import (
    MOST_RECORDED,
    Pattern,
    constant_inputs,
    constant_outputs,
    recorded_pattern,
)

_UNUSED: Final = """\
#ifndef AOTENSOR_UNUSED /* no warning about constants that a program does not use */
#ifdef __GNUC__
#define AOTENSOR_UNUSED __attribute__((unused))
#else
#define AOTENSOR_UNUSED
#endif
#endif"""
_MINORS: Final = {"csr": ("row", "columns", "rows"), "csc": ("column", "rows", "columns")}


def pattern_lines(manifest: Manifest, spec: FunctionSpec) -> list[tuple[list[str], str]]:
    """The comment and declarations of every sparse value with constant pattern. Raises: as `recorded_pattern`."""
    found = [_constants(spec, *one) for one in _named(manifest, spec)]
    return [([], _UNUSED), *found] if any(text.count("static") for _, text in found) else found


def _named(manifest: Manifest, spec: FunctionSpec) -> list[tuple[SparseValue, bool, tuple[str, str]]]:
    """(sparse value, is it an input?, prefixes of its macros and arrays) for constant patterns, outputs first."""
    taken: set[str] = set()
    for other in manifest.functions:
        names = parameter_names(other)[len(other.workspace_dims) :]
        parts = (
            (constant_outputs(other), False, other.produced, names[len(other.arguments) :]),
            (constant_inputs(other), True, other.arguments, names),
        )
        own = []
        for known, is_input, values, own_names in parts:
            for value, name in zip(values, own_names, strict=False):
                if value not in known:
                    continue
                assert isinstance(value, SparseValue)
                stem = f"{Symbols.for_function(manifest.prefix, other.name).typed}_{name}"
                while stem.upper() in taken:
                    stem += "_"
                taken.add(stem.upper())
                own.append((value, is_input, (stem.upper(), stem)))
        if other is spec:
            return own
    return []


def _constants(spec: FunctionSpec, value: SparseValue, is_input: bool, names: tuple[str, str]) -> tuple[list[str], str]:
    macro, name = names
    if is_input:
        return _of_input(spec, value, macro, name)
    pattern, entries = recorded_pattern(spec, value), spec.outputs[value.first + 1].shape[0]
    lines = [f"#define {macro}_NNZ {entries}"]
    if pattern is None:
        comment = (
            f"Stored entries of {_plain(value.name)}, at the same places in every call. indptr and indices are not "
            f"here, as they have more than {MOST_RECORDED} numbers: a call of {spec.name} writes them, and in Python "
            "they are what pattern() of the function gives."
        )
        return [comment], lines[0]
    return _arrays(value, pattern, lines, name, "are")


def _of_input(spec: FunctionSpec, value: SparseValue, macro: str, name: str) -> tuple[list[str], str]:
    pattern = recorded_pattern(spec, value, is_input=True)
    if pattern is None:
        comment = (
            f"Stored entries of {_plain(value.name)} are where the model declares them, which has more than "
            f"{MOST_RECORDED} numbers: a call with others is refused."
        )
        return [comment], ""
    return _arrays(value, pattern, [f"#define {macro}_NNZ {len(pattern.indices)}"], name, "must be")


def _arrays(value: SparseValue, pattern: Pattern, lines: list[str], name: str, verb: str) -> tuple[list[str], str]:
    major, minors, majors = _MINORS[value.format]
    comment = (
        f"Where the stored entries of {_plain(value.name)} {verb}, in every call: {major} i has those from indptr[i] "
        f"to indptr[i + 1] - 1, in the {minors} that indices has; {majors} has the {major} of each. An array without "
        "elements is {0} here."
    )
    kind = C_TYPES[value.index_dtype]
    for part, numbers in (("indptr", pattern.indptr), ("indices", pattern.indices), (majors, pattern.majors)):
        head = f"static const {kind} {name}_{part}[{max(len(numbers), 1)}] AOTENSOR_UNUSED = {{"
        lines += [head, _numbers(numbers), "};"]
    return [comment], "\n".join(lines)


def _numbers(numbers: Sequence[int]) -> str:
    return textwrap.fill(", ".join(map(str, numbers or [0])), 116, initial_indent="  ", subsequent_indent="  ")


def _plain(text: str) -> str:
    return re.sub(r"[^\x20-\x7e]|[*/\\]", "?", text)
