"""The current folder does not exist: compiling works, and errors of imports are those of Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
{first}
import aotensor as aot, aotensor.tensor as at
x = at.vector("x")
f = aot.function([x], at.exp(x), name="f")
{act}
try:
    import is_nowhere
except ModuleNotFoundError as error:
    print(error)
print([type(finder).__name__ for finder in sys.meta_path if "IRDL" in type(finder).__name__])
"""
MODEL = """
import aotensor as aot, aotensor.tensor as at
x = at.vector("x")
f = aot.function([x], at.exp(x), name="f")
"""


def _run(folder: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    """A process in a folder that is removed before it begins."""
    gone = folder / "gone"
    gone.mkdir()
    environment = {**os.environ, "AOTENSOR_CACHE_DIR": str(folder / "cache")}
    return subprocess.run(
        ["sh", "-c", 'cd "$0" && rmdir "$0" && exec "$@"', str(gone), *command],
        capture_output=True, text=True, check=False, env=environment, cwd=folder,
    )  # fmt: skip


@pytest.mark.parametrize(
    "act",
    [
        "f([1.0])", 'f.ir("nest")', "f.verify(samples=1)", 'aot.compile(f, sys.argv[1])',
        "import aotensor_cli.compile",
    ],
)  # fmt: skip
def test_compiling(act: str, tmp_path: Path) -> None:
    done = _run(tmp_path, [sys.executable, "-c", PROGRAM.format(first="", act=act), str(tmp_path)])
    assert (done.returncode, done.stdout.splitlines()) == (0, ["No module named 'is_nowhere'", "[]"]), done.stderr


def test_a_program_that_uses_xdsl_itself(tmp_path: Path) -> None:
    """It keeps the finder that it had."""
    text = PROGRAM.format(first="import xdsl.dialects", act="f([1.0])")
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines() == ["No module named 'is_nowhere'", "['IRDLDialectFinder']"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["compile", "MODEL", "-o", "OUT", "-q"], 0, ""),
        (["compile", "MODEL"], 2, "error: the current folder does not exist any more\n"),
        (["compile", "model.py"], 2, "error: model.py: there is no such file\n"),
        (["inspect", "MODEL"], 0, None),
    ],
)
def test_the_command_line(arguments: list[str], code: int, said: str | None, tmp_path: Path) -> None:
    model, out = tmp_path / "model.py", tmp_path / "out"
    model.write_text(MODEL, encoding="utf-8")
    given = [{"MODEL": str(model), "OUT": str(out)}.get(x, x) for x in arguments]
    done = _run(tmp_path, [sys.executable, "-m", "aotensor_cli", *given])
    assert done.returncode == code, done.stderr
    assert said is None or done.stderr == said
    assert out.is_dir() == ("OUT" in arguments)
