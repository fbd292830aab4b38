"""Import modules of the tests, whose folders are not packages."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

TESTS: Final = Path(__file__).parents[2] / "tests"


@cache
def from_tests(folder: str, name: str) -> Any:
    """The module `name` of a folder of the tests, which may import its neighbours."""
    sys.path[:0] = [str(TESTS / folder), str(TESTS)]
    try:
        return importlib.import_module(name)
    finally:
        del sys.path[:2]
