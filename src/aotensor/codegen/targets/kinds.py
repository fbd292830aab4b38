"""The kinds of files that a library can be written as.

Imports the standard library only: the command line reads this module alone (`aotensor_cli/commands/names.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aotensor.codegen.library import Library

KINDS: Final[dict[str, Callable[[Library], dict[str, bytes]]]] = {
    "lib": lambda library: library.shared_files(),
    "static": lambda library: {library.archive_name: library.static()},
}
"""Kind of output file → its files by name. Kinds are those of `aotensor compile --emit`."""
