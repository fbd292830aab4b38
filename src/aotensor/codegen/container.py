"""Write manifest, checksum, values and extra sections into the object file. The runtime's `Container` reads them."""

from __future__ import annotations

import lzma
from collections.abc import Mapping

from aotensor.codegen.entry.tables import Constants
from aotensor.codegen.llvm import Bytes, Module, Value, ir, pointer
from aotensor.codegen.targets.custom_section import add_section
from aotensor.codegen.targets.signature import sign_again
from aotensor.codegen.targets.systems import MACOS, WASM, WINDOWS, system_of
from aotensor_runtime.abi import CHECKSUM_SECTION, EXTRA_SECTION_PREFIX, MANIFEST_SECTION, VALUES_SECTION
from aotensor_runtime.container import CHECKSUM_MAGIC, CHECKSUM_SIZE, Container
from aotensor_runtime.formats import macho, pe
from aotensor_runtime.formats.image import bundle
from aotensor_runtime.formats.macho import MachFile
from aotensor_runtime.manifest import Manifest

_VALUE_ALIGNMENT = 64
_NO_CHECKSUM = CHECKSUM_MAGIC.ljust(CHECKSUM_SIZE, b"\0")
_BUNDLES = {WINDOWS: pe.SECTION, MACOS: ",".join(macho.SECTION)}
"""Operating system → the single section that holds all of ours."""
_PRESET = 1  # level 6 takes ten times as long on IR texts, and saves a fifth; the checksum protects integrity
_LEAST_WINDOW, _MOST_WINDOW = 1 << 12, 1 << 20  # what LZMA2 permits, and what the preset has


def add_sections(module: Module, manifest: Manifest, extra: Mapping[str, bytes], values: bytes) -> None:
    """Add the checksum's section, extra sections (compressed), and the values of shared variables.

    extra: section name → content, as in `Manifest.sections`. They are marked as used, so that neither LLVM nor the
    linker drops them. PE and Mach-O, whose section names are short, get one section with all of them and the manifest;
    WebAssembly gets custom sections at link time.
    """
    system, constants = system_of(module.triple), Constants(module)
    if system is WASM or not (extra or values or not system.is_elf):
        return
    if not system.is_elf:
        inner = {MANIFEST_SECTION: manifest.to_json().encode(), CHECKSUM_SECTION: _NO_CHECKSUM}
        inner |= {EXTRA_SECTION_PREFIX + name: _packed(content) for name, content in extra.items()}
        inner |= {VALUES_SECTION: values} if values else {}
        held = constants.data("bundle", Bytes(bundle(inner)))
        held.section = _BUNDLES[system]
        _mark_used(module, [held])
        return
    sections = [constants.data("checksum", Bytes(_NO_CHECKSUM), section=CHECKSUM_SECTION)]
    for name, content in extra.items():
        packed = Bytes(_packed(content))
        sections.append(constants.data(f"extra.{name}", packed, section=EXTRA_SECTION_PREFIX + name, align=1))
    if values:
        sections.append(constants.data("values", Bytes(values), section=VALUES_SECTION, align=_VALUE_ALIGNMENT))
    _mark_used(module, sections)


def _packed(content: bytes) -> bytes:
    """Compressed content. The encoder clears tables in proportion to its window: it is no longer than the content."""
    window = min(max(_LEAST_WINDOW, 1 << max(len(content) - 1, 0).bit_length()), _MOST_WINDOW)
    filters = [{"id": lzma.FILTER_LZMA2, "preset": _PRESET, "dict_size": window}]
    return lzma.compress(content, check=lzma.CHECK_NONE, filters=filters)


def _mark_used(module: Module, sections: list[Value]) -> None:
    used = ir.GlobalVariable(module, ir.ArrayType(pointer, len(sections)), "llvm.used")
    used.initializer = ir.Constant(used.value_type, sections)
    used.linkage, used.section = "appending", "llvm.metadata"


def with_sections(module: bytes, manifest: Manifest, extra: Mapping[str, bytes]) -> bytes:
    """Add the content of `add_sections` to a linked WebAssembly module, as custom sections."""
    module = add_section(module, MANIFEST_SECTION, manifest.to_json().encode())
    for name, content in extra.items():
        module = add_section(module, EXTRA_SECTION_PREFIX + name, _packed(content))
    return add_section(module, CHECKSUM_SECTION, _NO_CHECKSUM)


def seal(library: bytes) -> bytes:
    """Store the checksum of a linked library in the section reserved for it; return the library.

    A library that was signed for macOS is signed again.
    """
    container = Container(library)
    section = container.checksum_section()
    sealed = library[: section.offset] + container.computed_checksum() + library[section.offset + section.size :]
    return sign_again(sealed) if isinstance(container.image, MachFile) else sealed
