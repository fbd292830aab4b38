"""Build the wheel of a package, and the wheel of the runtime that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import distribution
from pathlib import Path
from typing import Final

from packaging.version import InvalidVersion, Version

import aotensor_runtime
from aotensor_cli.options import Refusal
from aotensor_cli.packaging.bill import bills
from aotensor_cli.packaging.libraries import PackagedLibrary
from aotensor_cli.packaging.names import distribution_name, module_name
from aotensor_cli.packaging.sdk import LICENCE
from aotensor_cli.packaging.tags import wheel_tag
from aotensor_cli.packaging.wheel import Wheel, metadata
from aotensor_cli.packaging.wrappers import module_text
from aotensor_cli.reading.version import installed
from aotensor_runtime.signature import typed_line

NUMPY: Final = "numpy>=2.1"
SCIPY: Final = "scipy>=1.14"
"""The same versions as in runtime/pyproject.toml; a test compares them."""
RUNTIME: Final = "aotensor-runtime"


def package_wheel(name: str, version: Version, libraries: Sequence[PackagedLibrary]) -> Wheel:
    """A wheel with the libraries, and a module of typed functions.

    Raises: Refusal for a name that a package cannot have.
    """
    project, module = distribution_name(name), module_name(name)
    text = module_text(name, version, libraries).encode(errors="backslashreplace")
    files = {f"{module}/__init__.py": text, f"{module}/py.typed": b""}
    for library in libraries:
        shipped = {library.file_name: library.data, **library.weights_files}
        files |= {f"{module}/{name}": content for name, content in shipped.items()}
    needs = [NUMPY, runtime_requirement([library.manifest.aotensor for library in libraries])]
    needs += [SCIPY] if any(library.needs_scipy for library in libraries) else []
    versions = {version for library in libraries for version in library.versions}
    oldest = [library.oldest for library in libraries if library.oldest is not None]
    tag = f"py3-none-{wheel_tag(libraries[0].platform, versions, oldest)}"
    functions = ", ".join(spec.name for library in libraries for spec in library.manifest.functions)
    summary = f"Functions that aotensor has compiled: {functions}"
    about = metadata(project, version, f"{summary:.400}", needs, _description(name, module, libraries), True)
    return Wheel(project, version, tag, about, files, LICENCE, bills(project, version, libraries))


def runtime_requirement(makers: Sequence[str]) -> str:
    """The runtime of the latest of these versions of aotensor, or a later one up to the next major version.

    These load the libraries, by the promise of docs/abi.md. A maker that is not installed has no version: any runtime.
    """
    try:
        latest = max(map(Version, makers))
    except InvalidVersion as error:
        raise Refusal(
            f"a library names an invalid version of aotensor as its compiler: {', '.join(makers):.60}"
        ) from error
    if latest.release == (0,):
        return RUNTIME
    oldest = f"{latest.major}.{latest.minor}.{latest.micro}{'.dev0' if latest.is_prerelease else ''}"
    return f"{RUNTIME}>={oldest},<{latest.major + 2}"


def runtime_wheel() -> Wheel:
    """Build a wheel of the installed runtime, for users without a package index.

    It has no C extension, so that it suits every platform.
    """
    root = Path(aotensor_runtime.__file__).parent
    files = {
        str(Path(root.name, path.relative_to(root))): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not _is_of_extension(path.relative_to(root))
    }
    version = Version(installed("aotensor") or "0")
    licence = (distribution("aotensor").read_text("licenses/LICENSE") or "") if installed("aotensor") else ""
    summary = "Loads and calls libraries that aotensor has compiled, with NumPy alone"
    about = metadata(RUNTIME, version, summary, [NUMPY], f"# {RUNTIME}\n\n{summary}.\n", bool(licence))
    return Wheel(RUNTIME, version, "py3-none-any", about, files, licence)


def _is_of_extension(path: Path) -> bool:
    """Is a file of the runtime the C extension, or a source of it?"""
    return path.parts[0] == "extension" and path.suffix != ".py"


def _description(name: str, module: str, libraries: Sequence[PackagedLibrary]) -> str:
    """The long description of the package in Markdown."""
    lines = [typed_line(spec) for library in libraries for spec in library.manifest.functions]
    return "\n".join([
        f"# {name}", "", "Functions that aotensor has compiled:", "",
        *(f"    {line}" for line in lines), "", f"They are those of the module `{module}`.", "", LICENCE,
    ])  # fmt: skip
