"""Wrong programs and the whole answer that each must get: `name.py` beside `name.err`."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from aotensor.errors import AotensorError

FOLDER = Path(__file__).parent
PROGRAMS = sorted(path for path in FOLDER.glob("*.py") if not path.name.startswith(("test_", "conftest")))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_answer(path: Path, golden: Callable[[Path, str], None]) -> None:
    with pytest.raises(AotensorError) as caught:
        runpy.run_path(str(path))
    text = re.sub(rf"{re.escape(str(FOLDER))}/", "", str(caught.value))
    golden(path.with_suffix(".err"), f"{type(caught.value).__name__}\n{text}\n")


def test_every_answer_has_its_program() -> None:
    assert {path.stem for path in FOLDER.glob("*.err")} == {path.stem for path in PROGRAMS}
