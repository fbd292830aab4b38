"""Pages with programs are run: their blocks in order, in one process and folder; what they print is compared."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from programs import ROOT

BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """One fenced block: python is run, text is what the block before printed, console holds commands and answers."""

    page: str
    language: str
    file: str | None
    text: str
    line: int


def read_blocks(path: Path) -> list[Block]:
    text = path.read_text()
    return [Block(path.name, m[1], m[2], m[3], text[: m.start()].count("\n") + 1) for m in BLOCK.finditer(text)]


def check(block: Block, found: str, expected: str) -> None:
    agrees = doctest.OutputChecker().check_output(expected, found, FLAGS)
    assert agrees, f"{block.page}:{block.line}: expected\n{expected}\nfound\n{found}"


def run_commands(block: Block, environment: dict[str, str]) -> None:
    """Each `$ command` with the lines below it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        done = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{block.page}:{block.line}: $ {command}\n{done.stdout}{done.stderr}"
        check(block, done.stdout, expected)


@pytest.fixture
def environment(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A folder to work in, and an `aotensor` on the path that is the one under test."""
    programs = tmp_path / "programs"
    programs.mkdir()
    program = programs / "aotensor"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m aotensor_cli "$@"\n')
    program.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("AOTENSOR_CACHE_DIR", str(cache))
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path, "NO_COLOR": "1", "COLUMNS": "200"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", ["tutorial.md", "extending.md", "verify.md", "sparse.md", "schedules.md", "complex.md"]
)
def test_page(page: str, environment: dict[str, str]) -> None:
    names: dict[str, Any] = {"__name__": page.removesuffix(".md")}
    printed = ""
    for block in read_blocks(ROOT / "docs" / page):
        if block.file is not None:
            Path(block.file).write_text(block.text)
        elif block.language == "python":
            output = io.StringIO()
            code = compile("\n" * block.line + block.text, page, "exec")
            with contextlib.redirect_stdout(output):
                exec(code, names)
            printed = output.getvalue()
        elif block.language == "text":
            check(block, printed, block.text)
        elif block.language == "console":
            run_commands(block, environment)
