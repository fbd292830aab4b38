"""Putting manifest, checksum, values and extra sections into the object file. Reading is the runtime's `Container`."""

from __future__ import annotations

import lzma
from collections.abc import Mapping

from aotensor.codegen.entry.tables import Constants, raw_bytes
from aotensor.codegen.llvm import Module, Value, ir, pointer
from aotensor.codegen.targets.systems import system_of
from aotensor_runtime.abi import CHECKSUM_SECTION, EXTRA_SECTION_PREFIX, VALUES_SECTION
from aotensor_runtime.container import CHECKSUM_MAGIC, CHECKSUM_SIZE, Container

_VALUE_ALIGNMENT = 64
_PRESET = 1  # 6 takes ten times as long on IR texts, for a fifth of their size; integrity is the checksum's business


def add_sections(module: Module, extra: Mapping[str, bytes], values: bytes) -> None:
    """Add the checksum's section, extra sections (compressed), and the values of shared variables.

    extra: by name, as in `Manifest.sections`. They are marked as used, so that neither LLVM nor the linker drops them.
    Object files that are not ELF get none of this: nothing could read it.
    """
    if not system_of(module.triple).is_elf or not (extra or values):
        return
    constants = Constants(module)
    checksum = CHECKSUM_MAGIC.ljust(CHECKSUM_SIZE, b"\0")
    sections = [constants.data("checksum", raw_bytes(checksum), section=CHECKSUM_SECTION)]
    for name, content in extra.items():
        packed = raw_bytes(lzma.compress(content, check=lzma.CHECK_NONE, preset=_PRESET))
        sections.append(constants.data(f"extra.{name}", packed, section=EXTRA_SECTION_PREFIX + name, align=1))
    if values:
        sections.append(constants.data("values", raw_bytes(values), section=VALUES_SECTION, align=_VALUE_ALIGNMENT))
    _mark_used(module, sections)


def _mark_used(module: Module, sections: list[Value]) -> None:
    used = ir.GlobalVariable(module, ir.ArrayType(pointer, len(sections)), "llvm.used")
    used.initializer = ir.Constant(used.value_type, sections)
    used.linkage, used.section = "appending", "llvm.metadata"


def seal(library: bytes) -> bytes:
    """A linked library with its checksum written into the section that `add_sections` left."""
    container = Container(library)
    section = container.checksum_section()
    return library[: section.offset] + container.computed_checksum() + library[section.offset + section.size :]
