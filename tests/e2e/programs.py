"""Where the programs are, and how their tests call them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
EXAMPLES: Final = ROOT / "examples"

Runner = Callable[..., str]
"""run(*arguments, cwd=folder): stdout of this Python with the arguments; the test fails if it does."""
