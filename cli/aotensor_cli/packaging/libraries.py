"""Read and check the libraries of a package without executing them: kind, checksum, platform, name clashes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from aotensor.codegen.entry.names import exported_symbols, shared_symbols
from aotensor.codegen.targets.linkage import read_linkage
from aotensor.codegen.targets.systems import system_of
from aotensor_cli.options import Refusal
from aotensor_cli.packaging.tags import Platform, platform_of
from aotensor_cli.reading.kinds import refuse_other_kinds
from aotensor_cli.reading.library import is_library, naming, read_library
from aotensor_runtime.abi import MANIFEST_SECTION
from aotensor_runtime.container import Container, read_manifest
from aotensor_runtime.errors import DamagedLibrary, ForeignLibrary
from aotensor_runtime.formats.image import BUNDLE_MAGIC, SHARED, unbundle
from aotensor_runtime.formats.macho import MachFile
from aotensor_runtime.manifest import Manifest
from aotensor_runtime.weights.file import check_weights, find_weights
from aotensor_runtime.weights.spec import WeightsSpec

_ARCHIVE: Final = b"!<arch>\n"
_MEMBER: Final = 60
"""Bytes of the header of a member of an archive."""
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_PLAIN: Final = ("", "generic", "x86-64")
"""CPUs whose code runs on all of their architecture."""


@dataclass(frozen=True)
class PackagedLibrary:
    """A library of a package.

    versions: of symbols that it imports. oldest: the macOS that it asks for, if it is for macOS. archive: its static
    library, if that is given. imports: its import library, which programs for Windows link with. weights: the content
    of its file of weights, if it has one.
    """

    path: Path
    data: bytes
    manifest: Manifest
    platform: Platform
    versions: tuple[str, ...]
    oldest: tuple[int, int] | None = None
    archive: bytes | None = None
    imports: bytes | None = None
    weights: bytes | None = None

    @property
    def weights_files(self) -> dict[str, bytes]:
        """The file of weights by its name, which is next to the library; empty if there is none."""
        return (
            {} if self.weights is None or self.manifest.weights is None else {self.manifest.weights.file: self.weights}
        )

    @property
    def file_name(self) -> str:
        """The file name of the library for the dynamic loader."""
        return system_of(self.manifest.target).shared.format(self.name)

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def needs_scipy(self) -> bool:
        """Does any function take or return sparse matrices, or call LAPACK?"""
        return any(spec.is_sparse or spec.lapack for spec in self.manifest.functions)

    @property
    def processor(self) -> str | None:
        """The CPU that the library requires; None if it runs on every CPU of its architecture."""
        extra = [name for name in self.manifest.features.split(",") if name.startswith("+")]
        return None if self.manifest.cpu in _PLAIN and not extra else self.manifest.cpu or ",".join(extra)


def read_libraries(paths: Sequence[Path], with_imports: bool = True) -> list[PackagedLibrary]:
    """Shared libraries in their order, each with its static one.

    with_imports: read the import library next to each DLL, which C programs need and Python does not.

    Raises: Refusal or LibraryError for files that are not libraries, damaged ones, and ones that clash.
    """
    found: list[PackagedLibrary] = []
    archives: list[tuple[Path, bytes, Manifest]] = []
    for path in paths:
        data = read_library(path)
        with naming(path):
            if data.startswith(_ARCHIVE):
                archives.append((path, data, _archived(data)))
            else:
                found.append(_shared(path, data, with_imports))
    if not found:
        raise Refusal(
            f"{paths[0]}: a package also needs the shared library", "compile it with --emit lib --emit static"
        )
    for path, data, manifest in archives:
        fitting = [i for i, library in enumerate(found) if library.manifest.to_json() == manifest.to_json()]
        if not fitting:
            raise Refusal(
                f"{path}: the shared library of the same compilation is missing",
                f"give {system_of(manifest.target).shared.format(manifest.name)} of the same compilation",
            )
        found[fitting[0]] = replace(found[fitting[0]], archive=data)
    _check_together(found)
    return found


def _shared(path: Path, data: bytes, with_imports: bool) -> PackagedLibrary:
    if not is_library(path):
        if path.suffix == ".py":
            raise Refusal(f"{path}: this is a model, not a library", f"aotensor compile {path}")
        refuse_other_kinds(path, data)
    container = Container(data)
    if container.image.kind != SHARED:
        raise ForeignLibrary("this is an ELF file, but not a shared library", hint="compile it with --emit lib")
    container.check()
    manifest = container.manifest()
    if not _NAME.fullmatch(manifest.name) or not re.fullmatch(r"[A-Za-z0-9_]*", manifest.prefix):
        raise Refusal(
            f"{path}: its name, {manifest.name!r:.60}, or its prefix cannot be part of a file or a symbol",
            "compile it with another --name: letters, digits, _, +, - and dots",
        )
    linkage = read_linkage(container.image)
    platform = platform_of(container.image.machine, manifest.target, linkage.needed)
    oldest = container.image.oldest if isinstance(container.image, MachFile) else None
    imports = _imports(path, manifest) if with_imports else None
    weights = None if manifest.weights is None else _weights(path, manifest.weights)
    return PackagedLibrary(path, data, manifest, platform, linkage.versions, oldest, imports=imports, weights=weights)


def _weights(path: Path, spec: WeightsSpec) -> bytes:
    """The content of the file of weights.   Raises: LibraryError if it is missing or another one"""
    file = find_weights(spec, path)
    check_weights(spec, file)
    return file.read_bytes()


def _imports(path: Path, manifest: Manifest) -> bytes | None:
    """The import library next to a DLL.   Raises: Refusal if it is not there"""
    name = system_of(manifest.target).imports.format(manifest.name)
    if not name:
        return None
    if not path.with_name(name).is_file():
        raise Refusal(
            f"{path}: its import library {name} is not next to it",
            "it was written next to the DLL; a wheel does not need it: --emit wheel",
        )
    return read_library(path.with_name(name))


def _archived(data: bytes) -> Manifest:
    """The manifest of a static library."""
    members = [*_members(data)]
    for member in members:  # of COFF and Mach-O, where one section has all of ours
        start = member.find(BUNDLE_MAGIC)
        held = {x.name: x for x in unbundle(member, start, len(member))} if start >= 0 else {}
        if MANIFEST_SECTION in held:
            place = held[MANIFEST_SECTION]
            return read_manifest(member[place.offset : place.offset + place.size])
    objects = [member for member in members if member.startswith(b"\x7fELF")]
    if not objects:
        raise ForeignLibrary("aotensor did not build this static library: it contains no object file")
    return Container(objects[0]).manifest()


def _members(data: bytes) -> Iterator[bytes]:
    """Contents of the members of an archive."""
    at = len(_ARCHIVE)
    while at < len(data):
        size = data[at + 48 : at + 58].strip()
        if not size.isdigit() or at + _MEMBER + int(size) > len(data):
            raise DamagedLibrary("the static library ends inside a member, or a member is damaged")
        yield data[at + _MEMBER : at + _MEMBER + int(size)]
        at += _MEMBER + int(size) + int(size) % 2


def _check_together(libraries: Sequence[PackagedLibrary]) -> None:
    """Check that libraries can share a package.   Raises: Refusal for two platforms, and for equal names"""
    first = libraries[0]
    for library in libraries:
        if library.platform != first.platform:
            raise Refusal(
                f"{library.path} is for {library.platform}, and {first.path} for {first.platform}",
                "make a package for each platform",
            )
    _no_doubles("library", ((library, library.name) for library in libraries))
    _no_doubles("function", ((library, spec.name) for library in libraries for spec in library.manifest.functions))
    _no_doubles("file of weights", ((library, name) for library in libraries for name in library.weights_files))
    _no_doubles("symbol", ((library, name) for library in libraries for name in _own_symbols(library.manifest)))


def _own_symbols(manifest: Manifest) -> set[str]:
    return set(exported_symbols(manifest)) - set(shared_symbols(manifest))


def _no_doubles(what: str, names: Iterable[tuple[PackagedLibrary, str]]) -> None:
    seen: dict[str, PackagedLibrary] = {}
    for library, name in names:
        if name in seen:
            raise Refusal(
                f"{seen[name].path} and {library.path} both have the {what} {name}", "make a package for each of them"
            )
        seen[name] = library
