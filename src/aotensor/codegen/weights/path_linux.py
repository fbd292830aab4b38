"""The kernel that finds the path of the library on Linux: by a walk over all loaded objects.

`dladdr` would require version 2.34 of glibc, or another library. Source: dl_iterate_phdr(3), elf(5).
"""

from __future__ import annotations

from typing import Final

from aotensor.codegen.abi.language import WORD, Address, Int32, int32, set_word, stack, table, word
from aotensor.codegen.weights.kernels import VISIT
from aotensor.codegen.weights.language import visit_objects

HEADERS: Final = 2
COUNT: Final = 6
"""Word of dl_phdr_info with the address of the program headers, number of 4 bytes with their count."""
LOADED: Final = 1  # PT_LOAD
HEADER: Final = 7
"""Words of a program header."""


def library_path() -> int:
    """The address of the path that the library was loaded from; 0 if unknown, as in an executable."""
    found = stack(WORD)
    set_word(found, 0, 0)
    visit_objects(word(table(), VISIT), found)
    return word(found, 0)


def visit(info: Address, size: int, found: Address) -> Int32:
    """Store the path of an object, if it contains the table of this library."""
    for k in range(int32(info, COUNT) & 65535):
        header = word(info, HEADERS) + WORD * HEADER * k
        start = word(info, 0) + word(header, 2)
        if int32(header, 0) == LOADED and start <= table() and table() < start + word(header, 5):
            set_word(found, 0, word(info, 1))
            return 1
    return 0
