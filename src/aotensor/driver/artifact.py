"""The files of one compilation, and the calls that write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aotensor.codegen.library import Library, write_library
from aotensor.driver.definition import Definition
from aotensor.driver.recipe import Options, lower, make_library
from aotensor_runtime import Library as LoadedLibrary
from aotensor_runtime import load


@dataclass(frozen=True)
class Artifact:
    """A library and its header on disk."""

    library: Path
    header: Path

    def load(self) -> LoadedLibrary:
        """The library, ready to be called."""
        return load(self.library)


def compile_to_library(functions: Sequence[Definition], name: str | None, options: Options) -> Library:
    """Functions as a library in memory."""
    return make_library(lower(functions, options), name or functions[0].name)


def library_bytes(f: Definition, opt_level: int) -> bytes:
    """A function as the bytes of a library that is called by this machine only, so it explains nothing.

    Raises: as `write_artifact`
    """
    return make_library(lower([f], Options(opt_level=opt_level), texts=()), f.name, is_shipped=False).shared()


def write_artifact(functions: Sequence[Definition], folder: Path, name: str | None, options: Options) -> Artifact:
    """Functions as `lib<name>.so` and `<name>.h` in a folder, which is made if needed.

    Raises: OSError if the folder cannot be written, ToolError of the linker, GraphError of the program.
    """
    library = compile_to_library(functions, name, options)
    folder.mkdir(parents=True, exist_ok=True)
    return Artifact(*write_library(library, folder))
