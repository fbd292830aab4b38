"""`aotensor package`: compiled libraries as a wheel, an SDK for C and C++, bindings for other languages, and FMUs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aotensor.codegen.files import made_folder, write_files
from aotensor_cli.bindings.files import binding_files, read_languages
from aotensor_cli.options import Refusal
from aotensor_cli.packaging.distributions import package_wheel, runtime_wheel
from aotensor_cli.packaging.fmu import fmu_files
from aotensor_cli.packaging.libraries import read_libraries
from aotensor_cli.packaging.names import distribution_name, read_version
from aotensor_cli.packaging.npm import SUFFIX, npm_files
from aotensor_cli.packaging.sdk import sdk_content, sdk_name
from aotensor_cli.reading.version import installed
from aotensor_cli.terminal.render import show, show_json, talk


def run(
    libraries: tuple[Path, ...],
    folder: Path | None,
    name: str | None,
    version_text: str,
    kinds: tuple[str, ...],
    bindings: str | None,
    fmu: bool,
    with_runtime: bool,
    as_json: bool,
) -> None:
    """Run `aotensor package` with the parameters that `commands/package.py` declares."""
    version, languages = read_version(version_text), read_languages(bindings)
    for option in (["--bindings"] if languages else []) + ["--fmu"] * fmu:
        if any(path.suffix == SUFFIX for path in libraries):
            raise Refusal(
                f"{option} is not supported for {libraries[0]}, which is for WebAssembly",
                "npm packages have types for TypeScript",
            )
    if any(path.suffix == SUFFIX for path in libraries) or "npm" in kinds:
        _finish(folder, npm_files(libraries, name, version, [*kinds, *(["runtime"] if with_runtime else [])]), as_json)
        return
    if fmu and not (kinds or languages or with_runtime):
        _finish(folder, fmu_files(libraries, version), as_json)
        return
    is_all = not kinds and not languages and not fmu
    found = read_libraries(libraries, with_imports=is_all or "sdk" in kinds or bool(languages))
    package = name if name is not None else found[0].name
    files = binding_files(languages, found)
    if fmu:
        files |= fmu_files(libraries, version)
    made_by = f"aotensor {installed('aotensor')}"
    if is_all or "wheel" in kinds:
        wheel = package_wheel(package, version, found)
        files[wheel.file_name] = wheel.content(made_by)
    if is_all or "sdk" in kinds:
        distribution_name(package)  # which is a safe name for files, too
        files[sdk_name(package, version, found[0].platform)] = sdk_content(package, version, found)
    if with_runtime:
        runtime = runtime_wheel()
        files[runtime.file_name] = runtime.content(made_by)
    _finish(folder, files, as_json)
    for library in found:
        if library.processor is not None:
            talk(f"note: {library.path} {_limit(library.processor)}")


def _finish(folder: Path | None, files: Mapping[str, bytes], as_json: bool) -> None:
    """Write all files or none, and show their paths."""
    target = folder or Path()
    with made_folder(target):
        write_files({target / file: content for file, content in files.items()})
    paths = [str(target / file) for file in files]
    if as_json:
        show_json({"files": paths})
    else:
        show("".join(f"{path}\n" for path in paths), nl=False)


def _limit(processor: str) -> str:
    """A sentence on which machines can run a library that was compiled for a processor."""
    if processor.startswith("x86-64-v"):
        return f"needs a processor of the level {processor}, or a later one"
    return f"runs on processors like {processor} only: to ship it, compile it with --cpu generic, or v2,v3,v4"
