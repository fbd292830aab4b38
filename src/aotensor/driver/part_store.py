"""The cache of object files of parts of a library: `parts/<digest of all that it depends on>.o` in the cache folder.

Errors here never fail a compilation: without a writable folder, parts are compiled each time.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress

from aotensor.codegen.llvm import binding
from aotensor.codegen.machine import Machine
from aotensor.codegen.parts import Part, compile_part
from aotensor.driver.folder import compiler_identity, store


def stored_part(part: Part, machine: Machine) -> bytes:
    """The object code of a part, from the cache folder if it is stored there, else compiled and stored."""
    versions = ".".join(map(str, binding.llvm_version_info))
    identity = "\0".join([part.name, repr(machine), versions, compiler_identity()])
    folder, name = store(), f"parts/{hashlib.sha256(identity.encode()).hexdigest()[:40]}.o"
    code = folder.get(name)
    if code is None:
        code = compile_part(part, machine)
        with suppress(OSError):
            folder.put(name, code)
    return code
