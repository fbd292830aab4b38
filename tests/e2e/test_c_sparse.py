"""A C program with sparse matrices: in, out, malformed; it touches no byte that is not its own. No Python in it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from needs import NEEDS
from programs import EXAMPLES, Runner

CC = NEEDS["cc"].path
needs_cc = pytest.mark.needs("cc")
EXPECTED = """\
energy 216.600 -> 77.226 in 58 steps
flows: 2300 entries, largest through an edge 0.874
flows: D: row 3 has column 600, but there are 600 columns
flows: D: indptr decreases at row 5, from 1000000 to 12
flows: D has 600 columns, but nodes = 601
ok
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, run: Runner) -> Path:
    """The library for any CPU: valgrind does not know the newest ones."""
    place = tmp_path_factory.mktemp("diffusion")
    model = EXAMPLES / "diffusion.py"
    run("-m", "aotensor_cli", "compile", model, "-o", place, "--name", "diffusion", "--cpu", "generic")
    return place


def _build(folder: Path, name: str, *flags: str) -> Path:
    source, program = EXAMPLES / "c_client" / "sparse.c", folder / name
    command = [str(CC), "-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-g", *flags, f"-I{folder}", str(source)]
    command += ["-o", str(program), f"-L{folder}", "-ldiffusion", "-lm", "-Wl,-rpath,$ORIGIN"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode and flags:
        pytest.skip(f"the compiler has no {flags[0]}")
    assert done.returncode == 0, done.stderr
    return program


def _run(*command: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_cc
def test_client(folder: Path) -> None:
    assert _run(_build(folder, "client")) == EXPECTED


@needs_cc
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind on the path")
def test_client_under_valgrind(folder: Path) -> None:
    found = _run("valgrind", "-q", "--error-exitcode=9", "--leak-check=full", _build(folder, "watched"))
    assert found == EXPECTED


@needs_cc
def test_client_with_sanitizers(folder: Path) -> None:
    assert _run(_build(folder, "sanitized", "-fsanitize=address,undefined")) == EXPECTED


def test_the_same_from_python(run: Runner) -> None:
    text = run(EXAMPLES / "diffusion.py")
    assert "energy 361.602 -> 92.529" in text
    assert "flows: csr_matrix of 2300 entries, largest through an edge 1.035" in text
