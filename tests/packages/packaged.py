"""Libraries to be packed, and places where nothing but what is packed can be found."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import pytest

ROOT: Final = Path(__file__).parents[2]


@dataclass(frozen=True)
class Answer:
    """What a program gave."""

    code: int
    out: str
    err: str


Package: TypeAlias = Callable[..., Answer]
"""`aotensor package`, called with its arguments."""


def run(*command: object, cwd: Path | None = None, **environment: str) -> Answer:
    """A program, and what it gives; without the environment of the tests but for what is named."""
    variables = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nowhere", **environment}
    arguments = [*map(str, command)]
    done = subprocess.run(arguments, cwd=cwd, env=variables, capture_output=True, text=True, check=False, timeout=300)
    return Answer(done.returncode, done.stdout, done.stderr)


def succeed(*command: object, cwd: Path | None = None, **environment: str) -> str:
    """The output of a program that must not fail."""
    answer = run(*command, cwd=cwd, **environment)
    assert answer.code == 0, f"{command}\n{answer.out}{answer.err}"
    return answer.out


class CleanPython:
    """A virtual environment that has NumPy, this one's, and nothing else; pip runs from outside, without an index."""

    def __init__(self, folder: Path, others: Sequence[str] = ()) -> None:
        pytest.importorskip("pip", reason="pip is not installed")
        venv.create(folder, with_pip=False, symlinks=True)
        self.python = folder / "bin" / "python"
        shelf, library = folder / "shelf", Path(np.__file__).parents[1]
        shelf.mkdir()
        for name in ("numpy", *others):
            for path in (*library.glob(name), *library.glob(f"{name}.libs"), *library.glob(f"{name}-*.dist-info")):
                (shelf / path.name).symlink_to(path)
        (site,) = (folder / "lib").glob("python*/site-packages")
        (site / "shelf.pth").write_text(f"{shelf}\n")

    def install(self, *wheels: object, links: Path | None = None) -> None:
        """By name from the folder `links`, or by path."""
        found = ["--find-links", str(links)] if links is not None else []
        self._pip("install", "--quiet", "--no-index", "--no-cache-dir", *found, *wheels)
        self._pip("check")

    def __call__(self, program: str, cwd: Path | None = None) -> str:
        """What a program prints."""
        return succeed(self.python, "-W", "error", "-c", program, cwd=cwd)

    def _pip(self, *arguments: object) -> None:
        options = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_CONFIG_FILE": "/dev/null"}
        succeed(sys.executable, "-m", "pip", "--python", self.python, *arguments, **options)
