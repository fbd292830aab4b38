"""A compiler or linker that finds no room for its files is told from one that finds a mistake."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from aotensor.codegen.targets.room import check_room
from aotensor.errors import ToolError


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (1, "cc: /t/x.s: No space left on device"),
        (1, "as: file size limit exceeded"),
        (2, "write: Disk quota exceeded"),
        (-signal.SIGXFSZ, ""),
    ],
)
def test_no_room(code: int, said: str, tmp_path: Path) -> None:
    done = subprocess.CompletedProcess(["cc", "x.c"], code, "", said)
    with pytest.raises(ToolError, match=f"the compiler cc could not write to the temporary folder {tmp_path}") as found:
        check_room("the compiler cc", done, tmp_path)
    assert found.value.command == ("cc", "x.c")


def test_mistakes_and_successes_pass(tmp_path: Path) -> None:
    for code, said in ((1, "x.c:1: error: unknown type"), (0, "note: no space left for inlining")):
        assert check_room("the compiler cc", subprocess.CompletedProcess(["cc"], code, "", said), tmp_path) is None
