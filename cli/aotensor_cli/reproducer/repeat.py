"""The program inside a reproducer: it restores the files in a folder and runs the command line again.

`python FILE` compiles; `python FILE DIR` keeps the files in DIR. It needs Python and an installed aotensor.
"""

from __future__ import annotations

import builtins
import io
import json
import os
import runpy
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_OUTPUTS = ("-o", "--depfile", "--dump-ir", "--reproducer")


def command_line(record: Mapping[str, Any], root: Path) -> list[str]:
    """The recorded arguments with all files below `root`, and without outputs outside of it."""
    found: list[str] = []
    rest = iter(record["arguments"])
    for argument in rest:
        if argument in _OUTPUTS:
            next(rest, None)
        elif argument in record["models"]:
            path, name = record["models"][argument], argument.rpartition(":")[2]
            is_named = argument.endswith(f":{name}") and not path.endswith(f":{name}")
            found.append(f"{root}{path}:{name}" if is_named else f"{root}{path}")
        elif not argument.startswith(tuple(f"{option}=" for option in _OUTPUTS)):
            option, is_joined, value = argument.rpartition("=") if argument.startswith("--") else ("", "", argument)
            found.append(f"{option}{is_joined}{root if value in record['files'] else ''}{value}")
    return [*found, "-o", str(root / "out")]


def restore(archive: zipfile.ZipFile, record: Mapping[str, Any], root: Path) -> None:
    """Write all files below `root`, each at its old absolute path."""
    for path, member in record["files"].items():
        target = Path(f"{root}{os.path.normpath(path)}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(archive.read(member))


def redirect(record: Mapping[str, Any], root: Path) -> None:
    """Redirect absolute paths of the recorded machine to the restored files."""
    real = open

    def redirected(file: Any, *arguments: Any, **options: Any) -> Any:
        name = os.fspath(file) if isinstance(file, str | os.PathLike) else None
        is_known = isinstance(name, str) and name in record["files"]
        return real(f"{root}{name}" if is_known else file, *arguments, **options)

    builtins.open = io.open = redirected


def say_differences(record: Mapping[str, Any]) -> None:
    """Print the differences from the recorded run: versions of packages, files that were left out."""
    for name, then in record["versions"].items():
        try:
            now = ".".join(map(str, sys.version_info[:3])) if name == "python" else version(name)
        except PackageNotFoundError:
            now = "missing"
        if now != then:
            sys.stderr.write(f"note: {name} is {now}, it was {then}\n")
    for path, reason in record["left out"].items():
        sys.stderr.write(f"note: {path} is not here: {reason}\n")


def main(archive_path: Path, folder: Sequence[str]) -> None:
    """Repeat the compilation and exit with its exit code."""
    with zipfile.ZipFile(archive_path) as archive, tempfile.TemporaryDirectory(prefix="aotensor-repeat-") as scratch:
        record = json.loads(archive.read("reproducer.json"))
        root = Path(folder[0] if folder else scratch).absolute()
        restore(archive, record, root)
        say_differences(record)
        outcome = record["outcome"]
        ending = f"exit code {outcome['code']}" + (f": {outcome['title']}" if "title" in outcome else "")
        sys.stderr.write(f"note: the recorded run on {record['machine']['platform']} ended with {ending}\n")
        here = Path(f"{root}{record['folder'] or ''}")  # none where it was removed
        here.mkdir(parents=True, exist_ok=True)
        os.chdir(here)
        os.environ.update(record["environment"])
        redirect(record, root)
        sys.argv = ["aotensor", *command_line(record, root)]
        runpy.run_module("aotensor_cli", run_name="__main__")


if __name__ == "__main__":
    main(Path(sys.argv[0]), sys.argv[1:])
