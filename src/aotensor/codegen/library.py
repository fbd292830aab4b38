"""From an LLVM module of kernels to the files that are shipped: the last arrows of the road, in one place.

module + signatures → entries, sections → optimised → object → shared library, header
                                                            └→ static archive
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aotensor.codegen.container import add_sections, seal
from aotensor.codegen.entry.entries import add_entries
from aotensor.codegen.header import header_text
from aotensor.codegen.link import archive, link, write_file
from aotensor.codegen.llvm import Module, ModuleRef, binding
from aotensor.codegen.machine import Machine
from aotensor_runtime.abi import ABI_VERSION
from aotensor_runtime.manifest import FunctionSpec, Manifest


@dataclass(frozen=True)
class Blueprint:
    """All of a library that is not code.

    version: of aotensor. sections: extra content by name, such as IR texts. values: `ValuePool.data`.
    """

    name: str
    functions: Sequence[FunctionSpec]
    machine: Machine
    version: str
    fp: str = "contract"
    prefix: str = ""
    sections: Mapping[str, bytes] = field(default_factory=dict)
    values: bytes = b""

    def manifest(self) -> Manifest:
        return Manifest(
            name=self.name,
            aotensor=self.version,
            abi=ABI_VERSION,
            llvm=".".join(map(str, binding.llvm_version_info)),
            target=self.machine.triple,
            cpu=self.machine.cpu,
            features=self.machine.features,
            fp=self.fp,
            functions=tuple(self.functions),
            prefix=self.prefix,
            sections=tuple(self.sections),
        )


@dataclass(frozen=True)
class Library:
    """A compiled library in memory: every form of it that can be written."""

    manifest: Manifest
    exported: tuple[str, ...]
    optimised: ModuleRef
    object_code: bytes

    @property
    def soname(self) -> str:
        return f"lib{self.manifest.name}.so"

    def header(self) -> str:
        """Text of the header."""
        return header_text(self.manifest)

    def shared(self) -> bytes:
        """The shared library, linked and sealed.

        Raises: ToolError if no linker is there or it fails.
        """
        return seal(link(self.object_code, triple=self.manifest.target, soname=self.soname, exported=self.exported))

    def static(self) -> bytes:
        """The static archive."""
        return archive(self.object_code, member=f"{self.manifest.name}.o", exported=self.exported)


def build_library(module: Module, blueprint: Blueprint) -> Library:
    """Add the entries to a module of kernels, optimise it and make its object code. `module` is changed.

    Raises: as `add_entries` and `Machine.optimise`.
    """
    manifest = blueprint.manifest()
    exported = add_entries(module, manifest)
    add_sections(module, blueprint.sections, blueprint.values)
    optimised = blueprint.machine.optimise(module)
    return Library(manifest, exported, optimised, blueprint.machine.object_code(optimised))


def write_library(library: Library, folder: Path) -> tuple[Path, Path]:
    """Write `lib<name>.so` and `<name>.h`; gives both paths. Neither is written if the link fails.

    Raises: ToolError of the linker; OSError if the folder is not writable.
    """
    content, text = library.shared(), library.header()
    paths = folder / library.soname, folder / f"{library.manifest.name}.h"
    write_file(paths[0], content)
    write_file(paths[1], text.encode())
    return paths
