"""Numbers beyond which a user has made a mistake, on every system.

Imports the standard library only: the command line reads this module alone (`aotensor_cli/commands/names.py`).
"""

from __future__ import annotations

from typing import Final

MOST_THREADS: Final = 1024
"""Threads of one call, at most."""
