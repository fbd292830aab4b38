"""Build the shipped files from an LLVM module of kernels: the last steps of compilation, in one place.

module + signatures → entries, sections → optimised → object ┬→ shared library, header
parts that many libraries share (`codegen.parts`)  →  object ┘
everything as one module                → optimised → object →  static archive, object file
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import aotensor.ir  # noqa: F401  (before xDSL)
from aotensor.codegen.abi.interface import Layer, refuse_without_libc
from aotensor.codegen.container import add_sections, seal, with_sections
from aotensor.codegen.declarations.ceres import ceres_header
from aotensor.codegen.embedded.math import add_math
from aotensor.codegen.embedded.symbols import refuse_foreign
from aotensor.codegen.entry.entries import add_entries
from aotensor.codegen.entry.names import shared_symbols
from aotensor.codegen.entry.tables import Constants
from aotensor.codegen.entry.threads import PARALLEL
from aotensor.codegen.files import write_files
from aotensor.codegen.header import header_text
from aotensor.codegen.llvm import Module, ModuleRef, binding
from aotensor.codegen.machine import Machine
from aotensor.codegen.parts import (
    Part,
    PartStore,
    compile_part,
    core_part,
    digest_parts,
    kernel_parts,
    matrix_parts,
    product_parts,
    rare_parts,
    rename_for_level,
)
from aotensor.codegen.targets.archive import archive
from aotensor.codegen.targets.javascript import module_text, types_text
from aotensor.codegen.targets.kinds import KINDS
from aotensor.codegen.targets.levels import LevelCode, choose_among_levels, name_by_level
from aotensor.codegen.targets.link import Linked, link
from aotensor.codegen.targets.systems import MACOS, WASM, System, system_of
from aotensor.codegen.weights.entries import add_weights
from aotensor.codegen.weights.file import WeightsFile
from aotensor.errors import OptionError
from aotensor.passes.target import Target
from aotensor_runtime.abi import ABI_VERSION
from aotensor_runtime.manifest import FunctionSpec, Manifest


@dataclass(frozen=True)
class Blueprint:
    """The contents of a library other than code.

    version: version of aotensor. sections: extra content by name, such as IR texts. values: `ValuePool.data`. pipeline,
    schedule, levels, allocates, freestanding: as in `Manifest`. debug_info: keep the module's debug information.
    layers: interfaces of other projects. weights: the file with large constants, if the kernels read one.
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
    levels: Sequence[str] = ()
    allocates: bool = True
    freestanding: bool = False
    layers: Sequence[Layer] = ()
    weights: WeightsFile | None = None

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
            levels=tuple(self.levels),
            allocates=self.allocates,
            freestanding=self.freestanding,
            interfaces=tuple(layer.spec for layer in self.layers),
            weights=None if self.weights is None else self.weights.spec,
        )


@dataclass(frozen=True)
class Level:
    """The kernels of one additional CPU level, as LLVM IR text, and the parts that only they call."""

    machine: Machine
    program: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Library:
    """A library that can be written in every file format.

    program: LLVM IR of the code that is specific to this library. parts: the shared code. store: provides the objects
    of parts. debug_info: keep it, and internal function names, in the shared library. levels: CPU levels above
    `machine`. sections: those of the blueprint, which WebAssembly gets at link time. weights: the file that it needs.
    """

    manifest: Manifest
    exported: tuple[str, ...]
    machine: Machine
    program: str
    parts: tuple[Part, ...]
    store: PartStore
    debug_info: bool = False
    levels: tuple[Level, ...] = ()
    sections: Mapping[str, bytes] = field(default_factory=dict)
    weights: WeightsFile | None = None

    @property
    def soname(self) -> str:
        return self._system.shared.format(self.manifest.name)

    @property
    def import_name(self) -> str:
        """The name of the import library; empty if programs link with the library itself."""
        return self._system.imports.format(self.manifest.name)

    @property
    def _system(self) -> System:
        return system_of(self.manifest.target)

    @property
    def archive_name(self) -> str:
        return self._system.static.format(self.manifest.name)

    @cached_property
    def objects(self) -> tuple[bytes, ...]:
        """Object code of the program and of the parts, for the linker.   Raises: as `Machine.optimise`.

        A library without allocation is one object, so that its whole code can be analysed.
        """
        if not self.manifest.allocates:
            return (self.object_code,)
        codes = []
        for machine, program, parts in self._by_machine():
            codes.append(machine.object_code(machine.optimise(program)))
            codes += [self.store(part, machine) for part in parts]
        return tuple(codes)

    @cached_property
    def optimised(self) -> ModuleRef:
        """The program and its parts in one module, optimised. Raises: as `Machine.optimise`."""
        modules: list[Module | str] = []
        for machine, program, parts in self._by_machine():
            modules += [program, *(part.make(machine) for part in parts)]
        shared = shared_symbols(self.manifest) if self._system.is_elf else ()
        module = self.machine.optimise(*modules, exported=self.exported, shared=shared)
        if self.manifest.freestanding:
            add_math(self.machine, module)
        return module

    def _by_machine(self) -> list[tuple[Machine, str, tuple[Part, ...]]]:
        return [
            (self.machine, self.program, self.parts),
            *((level.machine, level.program, level.parts) for level in self.levels),
        ]

    @cached_property
    def object_code(self) -> bytes:
        """The program and its parts as one object file, with only the exported symbols visible.

        Symbols that every library exports are weak, so that one program may link several libraries.
        """
        return self.object_of(self.optimised)

    def object_of(self, module: ModuleRef) -> bytes:
        """The object file of an optimised module.

        Raises: UnsupportedError if it is freestanding and needs a C library.
        """
        code = self.machine.object_code(module)
        if self.manifest.freestanding:
            refuse_foreign(code)
        return code

    def header(self) -> str:
        """The text of the C header."""
        return header_text(self.manifest)

    def interface_headers(self) -> dict[str, str]:
        """File name → text of the headers for other projects' interfaces that need one of their own."""
        found = ceres_header(self.manifest)
        return {} if found is None else {f"{self.manifest.name}_ceres.h": found}

    def weights_files(self) -> dict[str, bytes]:
        """The file with large constants by name, if there is one.   Raises: OptionError for a name that is taken"""
        if self.weights is None:
            return {}
        name = self.weights.spec.file
        taken = self.soname, self.archive_name, self.import_name, f"{self.manifest.name}.h", *self.interface_headers()
        if name in taken:
            raise OptionError(f"the file of weights cannot be called {name}: another file of the library has that name")
        return {name: self.weights.content}

    def shared(self) -> bytes:
        """The shared library, linked and sealed.

        Raises: ToolError if there is no linker or it fails.
        """
        return self.linked(self.objects).library

    def linked(self, objects: Sequence[bytes]) -> Linked:
        """Link `objects`: the shared library, and its import library. Raises: as `shared`."""
        if self.manifest.freestanding:
            hint = "--emit static or obj (emit='static'), which programs without a system are linked with"
            raise OptionError("a freestanding library is an object file or an archive, not a shared library", hint=hint)
        target, keeps = self.manifest.target, self.debug_info
        found = link(objects, triple=target, name=self.soname, exported=self.exported, keeps_symbols=keeps)
        if self._system is WASM:
            found = replace(found, library=with_sections(found.library, self.manifest, self.sections))
        return replace(found, library=seal(found.library))

    def shared_files(self) -> dict[str, bytes]:
        """File name → content: the shared library, and the files that its callers need in addition to the header.

        Raises: as `shared`; UnsupportedError for a program that JavaScript cannot call, on WebAssembly.
        """
        others: dict[str, bytes] = {}
        if self._system is WASM:
            others[f"{self.manifest.name}.mjs"] = module_text(self.manifest).encode()
            others[f"{self.manifest.name}.d.mts"] = types_text(self.manifest).encode()
        found = self.linked(self.objects)
        if found.imports:
            others[self.import_name] = found.imports
        return {self.soname: found.library, **others}

    def static(self) -> bytes:
        """The bytes of the static archive."""
        return self.archive_of(self.object_code)

    def archive_of(self, code: bytes) -> bytes:
        """The static archive that contains an object file."""
        is_bsd = self._system is MACOS
        return archive(code, member=f"{self.manifest.name}.o", exported=self.exported, is_bsd=is_bsd)


def build_library(
    module: Module,
    blueprint: Blueprint,
    store: PartStore = compile_part,
    threads: bool = True,
    facts: Target | None = None,
    levels: Sequence[LevelCode] = (),
) -> Library:
    """Add the entries to a module of kernels. The modules are modified.

    threads: as `emit_module`. facts: as `product_parts`. levels: kernels of the same functions for higher CPU levels.

    Raises: as `add_entries`.
    """
    manifest = blueprint.manifest()
    others = _add_levels(module, blueprint, levels, threads, facts)
    refuse_without_libc(blueprint.layers, blueprint.machine.triple, blueprint.allocates)
    exported = add_entries(module, manifest)
    for layer in blueprint.layers:
        layer.add(Constants(module), manifest)
    if blueprint.weights is not None:
        add_weights(Constants(module), manifest, blueprint.weights.start)
    add_sections(module, manifest, blueprint.sections, blueprint.values)
    products = product_parts(module, threads, facts, blueprint.fp == "strict")
    matrices = matrix_parts(module, threads, blueprint.allocates)
    is_parallel = threads and (PARALLEL in module.globals or bool(products) or bool(matrices))
    kernels = [*kernel_parts(module, blueprint.fp == "strict"), *rare_parts(module, blueprint.fp == "strict")]
    core = core_part(blueprint.prefix, is_parallel, blueprint.allocates, blueprint.freestanding)
    parts = core, *matrices, *products, *kernels, *digest_parts(manifest)
    told = blueprint.debug_info, others, blueprint.sections, blueprint.weights
    return Library(manifest, exported, blueprint.machine, str(module), parts, store, *told)


def _add_levels(
    module: Module, blueprint: Blueprint, levels: Sequence[LevelCode], threads: bool, facts: Target | None
) -> tuple[Level, ...]:
    """Add dispatch by CPU level to the kernels of a module; return the other levels."""
    if not levels:
        return ()
    lowest, is_strict = LevelCode(blueprint.machine, module), blueprint.fp == "strict"
    products = [
        [*product_parts(level.module, threads, facts, is_strict), *kernel_parts(level.module, is_strict)]
        for level in levels
    ]
    name_by_level(lowest, ())
    for level, parts in zip(levels, products, strict=True):
        name_by_level(level, [symbol for part in parts for symbol in part.symbols])
    choose_among_levels(lowest, levels)
    return tuple(
        Level(level.machine, str(level.module), tuple(map(rename_for_level, parts)))
        for level, parts in zip(levels, products, strict=True)
    )


def write_library(
    library: Library, folder: Path, kinds: Collection[str] = ("lib",), sources: Mapping[str, bytes] | None = None
) -> tuple[Path, ...]:
    """Write the library as each of `kinds`, and its headers, all or none; return the paths, `<name>.h` last.

    The other paths are in the order of KINDS, then headers of interfaces.

    sources: name → content of files that are written first.

    Raises: ToolError if linking fails; OSError if the folder is not writable.
    """
    files = dict(sources or {})
    files |= {name: x for kind, make in KINDS.items() if kind in kinds for name, x in make(library).items()}
    files |= {name: text.encode() for name, text in library.interface_headers().items()}
    files |= library.weights_files()
    files[f"{library.manifest.name}.h"] = library.header().encode()
    contents = {folder / name: content for name, content in files.items()}
    write_files(contents)
    return tuple(contents)
