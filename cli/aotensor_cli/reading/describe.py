"""Describe a library for `inspect`, from its bytes and without executing it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeVar

from aotensor.api.cost.work import argument_bytes
from aotensor.codegen.targets.linkage import Linkage, read_linkage
from aotensor.driver.stages import REMARKS_SECTION
from aotensor_cli.reading.remarks import recorded_remarks
from aotensor_runtime.container import Container
from aotensor_runtime.errors import DamagedLibrary, LibraryError
from aotensor_runtime.formats.image import SHARED
from aotensor_runtime.json_node import parsed
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, Manifest, OutputSpec, SparseValue
from aotensor_runtime.signature import marks_of

_T = TypeVar("_T")


@dataclass(frozen=True)
class Description:
    """The description of a library as plain values.

    work: function → formulas of flops and bytes; passes: what each did to the IR; linkage: what the dynamic loader
    reads; damages: faults of the file that do not prevent showing the rest.
    """

    container: Container
    manifest: Manifest
    size: int
    linkage: Linkage
    work: dict[str, dict[str, str]]
    passes: list[dict[str, Any]]
    damages: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The description as JSON values."""
        tree = asdict(self.manifest)
        for function in tree["functions"]:
            function["estimate"] = self.work.get(function["name"], {})
        return tree | {
            "size": self.size,
            "symbols": self.linkage.exported,
            "needed": self.linkage.needed,
            "undefined": self.linkage.undefined,
            "passes": self.passes,
            "damages": self.damages,
        }

    def rows(self) -> list[tuple[str, str]]:
        """Rows of the table about the library as a whole."""
        manifest, linkage = self.manifest, self.linkage
        origin = f"aotensor {manifest.aotensor}, LLVM {manifest.llvm}, ABI {manifest.abi}"
        is_linked = self.container.image.kind == SHARED
        return [
            ("library", manifest.name),
            *(("DAMAGED", text) for text in self.damages),
            ("made by", origin),
            ("target", f"{manifest.target}, {manifest.processors}, fp {manifest.fp}"),
            *([("passes", manifest.pipeline)] if manifest.pipeline else []),
            *([("schedule", manifest.schedule)] if manifest.schedule else []),
            *((f"interface {x.name}", f"{x.version}: {', '.join(x.symbols)}") for x in manifest.interfaces),
            *([("weights", f"{x.file}, {x.expectation}; not self-contained")] if (x := manifest.weights) else []),
            ("size", f"{self.size} bytes" if is_linked else f"{self.size} bytes of object code, not linked"),
            ("needs", ", ".join(linkage.needed) or ("nothing" if is_linked else "not linked")),
            ("calls", ", ".join(linkage.undefined) or "nothing"),
            ("exports", ", ".join(linkage.exported) or "not linked"),
            ("contains", ", ".join(manifest.sections) or "nothing else"),
        ]


def describe(data: bytes, passes: list[dict[str, Any]] | None = None) -> Description:
    """Read a library or object file. Damaged parts are noted, and the rest is read.

    passes: what passes did, if that is known; else the file is asked.

    Raises: LibraryError if there is no manifest that can be read.
    """
    container = Container(data)
    manifest = container.manifest()
    damages: list[str] = []

    def attempt(read: Callable[[], _T], otherwise: _T) -> _T:
        try:
            return read()
        except LibraryError as error:
            damages.append(error.diagnostic.title)
            return otherwise

    if container.image.kind == SHARED:
        attempt(container.check, None)
    linkage = attempt(lambda: read_linkage(container.image), Linkage((), (), ()))
    for name in manifest.sections:
        attempt(partial(_look_into, container, name), None)
    no_passes: list[dict[str, Any]] = []
    no_flops: dict[str, str] = {}
    own = attempt(lambda: _recorded_passes(container), no_passes) if passes is None else passes
    formulas = attempt(lambda: _recorded_flops(container), no_flops)
    work = {spec.name: {"bytes": argument_bytes(spec)} for spec in manifest.functions}
    for name in work.keys() & formulas.keys():
        work[name]["flops"] = formulas[name]
    return Description(container, manifest, len(data), linkage, work, own, tuple(dict.fromkeys(damages)))


def _look_into(container: Container, name: str) -> None:
    """Check that a section can be unpacked, and that a text section is text.   Raises: DamagedLibrary"""
    if name not in container.extra_names():
        raise DamagedLibrary(f"section {name} of the manifest is missing")
    if name.startswith("ir."):
        section_text(container, name)
    elif name == REMARKS_SECTION:
        recorded_remarks(container)
    else:
        container.extra(name)


def section_text(container: Container, name: str) -> str:
    """The content of a text section.   Raises: DamagedLibrary, KeyError"""
    try:
        return container.extra(name).decode()
    except UnicodeDecodeError as error:
        raise DamagedLibrary(f"section {name} is damaged: it is not UTF-8 ({error.reason})") from error


def _recorded_passes(container: Container) -> list[dict[str, Any]]:
    """Name, and operations before and after, of every pass.   Raises: DamagedLibrary"""
    rows = _recorded(container, "passes", [])
    try:
        found = [{"name": name, "before": before, "after": after} for name, before, after in rows]
    except (ValueError, TypeError) as error:
        raise DamagedLibrary("section passes is damaged: it is not a list of passes") from error
    if not all(list(map(type, row.values())) == [str, int, int] for row in found):
        raise DamagedLibrary("section passes is damaged: it is not a list of passes")
    return found


def _recorded_flops(container: Container) -> dict[str, str]:
    """Function → formula of its floating point operations.   Raises: DamagedLibrary"""
    found = _recorded(container, "work", {})
    if not isinstance(found, dict) or not all(isinstance(formula, str) for formula in found.values()):
        raise DamagedLibrary("section work is damaged: it is not a table of formulas")
    return found


def _recorded(container: Container, name: str, otherwise: Any) -> Any:
    """The value of a JSON section, `otherwise` if it is missing.   Raises: DamagedLibrary"""
    if name not in container.extra_names():
        return otherwise
    try:
        return parsed(section_text(container, name))
    except (ValueError, RecursionError) as error:
        raise DamagedLibrary(f"section {name} is damaged: it is not JSON") from error


def signature(spec: FunctionSpec) -> str:
    """`logistic(X: float64[n, p], w: float64[p]) -> loss: float64`"""
    inputs = ", ".join(map(_value, spec.arguments))
    return f"{spec.name}({inputs}) -> {', '.join(map(_value, spec.produced)) or 'nothing'}"


def _value(value: ArgumentSpec | OutputSpec | SparseValue) -> str:
    dims = ", ".join("?" if n is None else str(n) for n in value.shape)
    is_state = not isinstance(value, OutputSpec) and value.default is not None
    kind = f"{value.format} {value.dtype}" if isinstance(value, SparseValue) else value.dtype
    wide = ", int64 indices" if isinstance(value, SparseValue) and value.index_dtype == "int64" else ""
    return (
        f"{value.name}: {kind}{f'[{dims}]' if value.shape else ''}{wide}{' (state)' if is_state else marks_of(value)}"
    )
