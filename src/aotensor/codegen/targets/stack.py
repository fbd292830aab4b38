"""The stack probe that LLVM calls on Windows before a frame of more than a page: the stack grows page by page.

The function receives the bytes of the frame in rax and preserves every register. C compilers have it in their runtime
library; a DLL is linked without one, so it is built here, as an object file of its own. Sources: Microsoft's x64 ABI,
"Stack usage"; PE format, "COFF File Header" to "COFF String Table".
"""

from __future__ import annotations

import struct
from typing import Final

_SYMBOL: Final = b"___chkstk_ms"
_CODE: Final = bytes.fromhex(
    "51"              # push rcx
    "50"              # push rax
    "488d4c2418"      # lea rcx, [rsp + 24]   the caller's stack pointer
    "483d00100000"    # again: cmp rax, 4096
    "7611"            # jbe rest
    "4881e900100000"  # sub rcx, 4096
    "8509"            # test [rcx], ecx
    "482d00100000"    # sub rax, 4096
    "ebe7"            # jmp again
    "4829c1"          # rest: sub rcx, rax
    "8509"            # test [rcx], ecx
    "58"              # pop rax
    "59"              # pop rcx
    "c3"              # ret
)  # fmt: skip
_AMD64: Final = 0x8664
_EXECUTED: Final = 0x60500020  # code that is read and executed, aligned to 16 bytes
_FUNCTION, _EXTERNAL = 0x20, 2


def stack_probe() -> bytes:
    """The bytes of an object file in COFF format that defines the stack probe."""
    head, section = struct.Struct("<HHIIIHH"), struct.Struct("<8sIIIIIIHHI")
    at = head.size + section.size
    symbol = struct.pack("<IIIhHBB", 0, 4, 0, 1, _FUNCTION, _EXTERNAL, 0)
    texts = _SYMBOL + b"\0"
    return b"".join([
        head.pack(_AMD64, 1, 0, at + len(_CODE), 1, 0, 0),
        section.pack(b".text", 0, 0, len(_CODE), at, 0, 0, 0, 0, _EXECUTED),
        _CODE, symbol, struct.pack("<I", 4 + len(texts)), texts,
    ])  # fmt: skip
