"""The kernel that finds the path of the library on macOS.   Source: dladdr(3)"""

from __future__ import annotations

from aotensor.codegen.abi.language import WORD, stack, table, word
from aotensor.codegen.weights.language import object_of


def library_path() -> int:
    """The address of the path that the library was loaded from; 0 if unknown."""
    info = stack(4 * WORD)
    if object_of(table(), info) == 0:
        return 0
    return word(info, 0)
