"""One file that repeats a compilation: models, files that they read, options, versions, machine, and a program that
runs it.

The file is a zip archive that Python executes: `python FILE` puts everything into a folder and compiles there.
"""

from __future__ import annotations

import io
import json
import os
import platform
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from aotensor.codegen.files import write_file
from aotensor_cli.options import Exit, Refusal
from aotensor_cli.reading.library import split_name
from aotensor_cli.terminal.failure import current_folder, explain
from aotensor_cli.terminal.render import talk
from aotensor_runtime.machine import cpu_flags

_RUNNER: Final = Path(__file__).with_name("repeat.py")
_PACKAGES: Final = ("aotensor", "numpy", "scipy", "llvmlite", "xdsl", "click", "rich")
_LARGEST: Final = 1 << 28
"""Longest file that is taken along, in bytes."""
_DATE: Final = (1980, 1, 1, 0, 0, 0)


@dataclass
class Recording:
    """One run of `aotensor compile`.   arguments: the command line. models: as given. opened: files that they read"""

    arguments: Sequence[str]
    models: Sequence[str]
    opened: list[Path] = field(default_factory=list)
    folder: str | None = field(default_factory=current_folder)

    def content(self, error: BaseException | None) -> bytes:
        """The bytes of the zip archive.   error: what the run ended with"""
        paths = dict.fromkeys([*(split_name(model)[0].absolute() for model in self.models), *self.opened])
        files, left_out = {}, {}
        for path in paths:
            try:
                if path.stat().st_size > _LARGEST:
                    raise OSError(f"it has more than {_LARGEST} bytes")
                files[str(path)] = path.read_bytes()
            except OSError as problem:
                left_out[str(path)] = problem.strerror or str(problem)
        record = {
            "arguments": list(self.arguments),
            "models": {model: str(split_name(model)[0].absolute()) for model in self.models},
            "folder": self.folder,
            "files": {path: f"files{path}" for path in files},
            "left out": left_out,
            "outcome": _outcome(error),
            "versions": versions(),
            "machine": _machine(),
            "environment": {key: value for key, value in os.environ.items() if key.startswith("AOTENSOR_")},
        }
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            members = {"__main__.py": _RUNNER.read_bytes(), "reproducer.json": json.dumps(record, indent=2).encode()}
            for name, content in (members | {f"files{path}": data for path, data in files.items()}).items():
                archive.writestr(zipfile.ZipInfo(name, _DATE), content, zipfile.ZIP_DEFLATED)
        return buffer.getvalue()


def leave_reproducer(recording: Recording, path: Path | None, error: Exception) -> None:
    """Write the reproducer to `path`; without a path, only for an internal error and to a temporary file."""
    if path is not None:
        write_file(path, recording.content(error))
    elif not isinstance(error, Refusal) and explain(error).code is Exit.BUG:
        with suppress(OSError):
            handle, name = tempfile.mkstemp(prefix="aotensor-reproducer-", suffix=".pyz")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(recording.content(error))
            except OSError:
                os.unlink(name)  # not half a file
                raise
            talk(f"reproducer: `python {name}` repeats this; it holds the model and the files that it read")


def versions() -> dict[str, str]:
    """Package → version of Python and of the packages that compiling uses; packages that are not installed are left
    out.
    """
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        with suppress(Exception):  # whatever a broken installation raises
            found[name] = version(name)
    return found


def _machine() -> dict[str, Any]:
    return {
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu flags": sorted(cpu_flags()),
        "executable": sys.executable,
    }


def _outcome(error: BaseException | None) -> dict[str, Any]:
    if error is None:
        return {"code": int(Exit.DONE)}
    if isinstance(error, Refusal):
        return {"code": int(error.code), "title": error.title}
    found = explain(error)
    return {"code": int(found.code), "title": found.title, "lines": list(found.lines)}
