"""Limits of options, the same on every system.

Imports the standard library only: the command line imports this module alone (`aotensor_cli/commands/names.py`).
"""

from __future__ import annotations

from typing import Final

MOST_THREADS: Final = 1024
"""Most threads of one call."""
