"""Libraries for Windows: programs that link with the DLL, or hold the static library, run under wine."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import foreign
import numpy as np
import pytest
from foreign import Made

import aotensor as aot
import aotensor.tensor as at
from aotensor.codegen.targets.archive import import_archive
from aotensor.codegen.targets.link import _THREADS
from aotensor.codegen.targets.stack import stack_probe
from aotensor_runtime import Library

pytestmark = pytest.mark.needs("zig", "wine")

TRIPLE = "x86_64-windows-gnu"
C_LIBRARY = (
    "malloc", "free", "memcpy", "memset", "memcmp", "puts", "putchar", "exit", "getenv", "_strtoi64",
)  # fmt: skip
START = "void exit(int status);\nint program(void);\nvoid start(void) { exit(program()); }\n"


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of wine: its folder takes longer to make than all programs to run."""
    return {**os.environ, "WINEDEBUG": "-all", "WINEPREFIX": str(tmp_path_factory.mktemp("wine"))}


def test_numbers(made: Made, here: Callable[[str], Library], quiet: dict[str, str]) -> None:
    """The same bits as here, from the DLL and from the static library."""
    wine = foreign.tool("wine", "wine, wine64")
    folder = made(TRIPLE, "strict")
    (folder / "driver.c").write_text(foreign.DRIVER.replace("int main(void)", "int program(void)"))
    (folder / "start.c").write_text(START)
    for name in ("driver", "start"):
        command = [*foreign.ZIG, "cc", "-target", TRIPLE, *foreign.FLAGS, "-c"]
        foreign.run([*command, f"{name}.c", "-o", f"{name}.o"], folder)
    (folder / "c.lib").write_bytes(import_archive("ucrtbase.dll", C_LIBRARY))
    (folder / "kernel.lib").write_bytes(import_archive(*_THREADS))
    (folder / "stack.o").write_bytes(stack_probe())
    told = ["/entry:start", "/subsystem:console", "/nodefaultlib", "/lldmingw"]
    for source in ("libmodel.dll.a", "libmodel.a"):
        sources = ["driver.o", "start.o", source, "stack.o", "c.lib", "kernel.lib"]
        foreign.run([*foreign.ZIG, "lld-link", *told, "/out:driver.exe", *sources], folder)
        foreign.compare(foreign.run([wine, "driver.exe"], folder, env=quiet), here("strict"), is_strict=True)


def test_files(made: Made) -> None:
    """What comes with Windows is all that a DLL needs; it exports what the header has, and no more."""
    read = foreign.tool("llvm-objdump-22", "llvm-22")
    assert sorted(path.name for path in made(TRIPLE, "strict").glob("*model*")) == [
        "libmodel.a", "libmodel.dll.a", "model.dll", "model.h",
    ]  # fmt: skip
    said = foreign.run([read, "-p", "model.dll"], made(TRIPLE, "strict"))
    assert re.findall(r"DLL Name: (\S+)", said) == ["ucrtbase.dll", "KERNEL32.dll"]
    exported = said.partition("Ordinal      RVA  Name")[2].split()[2::3]
    header = (made(TRIPLE, "strict") / "model.h").read_text()
    assert "gradient" in exported and all(f"{name}(" in header for name in exported)


PROGRAM = (
    "CreateToolhelp32Snapshot", "Thread32First", "Thread32Next", "WaitForSingleObject", "CreateThread", "LoadLibraryA",
    "FreeLibrary", "GetModuleHandleA", "GetProcAddress", "Sleep", "GetCurrentProcessId",
)  # fmt: skip
"""What the program for threads calls of Windows itself."""


def threaded() -> aot.Function:
    """A loss and its gradient in one loop over the rows."""
    X, w = at.matrix("X", dtype="float64", shape=("n", "p")), at.vector("w", dtype="float64", shape=("p",))
    loss = at.log(1 + at.exp(X @ w)).mean() + (w**2).sum()
    return aot.function([X, w], {"loss": loss, "grad": aot.grad(loss, w)}, name="model")


def test_threads(tmp_path: Path, quiet: dict[str, str]) -> None:
    """Any number of threads gives the bits of one, and those of Linux; callers at the same time, unloading, too."""
    wine = foreign.tool("wine", "wine, wine64")
    aot.compile(threaded(), tmp_path, target=TRIPLE, cpu="generic", emit=("lib", "static"))
    source = Path(__file__).with_name("windows_threads.c")
    command = [*foreign.ZIG, "cc", "-target", TRIPLE, *foreign.FLAGS, f"-I{tmp_path}", "-c", source]
    foreign.run([*command, "-o", "linked.o"], tmp_path)
    foreign.run([*command, "-DUNLOAD", "-Wno-unused-function", "-o", "unload.o"], tmp_path)
    (tmp_path / "c.lib").write_bytes(import_archive("ucrtbase.dll", C_LIBRARY))
    (tmp_path / "kernel.lib").write_bytes(import_archive("KERNEL32.dll", tuple({*_THREADS[1], *PROGRAM})))
    (tmp_path / "stack.o").write_bytes(stack_probe())
    told = ["/entry:start", "/subsystem:console", "/nodefaultlib", "/lldmingw"]
    for program, sources in (("dll", ["linked.o", "libmodel.dll.a"]), ("whole", ["linked.o", "libmodel.a"]),
                             ("unload", ["unload.o"])):  # fmt: skip
        line = [*told, f"/out:{program}.exe", *sources, "stack.o", "c.lib", "kernel.lib"]
        foreign.run([*foreign.ZIG, "lld-link", *line], tmp_path)
    n, p = 20000, 20
    X, w = (np.arange(n * p) * 37 % 101 / 33.0 - 1.5).reshape(n, p), np.arange(p) / 70.0
    here = aot.compile(threaded(), tmp_path / "here", cpu="generic").load().model(X, w, num_threads=2)
    bits = here["loss"].tobytes().hex() + here["grad"].tobytes().hex()
    three = quiet | {"AOTENSOR_NUM_THREADS": "3"}
    for program in ("dll", "whole"):
        found = foreign.run([wine, f"{program}.exe"], tmp_path, env=three).split()
        assert found == [bits, "0", "2", "4", "ok"], "threads beside the caller's: for one, by default, for five"
    assert foreign.run([wine, "unload.exe"], tmp_path, env=three).split() == ["1"], "the code of threads stays"
