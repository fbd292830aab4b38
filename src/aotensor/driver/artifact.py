"""The files of one compilation, and the calls that write them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aotensor.codegen.files import made_folder
from aotensor.codegen.library import Library, write_library
from aotensor.codegen.targets.kinds import KINDS
from aotensor.driver.definition import Definition
from aotensor.driver.recipe import Options, lower, make_library
from aotensor.errors import GraphValueError
from aotensor_runtime import Library as LoadedLibrary
from aotensor_runtime import load
from aotensor_runtime.container import Container
from aotensor_runtime.errors import LibraryError
from aotensor_runtime.library import read_file
from aotensor_runtime.notebook.html import card, size_text, table
from aotensor_runtime.signature import typed_line


@dataclass(frozen=True)
class Artifact:
    """A library and its header on disk.

    library: the shared library, or the static one where only that was asked for. archive: the static one, if any.
    others: what its callers need on some targets: an import library, a module for JavaScript and its types.
    """

    library: Path
    header: Path
    archive: Path | None = None
    others: tuple[Path, ...] = ()

    def load(self) -> LoadedLibrary:
        """The library, ready to be called.   Raises: ForeignLibrary for a static one, which programs of C link"""
        return load(self.library)

    @property
    def files(self) -> tuple[Path, ...]:
        """All that was written."""
        return tuple(
            dict.fromkeys([self.library, self.header, *([self.archive] if self.archive else []), *self.others])
        )

    def _repr_html_(self) -> str:
        """For notebooks: the files as they are now, and the functions; nothing is executed."""
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
    """Functions as a library in memory."""
    return make_library(lower(functions, options), name or functions[0].library_name)


def library_bytes(functions: Sequence[Definition], opt_level: int, sections: Mapping[str, bytes]) -> bytes:
    """Functions as the bytes of a library that is called by this machine only, so it explains nothing.

    Raises: as `write_artifact`
    """
    options = Options(opt_level=opt_level, sections=sections)
    return make_library(lower(functions, options, texts=()), functions[0].name, is_shipped=False).shared()


def kinds_of(emit: str | Collection[str]) -> tuple[str, ...]:
    """The keys of `KINDS` that a user asks for.   Raises: GraphValueError for another, and for none"""
    kinds = (emit,) if isinstance(emit, str) else tuple(emit)
    if not kinds or not set(kinds) <= set(KINDS):
        raise GraphValueError(f"compile: emit is some of {', '.join(map(repr, KINDS))}, not {emit!r:.60}")
    return kinds


def write_artifact(
    functions: Sequence[Definition], folder: Path, name: str | None, options: Options, kinds: Collection[str] = ("lib",)
) -> Artifact:
    """Functions as `lib<name>.so`, `lib<name>.a` or both, and `<name>.h`, in a folder, which is made if needed.

    kinds: keys of `codegen.targets.kinds.KINDS`, at least one.

    Raises: OSError if the folder cannot be written, ToolError of the linker, GraphError of the program.
    """
    library = compile_to_library(functions, name, options)
    with made_folder(folder):
        *paths, header = write_library(library, folder, kinds)
    archive = paths[-1] if "static" in kinds else None
    return Artifact(paths[0], header, archive, tuple(path for path in paths[1:] if path != archive))
