"""The files written by one compilation, and the functions that write them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aotensor.codegen.files import made_folder
from aotensor.codegen.library import Library, write_library
from aotensor.codegen.targets.kinds import KINDS
from aotensor.driver.definition import Definition
from aotensor.driver.recipe import Options, lower, make_library
from aotensor.driver.text.c_source import c_source, refuse_weights
from aotensor.errors import GraphValueError
from aotensor_runtime import Library as LoadedLibrary
from aotensor_runtime import load
from aotensor_runtime.container import Container
from aotensor_runtime.errors import LibraryError
from aotensor_runtime.library import read_file
from aotensor_runtime.notebook.html import card, size_text, table
from aotensor_runtime.signature import typed_line

SOURCE: Final = "c"
"""The kind of output that is C source."""


@dataclass(frozen=True)
class Artifact:
    """A library and its header on disk.

    library: the shared library, or what was requested instead: the static one, or C source. archive: the static one,
    if any. source: C source, if any.
    weights: the file with large constants, which the library maps, if any.
    others: files that some callers need: an import library, a module for JavaScript and its types, a header for C++.
    """

    library: Path
    header: Path
    archive: Path | None = None
    others: tuple[Path, ...] = ()
    source: Path | None = None
    weights: Path | None = None

    def load(self) -> LoadedLibrary:
        """Load the library.   Raises: ForeignLibrary for a static one, which C programs link"""
        return load(self.library)

    @property
    def files(self) -> tuple[Path, ...]:
        """The paths of all files that were written."""
        return tuple(
            dict.fromkeys(
                x
                for x in (self.library, self.header, self.archive, self.source, self.weights, *self.others)
                if x is not None
            )
        )

    def _repr_html_(self) -> str:
        """HTML for notebooks: the current files and the functions; no code of the library runs."""
        files = [(str(path), _size_of(path)) for path in self.files]
        try:
            manifest = Container(read_file(self.library)).manifest()
        except LibraryError as error:
            return card("artifact", str(error), table(["file", "size"], files))
        functions = [(spec.name, typed_line(spec)) for spec in manifest.functions]
        parts = table(["file", "size"], files), table(["function", "signature"], functions)
        return card(f"artifact {manifest.name}", f"{manifest.target}, {manifest.processors}, fp {manifest.fp}", *parts)


def _size_of(path: Path) -> str:
    try:
        return size_text(path.stat().st_size)
    except OSError:
        return "not there"


def compile_to_library(functions: Sequence[Definition], name: str | None, options: Options) -> Library:
    """Compile functions to a library in memory."""
    return make_library(lower(functions, options), name or functions[0].library_name)


def library_bytes(functions: Sequence[Definition], opt_level: int, sections: Mapping[str, bytes]) -> bytes:
    """The bytes of a library of these functions, for this machine only, so without IR texts.

    Raises: as `write_artifact`
    """
    options = Options(opt_level=opt_level, sections=sections)
    return make_library(lower(functions, options, texts=()), functions[0].name, is_shipped=False).shared()


def kinds_of(emit: str | Collection[str]) -> tuple[str, ...]:
    """The requested kinds of files, a tuple of keys of `KINDS` and "c".   Raises: GraphValueError if none or unknown"""
    kinds = (emit,) if isinstance(emit, str) else tuple(emit)
    known = *KINDS, SOURCE
    if not kinds or not set(kinds) <= set(known):
        raise GraphValueError(f"compile: emit must be chosen from {', '.join(map(repr, known))}, not {emit!r:.60}")
    return kinds


def write_artifact(
    functions: Sequence[Definition], folder: Path, name: str | None, options: Options, kinds: Collection[str] = ("lib",)
) -> Artifact:
    """Write functions as `lib<name>.so`, `lib<name>.a`, `<name>.c`, and `<name>.h`, to a folder, created if needed.

    kinds: keys of `codegen.targets.kinds.KINDS` and "c", at least one.

    Raises: UnsupportedError for what C source does not have, OSError if the folder cannot be written,
    ToolError of the linker, GraphError of the program.
    """
    if SOURCE in kinds:
        refuse_weights(options)
    library = compile_to_library(functions, name, options)
    sources = {}
    if SOURCE in kinds:
        sources[f"{library.manifest.name}.c"] = c_source(functions, options, library.manifest).encode()
    with made_folder(folder):
        *paths, header = write_library(library, folder, kinds, sources)
    source = paths.pop(0) if sources else None
    archive = next((path for path in paths if path.name == library.archive_name), None) if "static" in kinds else None
    first = source or header if {*kinds} == {SOURCE} else paths[0]
    weights = None if library.weights is None else folder / library.weights.spec.file
    others = tuple(path for path in paths if path not in (first, archive, weights))
    return Artifact(first, header, archive, others, source, weights)
