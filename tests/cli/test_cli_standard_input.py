"""`-` as the model: Python, StableHLO and libraries on standard input, as files of that content."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from command_line import LOGISTIC, PYTHON, SMALL, Answer

STABLEHLO = """// a comment
module @tripled {
  func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {
    %0 = stablehlo.add %x, %x : tensor<3xf64>
    return %0 : tensor<3xf64>
  }
}
"""


def fed(content: str | bytes, folder: Path, *arguments: object) -> Answer:
    """What a process gives that reads this from a pipe."""
    data = content.encode() if isinstance(content, str) else content
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    done = subprocess.run(
        [*PYTHON, *map(str, arguments)], input=data, capture_output=True, check=False, cwd=folder,
        env={**os.environ, "TMPDIR": str(scratch)},
    )  # fmt: skip
    assert os.listdir(scratch) == []
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_python(tmp_path: Path, model: Path) -> None:
    """The header is that of the file; modules are found in the current folder."""
    (tmp_path / "parts.py").write_text("SCALE = 2\n")
    answer = fed(f"import parts\n{LOGISTIC}", tmp_path, "compile", "-", "-o", "out", "--depfile", "x.d")
    assert answer.code == 0, answer.err
    assert sorted(os.listdir(tmp_path / "out")) == ["liblogistic.so", "logistic.h"]
    assert "stdin" not in (tmp_path / "x.d").read_text() and "parts.py" in (tmp_path / "x.d").read_text()
    one = fed(LOGISTIC, tmp_path, "compile", "--emit", "header", "--", "-:twice")
    assert "doubled(" in one.out and "logistic(" not in one.out


def test_stablehlo_and_a_library(tmp_path: Path, library: Path) -> None:
    found = fed(STABLEHLO, tmp_path, "compile", "-", "--emit", "header")
    assert found.code == 0 and "tripled(" in found.out, found.err
    assert "logistic_grad" in fed(library.read_bytes(), tmp_path, "inspect", "-").out


@pytest.mark.parametrize(
    ("content", "code", "title"),
    [
        ("", 2, "standard input: it contains no model"),
        ("\n1 / 0\n", 3, "stdin.py:2: ZeroDivisionError: division by zero"),
        ("x = 1\n", 3, "stdin.py: there is no Function at the top level of the file"),
        (b"\x7fELF" + bytes(100), 2, "stdin.so: "),
    ],
)
def test_what_is_refused(tmp_path: Path, content: str | bytes, code: int, title: str) -> None:
    answer = fed(content, tmp_path, "inspect", "-")
    assert answer.code == code and f"error: {title}" in answer.err, answer.err


def test_a_pipe_that_nobody_reads(tmp_path: Path) -> None:
    """The file of the model goes, too."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with subprocess.Popen(
        [*PYTHON, "inspect", "-", "--stage", "llvm"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(scratch)},
    ) as process:  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        process.stdout.close()
        process.stdin.write(SMALL.encode())
        process.stdin.close()
    assert process.returncode != 0 and os.listdir(scratch) == []
