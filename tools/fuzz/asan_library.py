"""Compile a library in which AddressSanitizer checks every load and store, as by `clang -fsanitize=address`.

llvmlite has no sanitizer passes, so the calls are written into the text of the optimised module.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import aotensor as aot
from aotensor.codegen.llvm import binding
from aotensor.driver import recipe

_ACCESS: Final = re.compile(
    r"^  (?:%\S+ = (load) (?:volatile )?|(store) (?:volatile )?)(<[^>]+>|\S+?),? .*?ptr (%[^,\s]+), align \d+"
)
_VECTOR: Final = re.compile(r"<(\d+) x (\S+)>")
_BYTES: Final = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "i128": 16, "float": 4, "double": 8, "ptr": 8}
_COPIES: Final = {
    "memcpy": ("llvm.memcpy.p0.p0.i64", "ptr, ptr, i64, i1"),
    "memmove": ("llvm.memmove.p0.p0.i64", "ptr, ptr, i64, i1"),
    "memset": ("llvm.memset.p0.i64", "ptr, i8, i64, i1"),
}


def sanitized_text(text: str) -> str:
    """LLVM IR with calls of `__asan_loadN` and `__asan_storeN` before each load and store."""
    lines: list[str] = []
    for line in text.splitlines():
        access = _ACCESS.match(line)
        if access:
            kind, place = access[1] or access[2], access[4]
            lines.append(f"  call void @__asan_{kind}N(ptr {place}, i64 {_size(access[3])})")
        if not any(line.startswith("declare") and f"@{name}(" in line for name, _ in _COPIES.values()):
            lines.append(line)
    found = "\n".join(lines)
    for mine, (name, types) in _COPIES.items():
        found = found.replace(f"@{name}(", f"@checked_{mine}(") + f"\ndeclare void @checked_{mine}({types})"
    return found + "\ndeclare void @__asan_loadN(ptr, i64)\ndeclare void @__asan_storeN(ptr, i64)\n"


def _size(type: str) -> int:
    """The number of bytes of a value of this type."""
    vector = _VECTOR.fullmatch(type)
    return int(vector[1]) * _BYTES[vector[2]] if vector else _BYTES[type]


def write_sanitized(functions: Sequence[aot.Function], folder: Path, name: str, driver: Path) -> Path:
    """A C program with a library of functions, both under AddressSanitizer.   driver: its source, which includes
    "library.h"

    Not vectorised by LLVM and for any CPU: no masked access, of which the calls know nothing.
    Raises: subprocess.CalledProcessError if the C compiler fails.
    """
    options = recipe.Options(cpu="generic", opt_level=1)
    library = recipe.make_library(recipe.lower(functions, options, texts=()), name)
    module = binding.parse_assembly(sanitized_text(str(library.optimised)), binding.create_context())
    module.verify()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "library.h").write_text(library.header(), encoding="utf-8")
    (folder / "library.o").write_bytes(library.object_of(module))
    program = folder / "driver"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-fsanitize=address,undefined"]
    command = ["cc", *flags, f"-I{folder}", driver, folder / "library.o", "-o", program, "-lm"]
    subprocess.run(list(map(str, command)), check=True)
    return program
