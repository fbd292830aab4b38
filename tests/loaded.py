"""Emitted code, linked and loaded as libraries are.

LLVM's own JIT would spare the linker, but puts sections where the system has room: more than 2 GB apart in a process
with large reservations (Arrow's allocator makes some), which code of the small model does not survive.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Sequence
from pathlib import Path

from aotensor.codegen.llvm import ModuleRef
from aotensor.codegen.machine import Machine
from aotensor.codegen.targets.link import link


def loaded(optimised: ModuleRef, machine: Machine, exported: Sequence[str]) -> ctypes.CDLL:
    """The functions of an optimised module, in this process."""
    code = link([machine.object_code(optimised)], triple=machine.triple, name="tested.so", exported=sorted(exported))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tested.so"
        path.write_bytes(code.library)
        return ctypes.CDLL(str(path))


def address_of(library: ctypes.CDLL, symbol: str) -> int:
    """Where a function stands."""
    return ctypes.cast(library[symbol], ctypes.c_void_p).value or 0
