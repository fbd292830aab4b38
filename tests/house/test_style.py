"""ruff and mypy, as the command line would run them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from sources import ROOT

FOLDERS = [
    name
    for name in ("src", "cli", "runtime", "tests", "tools", "benchmarks", "examples", "docs")
    if (ROOT / name).is_dir()
]


OTHER_SYSTEM = pytest.mark.level("ci", "what it says about another system is mostly the same")
RUNTIME = ["-p", "aotensor_runtime", "--no-site-packages", "--ignore-missing-imports", "--cache-dir", os.devnull]
RUNTIME += [f"--allow-{x}" for x in ("any-generics", "subclassing-any", "untyped-calls", "untyped-decorators")]
RUNTIME += ["--no-warn-return-any", "--no-warn-unused-ignores"]
"""Without NumPy's types, which the check of everything reads: reading them takes most of the time."""


@pytest.mark.unlimited("a change waits for ruff and mypy")
@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "--no-cache", *FOLDERS],
        ["ruff", "format", "--check", "--no-cache", *FOLDERS],
        ["mypy"],
        pytest.param(["mypy", "--platform", "win32", *RUNTIME], marks=OTHER_SYSTEM),
        pytest.param(["mypy", "--platform", "darwin", *RUNTIME], marks=OTHER_SYSTEM),
    ],
    ids=["ruff-check", "ruff-format", "mypy", "mypy-windows", "mypy-macos"],
)
def test_the_tool_has_nothing_to_say(command: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_text_is_plain() -> None:
    """UTF-8 without tabs, without blanks at the ends of lines, with one newline at the end of the file."""
    wrong = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".mlir", ".md", ".h", ".c", ".toml") and path.is_file():
                text = path.read_text(encoding="utf-8")
                is_plain = not text or (text.endswith("\n") and not text.endswith("\n\n") and "\t" not in text)
                if not is_plain or any(line != line.rstrip() for line in text.split("\n")):
                    wrong.append(str(path.relative_to(ROOT)))
    assert wrong == []
