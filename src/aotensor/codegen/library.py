"""From an LLVM module of kernels to the files that are shipped: the last arrows of the road, in one place.

module + signatures → entries, sections → optimised → object ┬→ shared library, header
parts that many libraries share (`codegen.parts`)  →  object ┘
all of it as one module                 → optimised → object →  static archive, object file
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from aotensor.codegen.container import add_sections, seal
from aotensor.codegen.entry.entries import add_entries
from aotensor.codegen.entry.names import shared_symbols
from aotensor.codegen.entry.tables import is_elf
from aotensor.codegen.entry.threads import PARALLEL
from aotensor.codegen.files import write_files
from aotensor.codegen.header import header_text
from aotensor.codegen.link import archive, link
from aotensor.codegen.llvm import Module, ModuleRef, binding
from aotensor.codegen.machine import Machine
from aotensor.codegen.parts import Part, PartStore, compile_part, core_part, kernel_parts, matrix_parts, product_parts
from aotensor.passes.target import Target
from aotensor_runtime.abi import ABI_VERSION
from aotensor_runtime.manifest import FunctionSpec, Manifest


@dataclass(frozen=True)
class Blueprint:
    """All of a library that is not code.

    version: of aotensor. sections: extra content by name, such as IR texts. values: `ValuePool.data`. pipeline,
    schedule: as in `Manifest`. debug_info: the module has some, which is kept.
    """

    name: str
    functions: Sequence[FunctionSpec]
    machine: Machine
    version: str
    fp: str = "contract"
    prefix: str = ""
    sections: Mapping[str, bytes] = field(default_factory=dict)
    values: bytes = b""
    pipeline: str = ""
    schedule: str = ""
    debug_info: bool = False

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
            pipeline=self.pipeline,
            schedule=self.schedule,
        )


@dataclass(frozen=True)
class Library:
    """A library on its way to a file: every form of it that can be written.

    program: LLVM IR of all that this library alone has. parts: the rest. store: where the objects of parts come from.
    debug_info: it and the names of functions inside stay in the shared library.
    """

    manifest: Manifest
    exported: tuple[str, ...]
    machine: Machine
    program: str
    parts: tuple[Part, ...]
    store: PartStore
    debug_info: bool = False

    @property
    def soname(self) -> str:
        return f"lib{self.manifest.name}.so"

    @property
    def archive_name(self) -> str:
        return f"lib{self.manifest.name}.a"

    @cached_property
    def objects(self) -> tuple[bytes, ...]:
        """Object code of the program and of the parts, for the linker.   Raises: as `Machine.optimise`."""
        program = self.machine.object_code(self.machine.optimise(self.program))
        return program, *(self.store(part, self.machine) for part in self.parts)

    @cached_property
    def optimised(self) -> ModuleRef:
        """Program and parts in one module, optimised.   Raises: as `Machine.optimise`."""
        modules = [self.program, *(part.make(self.machine) for part in self.parts)]
        shared = shared_symbols(self.manifest) if is_elf(self.manifest.target) else ()
        return self.machine.optimise(*modules, exported=self.exported, shared=shared)

    @cached_property
    def object_code(self) -> bytes:
        """Program and parts as one object file, in which nothing but the exported symbols can be seen.

        Those that every library has are weak there, so that one program may link several.
        """
        return self.object_of(self.optimised)

    def object_of(self, module: ModuleRef) -> bytes:
        """The object file of `optimised`."""
        return self.machine.object_code(module)

    def header(self) -> str:
        """Text of the header."""
        return header_text(self.manifest)

    def shared(self) -> bytes:
        """The shared library, linked and sealed.

        Raises: ToolError if no linker is there or it fails.
        """
        return self.linked(self.objects)

    def linked(self, objects: Sequence[bytes]) -> bytes:
        """The shared library of `objects`.   Raises: as `shared`"""
        target, keeps = self.manifest.target, self.debug_info
        return seal(link(objects, triple=target, soname=self.soname, exported=self.exported, keeps_symbols=keeps))

    def static(self) -> bytes:
        """The static archive."""
        return self.archive_of(self.object_code)

    def archive_of(self, code: bytes) -> bytes:
        """The static archive of `object_code`."""
        return archive(code, member=f"{self.manifest.name}.o", exported=self.exported)


def build_library(
    module: Module,
    blueprint: Blueprint,
    store: PartStore = compile_part,
    threads: bool = True,
    facts: Target | None = None,
) -> Library:
    """Add the entries to a module of kernels. `module` is changed.

    threads: as `emit_module`. facts: as `product_parts`

    Raises: as `add_entries`.
    """
    manifest = blueprint.manifest()
    exported = add_entries(module, manifest)
    add_sections(module, blueprint.sections, blueprint.values)
    products = product_parts(module, threads, facts)
    matrices = matrix_parts(module, threads)
    is_parallel = threads and (PARALLEL in module.globals or bool(products) or bool(matrices))
    parts = core_part(blueprint.prefix, is_parallel), *matrices, *products, *kernel_parts(module)
    return Library(manifest, exported, blueprint.machine, str(module), parts, store, blueprint.debug_info)


KINDS: Final[dict[str, Callable[[Library], tuple[str, bytes]]]] = {
    "lib": lambda library: (library.soname, library.shared()),
    "static": lambda library: (library.archive_name, library.static()),
}
"""What a library can be written as → its file name and content. Names are those of `aotensor compile --emit`."""


def write_library(library: Library, folder: Path, kinds: Collection[str] = ("lib",)) -> tuple[Path, ...]:
    """Write the library as each of `kinds`, and `<name>.h`, all or none; gives their paths, in the order of KINDS.

    Raises: ToolError of the linker; OSError if the folder is not writable.
    """
    files = dict(make(library) for kind, make in KINDS.items() if kind in kinds)
    files[f"{library.manifest.name}.h"] = library.header().encode()
    contents = {folder / name: content for name, content in files.items()}
    write_files(contents)
    return tuple(contents)
