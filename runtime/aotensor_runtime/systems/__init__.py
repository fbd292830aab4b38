"""System-dependent functions: one module per system, all with the same names; `here` is that of this process.

    NAME                  as `Image.platform` begins
    READING               flags to open a file with that is read once
    LOCKS                 does the system lock a file while it is loaded?
    WORKERS               most processes of a pool
    load_file, load_copy  load a library, from its file or from bytes that no other user can access
    processors            number that the process may use
    memory_bytes          of the machine
    flags                 features of the processor
    version               of the system, if libraries require one

Libraries are never closed: their code may be running, and arrays in their memory may be in use, until the process ends.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from aotensor_runtime.systems import windows as here
elif sys.platform == "darwin":
    from aotensor_runtime.systems import macos as here
else:
    from aotensor_runtime.systems import linux as here

__all__ = ["here"]
