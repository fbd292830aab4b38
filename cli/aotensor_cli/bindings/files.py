"""Collect the files of bindings: for each library its interfaces, the library itself and its C header."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from aotensor.codegen.header import header_text
from aotensor_cli.bindings.fortran import fortran_files
from aotensor_cli.bindings.julia import julia_files
from aotensor_cli.bindings.matlab import matlab_files
from aotensor_cli.options import Refusal, similar
from aotensor_cli.packaging.libraries import PackagedLibrary
from aotensor_runtime.manifest import Manifest

_LANGUAGES: Final[Mapping[str, Callable[[Manifest, str], dict[str, str]]]] = {
    "fortran": fortran_files,
    "julia": julia_files,
    "matlab": matlab_files,
}
"""Language → the texts of a library by the names of their files, from its manifest and the name of its own file."""


def read_languages(text: str | None) -> tuple[str, ...]:
    """Parse `--bindings a,b` into distinct languages.   Raises: Refusal for an unknown one"""
    names = [] if text is None else [part.strip().lower() for part in text.split(",")]
    for name in names:
        if name not in _LANGUAGES:
            hint = similar(name, _LANGUAGES) or f"supported languages: {', '.join(_LANGUAGES)}; the SDK has C and C++"
            raise Refusal(f"--bindings: the language {name!r:.60} is not supported", hint)
    return tuple(dict.fromkeys(names))


def binding_files(languages: Sequence[str], libraries: Sequence[PackagedLibrary]) -> dict[str, bytes]:
    """File name → content of all files of the bindings.

    Raises: Refusal for what a language cannot express, and for two files of one name
    """
    found: dict[str, bytes] = {}
    for library in libraries if languages else ():
        texts = {f"{library.name}.h": header_text(library.manifest)}
        for language in languages:
            for name, text in _LANGUAGES[language](library.manifest, library.file_name).items():
                if name in (*texts, *found):
                    raise Refusal(f"{library.path}: two files would be called {name}", "rename the function")
                texts[name] = text
        found |= {name: text.encode(errors="backslashreplace") for name, text in texts.items()}
        found |= {library.file_name: library.data, **library.weights_files}
        if library.imports is not None:
            found[f"lib{library.name}.dll.a"] = library.imports
    return found
