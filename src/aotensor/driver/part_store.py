"""Objects of parts on disk, beside the compiled functions: `parts/<what it depends on>.o` in the cache folder.

A file is the SHA-256 of an object and then the object, so that a damaged one is seen and made again. Nothing here fails
a compilation: without a writable folder, parts are made each time.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import Final

from aotensor.codegen.link import write_file
from aotensor.codegen.llvm import binding
from aotensor.codegen.machine import Machine
from aotensor.codegen.parts import Part, compile_part
from aotensor.config import config
from aotensor.driver.cache import compiler_identity

_DIGEST_SIZE: Final = hashlib.sha256().digest_size  # bytes


def stored_part(part: Part, machine: Machine) -> bytes:
    """The object code of a part, from the cache folder if it is there, else made and put there."""
    versions = ".".join(map(str, binding.llvm_version_info))
    identity = "\0".join([part.name, repr(machine), versions, compiler_identity()])
    path = config.cache_dir / "parts" / f"{hashlib.sha256(identity.encode()).hexdigest()[:40]}.o"
    try:
        content = path.read_bytes()
    except OSError:
        content = b""
    digest, code = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
    if code and hashlib.sha256(code).digest() == digest:
        return code
    code = compile_part(part, machine)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, hashlib.sha256(code).digest() + code)
    return code
