"""Pages with programs are run: their blocks in order, in one process and folder; what they print is compared."""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from programs import ROOT

from aotensor_cli.main import group

BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = {
    **dict.fromkeys(("tutorial", "extending", "verify", "sparse", "schedules", "complex", "stages"), ()),
    "howto/cpp": ("c++", "cmake"),
    "howto/makefile": ("make", "cc"),
    "howto/scipy": (),
    "howto/pymc": ("import pymc",),
    "howto/browser": ("node", "import ziglang"),
}
"""Page → programs and modules that it needs."""

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
        code, printed, complaints = run_command(command, environment)
        assert code == 0, f"{block.page}:{block.line}: $ {command}\n{printed}{complaints}"
        check(block, printed, expected)


def run_command(command: str, environment: dict[str, str]) -> tuple[int, str, str]:
    """Exit code, output and errors; what only shows something runs here, where the compiler is loaded."""
    if re.fullmatch(r"aotensor inspect [\w .,:/=-]+", command):
        found = CliRunner().invoke(group, command.split()[1:])
        return found.exit_code, found.stdout, found.stderr
    done = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


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
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path}


def skip_without(needs: tuple[str, ...]) -> None:
    """Skip the page if a program, or a module written as `import x`, is not here."""
    for need in needs:
        _, _, module = need.partition("import ")
        if module and importlib.util.find_spec(module) is None:
            pytest.skip(f"there is no {module}")
        elif not module and shutil.which(need) is None:
            pytest.skip(f"there is no {need}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [*PAGES, pytest.param("playground", marks=pytest.mark.again)],  # which a browser shows in tests/browser
)
def test_page(page: str, environment: dict[str, str]) -> None:
    skip_without(PAGES.get(page, ("import ziglang",)))
    names: dict[str, Any] = {"__name__": page}
    printed = ""
    for block in read_blocks(ROOT / "docs" / f"{page}.md"):
        if block.file is not None:
            Path(block.file).write_text(block.text)
        elif block.language == "python":
            output = io.StringIO()
            code = compile("\n" * block.line + block.text, block.page, "exec")
            with contextlib.redirect_stdout(output):
                exec(code, names)
            printed = output.getvalue()
        elif block.language == "text":
            check(block, printed, block.text)
        elif block.language == "console":
            run_commands(block, environment)
