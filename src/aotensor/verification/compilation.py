"""Checks of the results of a compilation: IR at every stage, header, symbols, bytes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from aotensor.codegen.entry.names import exported_symbols
from aotensor.codegen.targets.linkage import read_linkage
from aotensor.codegen.targets.room import check_room
from aotensor.driver.build import Build
from aotensor.ir.context import parse_module
from aotensor.ir.text import text_of
from aotensor.verification.report import CheckFailed, CheckSkipped
from aotensor_runtime.elf import ElfFile
from aotensor_runtime.formats.read import read_image
from aotensor_runtime.manifest import Manifest
from aotensor_runtime.systems.scratch import scratch_folder

_C_FLAGS: Final = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only")
_SYSTEM: Final = re.compile(
    r"(libc|libm|libpthread|ld-linux[-\w]*|libc\.musl-[\w-]+)\.so(\.\d+)?"  # glibc 2.34 has threads in libc
    r"|(ucrtbase|KERNEL32)\.dll|/usr/lib/libSystem\.B\.dylib"
)
"""The C libraries of all systems."""
_OF_LINKERS: Final = frozenset({"memory", "malloc", "free", "_initialize", "__dso_handle", "_mh_dylib_header"})
"""Symbols that linkers export in addition: a module's memory and its functions, marks of Mach-O."""
_PARSED_STAGES: Final = ("tensor", "tensor-opt", "nest", "loops")


def check_stages(build: Build) -> str:
    """Verify the IR after every pass, and the LLVM IR.   Raises: InternalError naming the pass"""
    return (
        f"{len(build.lowered.records)} passes; LLVM gives {sum(map(len, build.library.objects))} bytes of object code"
    )


def check_texts(build: Build) -> str:
    """Check that every IR text parses, and prints unchanged.   Raises: CheckFailed"""
    for stage in _PARSED_STAGES:
        text = build.lowered.texts[stage]
        if text_of(parse_module(text), brief=True) != text:
            raise CheckFailed(f"{stage} prints differently after parsing")
    return f"{', '.join(_PARSED_STAGES)} print, parse and print again unchanged"


def check_header(build: Build) -> str:
    """Check that the header compiles without a warning.   Raises: CheckFailed, CheckSkipped"""
    compiler = shutil.which("cc") or shutil.which("clang")
    if compiler is None:
        raise CheckSkipped("no C compiler was found")
    with scratch_folder() as folder:
        header, source = folder / f"{build.name}.h", folder / "check.c"
        header.write_text(build.library.header())
        source.write_text(f'#include "{header.name}"\nint main(void) {{ return 0; }}\n')
        command = [compiler, *_C_FLAGS, str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
        check_room(f"the compiler {Path(compiler).name}", done, folder.parent)
    if done.returncode != 0:
        raise CheckFailed(_first_error(done.stderr))
    return f"{Path(compiler).name} {' '.join(_C_FLAGS[:-1])}"


def _first_error(text: str) -> str:
    lines = [line for line in text.splitlines() if "error" in line] or text.splitlines() or ["the compiler failed"]
    return lines[0].rpartition("/")[2]


def check_symbols(library: bytes, manifest: Manifest) -> str:
    """Check that the library exports the documented symbols and needs libc and libm at most.   Raises: CheckFailed"""
    image, expected = read_image(library), set(exported_symbols(manifest))
    linkage = read_linkage(image)
    foreign = [name for name in linkage.needed if not _SYSTEM.fullmatch(name)]
    if foreign:
        raise CheckFailed(f"the library needs {_listing(foreign)}")
    exported = set(linkage.exported) - (frozenset() if isinstance(image, ElfFile) else _OF_LINKERS)
    for what, names in (("exports", exported - expected), ("lacks", expected - exported)):
        if names:
            raise CheckFailed(f"the library {what} the symbols {_listing(sorted(names))}")
    return f"{len(expected)} exported; needs {_listing(linkage.needed)}: {_listing(linkage.undefined)}"


def check_bytes(build: Build) -> str:
    """Check that compiling again, without verification of the IR, gives the same bytes.   Raises: CheckFailed"""
    again = Build(build.functions, build.name, replace(build.options, verify=False))
    if again.shared != build.shared:
        stages = [stage for stage, text in build.lowered.texts.items() if again.lowered.texts[stage] != text]
        raise CheckFailed(f"a second compilation gives other bytes, first in {[*stages, 'the object code'][0]}")
    if again.library.header() != build.library.header():
        raise CheckFailed("a second compilation gives another header")
    return f"two compilations give the same {len(build.shared)} bytes"


def _listing(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
