"""What `inspect` says about a library: read from its bytes, never executed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from aotensor.driver.linkage import read_linkage
from aotensor.passes.estimate import Estimate, Polynomial, count_flops_in_text
from aotensor_runtime.abi import DTYPE_SIZES
from aotensor_runtime.container import Container
from aotensor_runtime.elf import SHARED
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, OutputSpec, SparseValue


@dataclass(frozen=True)
class Description:
    """A library in plain values. work: function → formulas of flops and bytes; passes: what each did to the IR."""

    container: Container
    size: int
    work: dict[str, dict[str, str]]
    passes: list[dict[str, Any]]

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON values."""
        manifest, linkage = self.container.manifest(), read_linkage(self.container.elf)
        tree = asdict(manifest)
        for function in tree["functions"]:
            function["estimate"] = self.work.get(function["name"], {})
        return tree | {
            "size": self.size,
            "symbols": linkage.exported,
            "needed": linkage.needed,
            "undefined": linkage.undefined,
            "passes": self.passes,
        }

    def rows(self) -> list[tuple[str, str]]:
        """The library as a whole, for people."""
        manifest, linkage = self.container.manifest(), read_linkage(self.container.elf)
        origin = f"aotensor {manifest.aotensor}, LLVM {manifest.llvm}, ABI {manifest.abi}"
        is_linked = self.container.elf.kind == SHARED
        return [
            ("library", manifest.name),
            ("made by", origin),
            ("target", f"{manifest.target}, {manifest.cpu}, fp {manifest.fp}"),
            ("size", f"{self.size} bytes" if is_linked else f"{self.size} bytes of object code, not linked"),
            ("needs", ", ".join(linkage.needed) or ("nothing" if is_linked else "not linked")),
            ("calls", ", ".join(linkage.undefined) or "nothing"),
            ("exports", ", ".join(linkage.exported) or "not linked"),
            ("contains", ", ".join(manifest.sections) or "nothing else"),
        ]


def describe(data: bytes, passes: list[dict[str, Any]] | None = None) -> Description:
    """Read a library or object file.   Raises: LibraryError"""
    container = Container(data)
    manifest = container.manifest()
    work = {spec.name: {"bytes": argument_bytes(spec)} for spec in manifest.functions}
    if "ir.loops" in container.extra_names():
        text = container.extra("ir.loops").decode(errors="replace")
        for spec in manifest.functions:
            found = count_flops_in_text(text, f"{spec.name}.kernel", [value.shape for value in spec.values])
            if found is not None:
                work[spec.name]["flops"] = _flops_text(found)
    recorded = json.loads(container.extra("passes")) if "passes" in container.extra_names() else []
    own = [{"name": name, "before": before, "after": after} for name, before, after in recorded]
    return Description(container, len(data), work, own if passes is None else passes)


def _flops_text(found: Estimate) -> str:
    return str(found.flops) if found.is_exact else f"at least {found.flops}"


def argument_bytes(spec: FunctionSpec) -> str:
    """Bytes of all inputs and outputs, each touched once: what a call must move at least."""
    total, is_known = Polynomial(), True
    patterns = {group.name for group in (*spec.sparse_inputs, *spec.sparse_outputs)}
    for value in spec.values:
        if value.name in patterns:  # no memory
            continue
        size = Polynomial.of(DTYPE_SIZES[value.dtype])
        for extent in value.shape:
            is_known = is_known and extent is not None
            is_formula = isinstance(extent, str) and extent not in spec.dims
            size *= Polynomial.of(f"({extent})" if is_formula else extent or 0) if extent is not None else Polynomial()
        total += size
    return str(total) if is_known else f"at least {total}"


def signature(spec: FunctionSpec) -> str:
    """`logistic(X: float64[n, p], w: float64[p]) -> loss: float64`"""
    inputs = ", ".join(map(_value, spec.arguments))
    return f"{spec.name}({inputs}) -> {', '.join(map(_value, spec.produced)) or 'nothing'}"


def _value(value: ArgumentSpec | OutputSpec | SparseValue) -> str:
    dims = ", ".join("?" if n is None else str(n) for n in value.shape)
    is_state = not isinstance(value, OutputSpec) and value.default is not None
    kind = f"{value.format} {value.dtype}" if isinstance(value, SparseValue) else value.dtype
    wide = ", int64 indices" if isinstance(value, SparseValue) and value.index_dtype == "int64" else ""
    return f"{value.name}: {kind}{f'[{dims}]' if value.shape else ''}{wide}{' (state)' if is_state else ''}"
