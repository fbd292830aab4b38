"""A loaded library and its functions as notebooks show them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from aotensor_runtime.manifest import Manifest
from aotensor_runtime.notebook.html import card, code, folded, size_text, table, within
from aotensor_runtime.signature import ArgumentSpec, FunctionSpec, SparseValue, kind_of, typed_line
from aotensor_runtime.typed.parameters import typed_parameters


def library_html(manifest: Manifest, size: int, path: Path | None) -> str:
    """HTML of a library: its functions and compile options."""
    functions = table(["function", "signature"], [(spec.name, typed_line(spec)) for spec in manifest.functions])
    parts = (folded(spec.name, function_body(manifest, spec)) for spec in manifest.functions)
    options = folded("made for", table([], list(options_of(manifest, path))))
    details = within(parts, 40_000, "functions, not shown in detail")
    return card(f"library {manifest.name}", machine_line(manifest, size), functions, details, options)


def function_html(manifest: Manifest, spec: FunctionSpec, size: int) -> str:
    """HTML of one function."""
    note = f"of library {manifest.name}, {machine_line(manifest, size)}"
    return card(spec.name, note, function_body(manifest, spec))


def machine_line(manifest: Manifest, size: int) -> str:
    """`x86_64-linux-gnu, skylake, fp contract, 34.2 kB`"""
    return f"{manifest.target}, {manifest.processors}, fp {manifest.fp}, {size_text(size)}"


def function_body(manifest: Manifest, spec: FunctionSpec) -> str:
    """HTML of a function: arrays, dims, external functions, checks, and its C entry."""
    rows = [("input", value.name, kind_of(value), _note(value)) for value in spec.arguments]
    rows += [("output", value.name, kind_of(value), "") for value in spec.results]
    facts = [("dims", ", ".join(spec.typed_dims) or "none"), *_calls(spec)]
    checks = [(check.kind, check.static_text()) for check in spec.checks]
    return "".join((
        code(spec.doc) if spec.doc else "",
        table(["", "name", "type", ""], rows, 8_000),
        table([], facts, 4_000),
        code(c_prototype(manifest, spec)),
        folded(f"{len(checks)} checks of values", table(["error", "message"], checks, 8_000)),
    ))  # fmt: skip


def c_prototype(manifest: Manifest, spec: FunctionSpec) -> str:
    """The declaration of the typed entry, as in the header of the library."""
    return f"int32_t {manifest.prefix}{spec.name}({', '.join(typed_parameters(spec))});"


def options_of(manifest: Manifest, path: Path | None) -> Iterator[tuple[str, str]]:
    """Labels and texts of the producer, the target and the compile options of a library."""
    yield from [("file", str(path))] if path is not None else []
    yield "made by", f"aotensor {manifest.aotensor}, LLVM {manifest.llvm}, ABI {manifest.abi}"
    yield "target", manifest.target
    if manifest.weights is not None:
        yield "weights", f"{manifest.weights.file}, {manifest.weights.expectation}"
    yield "CPU", manifest.processors
    yield "features", " ".join(x for x in manifest.features.split(",") if x.startswith("+")) or "none"
    yield "floating point", manifest.fp
    named = (("prefix", manifest.prefix), ("passes", manifest.pipeline), ("schedule", manifest.schedule))
    yield from ((name, text) for name, text in named if text)
    yield "contains", ", ".join(manifest.sections) or "nothing else"


def _calls(spec: FunctionSpec) -> list[tuple[str, str]]:
    called = ["matrix products of BLAS"] if spec.calls_blas else []
    called += spec.lapack
    return [("calls", ", ".join(called))] if called else []


def _note(value: ArgumentSpec | SparseValue) -> str:
    return "" if value.default is None else "shared variable"
