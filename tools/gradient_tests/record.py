"""The file of lines that a plugin writes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from tools.gradient_tests.compare import Comparison

RECORD: Final = "AOTENSOR_GRADIENTS_RECORD"
"""Environment: the file of lines."""


def record(test: str, found: Comparison) -> None:
    """Append the results of a test."""
    with Path(os.environ[RECORD]).open("a", encoding="utf-8") as out:
        out.write(json.dumps({"test": test} | found.line()) + "\n")
