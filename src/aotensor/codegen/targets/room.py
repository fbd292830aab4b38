"""Tell a compiler or linker that found no room for its files from one that found a mistake."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path
from typing import Final

from aotensor.errors import ToolError

_FULL: Final = re.compile(r"no space left|file too large|file size limit|quota exceeded", re.IGNORECASE)
"""Messages of linkers and compilers that cannot write."""
_LIMITED: Final = -int(getattr(signal, "SIGXFSZ", 0)) or None
"""Exit status of a process that the system ends because its file exceeds the size limit."""
_HINT: Final = "free some space there, or set TMPDIR to another folder"


def check_room(tool: str, done: subprocess.CompletedProcess[str], folder: Path) -> None:
    """Check that a tool did not fail for lack of room in the temporary folder.   folder: where its files are written

    Raises: ToolError that names the folder
    """
    said = done.stderr or done.stdout
    if done.returncode == _LIMITED or (done.returncode != 0 and _FULL.search(said)):
        title = f"{tool} could not write to the temporary folder {folder}"
        raise ToolError(title, command=tuple(map(str, done.args)), stderr=said, hint=_HINT)
