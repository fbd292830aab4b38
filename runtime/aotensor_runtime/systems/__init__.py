"""What differs between systems, one module for each, all with the same names; `here` is the one of this process.

    NAME                  as `Image.platform` begins
    READING               flags to open a file with that is read once
    LOCKS                 is a file that is loaded kept from being changed?
    WORKERS               processes of a pool, at most
    load_file, load_copy  a library into memory, from its file or from bytes that nobody else can reach
    processors            how many the process may use
    memory_bytes          of the machine
    flags                 features of the processor
    version               of the system, where libraries ask for one

Nothing closes a library: code of it may be running, and arrays of its memory may be in use, until the process ends.
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
