"""A Functional Mock-up Unit of a library with the interface `fmi`: modelDescription.xml and the library, in a zip file.

NAME.fmu: modelDescription.xml   binaries/x86_64-linux/NAME.so and its weights ...   documentation/licenses/license.txt
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath

from packaging.version import Version

from aotensor.codegen.declarations.fmi import model_description, model_identifier
from aotensor_cli.options import Refusal
from aotensor_cli.packaging.libraries import PackagedLibrary, read_libraries
from aotensor_cli.packaging.sdk import LICENCE
from aotensor_cli.packaging.wheel import zipped


def fmu_files(paths: Sequence[Path], version: Version) -> dict[str, bytes]:
    """The FMU of a model; of libraries for several platforms it has a binary each.

    Raises: Refusal for a library without the interface `fmi`, and for libraries of different models; LibraryError
    """
    files: dict[str, bytes] = {}
    for path in paths:
        (library,) = read_libraries([path], with_imports=False)
        manifest = library.manifest
        if "fmi" not in [interface.name for interface in manifest.interfaces]:
            raise Refusal(
                f"{path} does not have the functions of FMI, which an FMU needs",
                "compile its model with --abi fmi: one function, of dense arrays of static shape",
            )
        identifier = model_identifier(manifest)
        description = model_description(manifest, str(version)).encode()
        if files.setdefault("modelDescription.xml", description) != description:
            raise Refusal(f"{paths[0]} and {path} were compiled from different models", "make an FMU of each")
        place = f"binaries/{_platform(library)}/{identifier}{PurePath(library.file_name).suffix}"
        if place in files:
            raise Refusal(f"{path}: another library for {library.platform} is given", "leave one of them out")
        files[place] = library.data
        folder = place.rpartition("/")[0]
        files |= {f"{folder}/{name}": content for name, content in library.weights_files.items()}
    return {f"{identifier}.fmu": zipped(files | {"documentation/licenses/license.txt": LICENCE.encode()})}


def _platform(library: PackagedLibrary) -> str:
    """The platform in FMI's names: `x86_64-linux`, `aarch64-darwin`."""
    platform = library.platform
    system = "linux" if platform.is_linux else {"ucrt": "windows", "libSystem": "darwin"}[platform.libc]
    machine = {"AMD64": "x86_64", "arm64": "aarch64", "ARM64": "aarch64"}.get(platform.machine, platform.machine)
    return f"{machine}-{system}"
