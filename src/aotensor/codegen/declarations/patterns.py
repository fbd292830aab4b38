"""Header declarations of sparse outputs with constant pattern: constants, and the values entry."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Final

from aotensor.codegen.entry.names import Symbols
from aotensor_runtime.manifest import FunctionSpec, Manifest, SparseValue
from aotensor_runtime.typed.parameters import C_TYPES, parameter_names
from aotensor_runtime.typed.patterns import MOST_RECORDED, constant_outputs, recorded_pattern

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
    """Comment and declarations of every sparse output with constant pattern.   Raises: as `recorded_pattern`"""
    names = pattern_names(manifest, spec)
    found = [_constants(spec, value, *names[value.name]) for value in constant_outputs(spec)]
    return [([], _UNUSED), *found] if any(text.count("static") for _, text in found) else found


def pattern_names(manifest: Manifest, spec: FunctionSpec) -> Mapping[str, tuple[str, str]]:
    """For each output, the prefix of its macros, and that of its arrays; unique among functions and outputs."""
    taken: set[str] = set()
    for other in manifest.functions:
        outputs = parameter_names(other)[-len(other.produced) :] if other.produced else ()
        own = {}
        for value, name in zip(other.produced, outputs, strict=True):
            stem = f"{Symbols.of(manifest.prefix, other.name).typed}_{name}"
            if value in constant_outputs(other):
                while stem.upper() in taken:
                    stem += "_"
                taken.add(stem.upper())
                own[value.name] = stem.upper(), stem
        if other is spec:
            return own
    return {}


def _constants(spec: FunctionSpec, value: SparseValue, macro: str, name: str) -> tuple[list[str], str]:
    pattern, entries = recorded_pattern(spec, value), spec.outputs[value.first + 1].shape[0]
    lines = [f"#define {macro}_NNZ {entries}"]
    major, minors, majors = _MINORS[value.format]
    if pattern is None:
        comment = (
            f"Stored entries of {_plain(value.name)}, at the same places in every call. indptr and indices are not "
            f"here, as they have more than {MOST_RECORDED} numbers: a call of {spec.name} writes them, and in Python "
            "they are what pattern() of the function gives."
        )
        return [comment], lines[0]
    comment = (
        f"Where the stored entries of {_plain(value.name)} are, in every call: {major} i has those from indptr[i] to "
        f"indptr[i + 1] - 1, in the {minors} that indices has; {majors} has the {major} of each. An array without "
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
