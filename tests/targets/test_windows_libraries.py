"""Libraries for Windows: programs that link with the DLL, or hold the static library, run under wine."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import foreign
from foreign import Made

from aotensor.codegen.targets.archive import import_archive
from aotensor.codegen.targets.stack import stack_probe
from aotensor_runtime import Library

TRIPLE = "x86_64-windows-gnu"
C_LIBRARY = ("malloc", "free", "memcpy", "memset", "puts", "putchar", "exit")
START = "void exit(int status);\nint program(void);\nvoid start(void) { exit(program()); }\n"


def test_numbers(made: Made, here: Callable[[str], Library], tmp_path: Path) -> None:
    """The same bits as here, from the DLL and from the static library."""
    wine = foreign.tool("wine", "wine, wine64")
    folder = made(TRIPLE, "strict")
    (folder / "driver.c").write_text(foreign.DRIVER.replace("int main(void)", "int program(void)"))
    (folder / "start.c").write_text(START)
    for name in ("driver", "start"):
        command = [*foreign.ZIG, "cc", "-target", TRIPLE, *foreign.FLAGS, "-c"]
        foreign.run([*command, f"{name}.c", "-o", f"{name}.o"], folder)
    (folder / "c.lib").write_bytes(import_archive("ucrtbase.dll", C_LIBRARY))
    (folder / "stack.o").write_bytes(stack_probe())
    told = ["/entry:start", "/subsystem:console", "/nodefaultlib", "/lldmingw"]
    quiet = os.environ | {"WINEDEBUG": "-all", "WINEPREFIX": str(tmp_path / "wine")}
    for source in ("libmodel.dll.a", "libmodel.a"):
        sources = ["driver.o", "start.o", source, "stack.o", "c.lib"]
        foreign.run([*foreign.ZIG, "lld-link", *told, "/out:driver.exe", *sources], folder)
        foreign.compare(foreign.run([wine, "driver.exe"], folder, env=quiet), here("strict"), is_strict=True)


def test_files(made: Made) -> None:
    """The C library that comes with Windows is all that a DLL needs; it exports what the header has, and no more."""
    read = foreign.tool("llvm-objdump-22", "llvm-22")
    assert sorted(path.name for path in made(TRIPLE, "strict").glob("*model*")) == [
        "libmodel.a", "libmodel.dll.a", "model.dll", "model.h",
    ]  # fmt: skip
    said = foreign.run([read, "-p", "model.dll"], made(TRIPLE, "strict"))
    assert re.findall(r"DLL Name: (\S+)", said) == ["ucrtbase.dll"]
    exported = said.partition("Ordinal      RVA  Name")[2].split()[2::3]
    header = (made(TRIPLE, "strict") / "model.h").read_text()
    assert "gradient" in exported and all(f"{name}(" in header for name in exported)
