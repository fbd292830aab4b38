"""The data in a library besides its code: manifest, checksum, first values of shared variables, extra sections."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from aotensor_runtime import abi
from aotensor_runtime.errors import DamagedLibrary, ForeignLibrary, LibraryError, TooNewLibrary, TooOldLibrary
from aotensor_runtime.formats.image import Section
from aotensor_runtime.formats.read import read_image
from aotensor_runtime.manifest import SCHEMA, Default, Manifest, ManifestError, read_versions

lzma: ModuleType | None
try:
    import lzma
except ImportError:  # a Python built without it can still load and run libraries
    lzma = None

CHECKSUM_MAGIC: Final = b"AOTSUM\x02\0"
CHECKSUM_SIZE: Final = len(CHECKSUM_MAGIC) + 32
"""Bytes of the checksum section: magic with version, SHA-256."""

MAX_SECTION_BYTES: Final = 1 << 26
"""Longest extra section, in bytes after decompression."""
_DECODER_BYTES: Final = 1 << 24
"""Most memory that decompression may use in addition: a file states its need, ours need 2 MiB."""


class Container:
    """The sections of a library or object file, read without running it.

    Raises: ForeignLibrary, DamagedLibrary, TooNewLibrary or TooOldLibrary.
    """

    def __init__(self, data: bytes) -> None:
        self.image = read_image(data)
        if abi.MANIFEST_SECTION not in self.image.sections:
            raise ForeignLibrary("aotensor did not build this file: it has no manifest")

    def recorded_checksum(self) -> bytes:
        """The SHA-256 recorded in a shared library when it was linked; zeros in an object file."""
        content = self.image.section(abi.CHECKSUM_SECTION)
        if content is None:
            raise DamagedLibrary("the library has no checksum")
        if len(content) != CHECKSUM_SIZE or content[:6] != CHECKSUM_MAGIC[:6]:
            raise DamagedLibrary("the checksum is damaged")
        if content[: len(CHECKSUM_MAGIC)] != CHECKSUM_MAGIC:
            if content[6:8] < CHECKSUM_MAGIC[6:8]:
                raise TooOldLibrary("an earlier aotensor built this library", hint="compile it again")
            raise TooNewLibrary("a later aotensor built this library", hint="upgrade aotensor")
        return content[len(CHECKSUM_MAGIC) :]

    def computed_checksum(self) -> bytes:
        """The SHA-256 of the parts of the file that are loaded."""
        return self.image.digest(self.checksum_section())

    def checksum_section(self) -> Section:
        """The byte range of the checksum in the file."""
        self.recorded_checksum()
        section = self.image.sections[abi.CHECKSUM_SECTION]
        return Section(section.name, section.offset + len(CHECKSUM_MAGIC), section.size - len(CHECKSUM_MAGIC))

    def check(self) -> None:
        """Verify the checksum.   Raises: DamagedLibrary if code or data have changed since linking"""
        if self.recorded_checksum() != self.computed_checksum():
            raise DamagedLibrary("the checksum does not match: the file was changed after it was built")

    def manifest(self) -> Manifest:
        """The parsed manifest.   Raises: as `read_manifest`"""
        return read_manifest((self.image.section(abi.MANIFEST_SECTION) or b"").rstrip(b"\0"))

    def extra_names(self) -> tuple[str, ...]:
        """Names of the extra sections."""
        prefix = abi.EXTRA_SECTION_PREFIX
        return tuple(name.removeprefix(prefix) for name in self.image.sections if name.startswith(prefix))

    def extra(self, name: str) -> bytes:
        """Content of an extra section.

        Raises: KeyError if there is none of that name; DamagedLibrary if it cannot be decompressed; LibraryError if
        Python has no module lzma.
        """
        content = self.image.section(abi.EXTRA_SECTION_PREFIX + name)
        if content is None:
            raise KeyError(name)
        if lzma is None:
            raise LibraryError("this Python has no module lzma", hint="IR texts and test vectors are compressed by it")
        unpack = lzma.LZMADecompressor(lzma.FORMAT_XZ, _DECODER_BYTES)
        try:
            text: bytes = unpack.decompress(content, MAX_SECTION_BYTES)
        except lzma.LZMAError as error:
            raise DamagedLibrary(f"section {name} is damaged ({error})") from error
        if not unpack.eof:
            raise DamagedLibrary(f"section {name} ends too early, or holds more than {MAX_SECTION_BYTES} bytes")
        return text

    def value(self, default: Default) -> bytes:
        """Row-major little-endian bytes of the first value of a shared variable."""
        values = self.image.section(abi.VALUES_SECTION) or b""
        if default.offset + default.size > len(values):
            raise DamagedLibrary("the first value of a shared variable is outside of its section")
        return values[default.offset : default.offset + default.size]


def read_manifest(text: bytes) -> Manifest:
    """Parse a manifest.   Raises: TooNewLibrary, TooOldLibrary, or DamagedLibrary if it breaks the schema"""
    version, schema = read_versions(text)
    if version > abi.ABI_VERSION:
        raise TooNewLibrary(
            f"the library has ABI version {version}, and this runtime supports {abi.ABI_VERSION}",
            hint="upgrade aotensor",
        )
    if 0 < version < abi.ABI_VERSION:
        raise TooOldLibrary(
            f"the library has ABI version {version}, and this runtime supports {abi.ABI_VERSION}",
            hint="compile it again",
        )
    if schema > SCHEMA:
        raise TooNewLibrary("a later aotensor built this library", hint="upgrade aotensor")
    if 0 < schema < SCHEMA:
        raise TooOldLibrary("an earlier aotensor built this library", hint="compile it again")
    try:
        return Manifest.from_json(text)
    except ManifestError as error:
        raise DamagedLibrary(str(error)) from error
