"""Sections of libraries and objects, read without running them."""

from __future__ import annotations

import lzma

import pytest
from entry_harness import handmade_library

from aotensor.codegen.container import seal
from aotensor_runtime import abi
from aotensor_runtime import container as reading
from aotensor_runtime.container import Container
from aotensor_runtime.errors import DamagedLibrary, ForeignLibrary, LibraryError
from aotensor_runtime.formats.image import Section
from aotensor_runtime.manifest import Default


@pytest.fixture(scope="module")
def shared() -> bytes:
    return handmade_library().shared()


@pytest.mark.parametrize("form", ["shared", "object_code"])
def test_sections(form: str) -> None:
    library = handmade_library()
    container = Container(library.shared() if form == "shared" else library.object_code)
    assert container.manifest() == library.manifest
    assert set(container.extra_names()) == {"notes", "empty"}
    assert container.extra("notes") == b"some text " * 50
    defaults = {value.name: value.default for value in library.manifest.function("step").inputs}
    assert container.value(defaults["count"] or Default((), 0, 0)) == (7).to_bytes(8, "little")


def test_short_sections_need_little_memory(shared: bytes) -> None:
    """The window of their compression is no longer than they are; that of the preset is 1 MiB."""
    content = Container(shared).image.section(f"{abi.EXTRA_SECTION_PREFIX}notes")
    assert content is not None
    unpack = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=1 << 18)
    assert unpack.decompress(content) == b"some text " * 50


def test_checksum(shared: bytes) -> None:
    container = Container(shared)
    assert container.recorded_checksum() == container.computed_checksum() != bytes(32)
    container.check()
    assert seal(shared) == shared
    assert Container(handmade_library().object_code).recorded_checksum() == bytes(32)


def test_values_outside_of_their_section(shared: bytes) -> None:
    with pytest.raises(DamagedLibrary, match="outside of its section"):
        Container(shared).value(Default((1,), 1 << 40, 8))


def test_extra_sections_have_a_limit(shared: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_SECTION_BYTES", 100)
    with pytest.raises(DamagedLibrary, match="holds more than 100 bytes"):
        Container(shared).extra("notes")


def test_a_python_without_lzma_is_named(shared: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "lzma", None)
    with pytest.raises(LibraryError, match="this Python has no module lzma"):
        Container(shared).extra("notes")
    assert Container(shared).manifest().name


def test_damaged_extra_section(shared: bytes) -> None:
    place = Container(shared).image.sections[abi.EXTRA_SECTION_PREFIX + "notes"]
    for first, new in ((0, b"\0\0"), (place.size - 3, b"\1\2\3")):
        data = bytearray(shared)
        data[place.offset + first : place.offset + first + len(new)] = new
        with pytest.raises(DamagedLibrary, match="section notes"):
            Container(bytes(data)).extra("notes")
    assert isinstance(place, Section) and lzma.decompress(shared[place.offset : place.offset + place.size])


def test_strip_keeps_the_checksum(shared: bytes, tmp_path: object) -> None:
    """Tools that move the section table, such as `strip`, do not make a library look damaged."""
    moved = bytearray(shared)
    start = int.from_bytes(moved[40:48], "little")
    table = bytes(moved[start:])
    moved[40:48] = (len(moved) + 64).to_bytes(8, "little")
    Container(bytes(moved) + bytes(64) + table).check()


def test_foreign() -> None:
    with pytest.raises(ForeignLibrary):
        Container(b"!<arch>\n")
