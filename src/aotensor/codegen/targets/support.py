"""Support of every target: the compiler, linkers and emulators for its libraries, on this machine or in general."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aotensor.codegen.machine import Machine
from aotensor.codegen.targets.linker import find_linkers, is_native_triple
from aotensor.codegen.targets.systems import LINUX, MACOS, WASM, WINDOWS, canonical, system_of
from aotensor.codegen.targets.triples import BARE, TARGETS

_DEBIAN: Final = {
    "x86_64": ("qemu-x86_64", "qemu-user"),
    "aarch64": ("qemu-aarch64", "qemu-user"),
    "riscv64": ("qemu-riscv64", "qemu-user"),
}
"""Architecture → the emulator for its programs, and its package in Debian."""
_BOARDS: Final = {
    "thumb": ("arm-none-eabi-gcc", "qemu-system-arm", "qemu-system-arm"),
    "riscv": ("riscv64-unknown-elf-gcc", "qemu-system-riscv", "qemu-system-misc"),
    "aarch64": ("aarch64-none-elf-gcc", "qemu-system-aarch64", "qemu-system-arm"),
}
"""Bare-metal architecture → a compiler, the emulator (for RISC-V without its bits), and its package in Debian."""
_CROSS: Final = "pip install 'aotensor[cross]'"


@dataclass(frozen=True)
class Support:
    """The support of one target on this machine.

    compiler: "compiled", or why LLVM does not support the target. linkers: the preferred one first. runner: emulator;
    empty if there is none. hint: packages to install.
    """

    triple: str
    compiler: str
    is_compiled: bool
    linkers: tuple[str, ...]
    runner: str
    hint: str = ""

    @property
    def text(self) -> str:
        """The support as a line of text."""
        what = "archives, programs linked" if self.triple in BARE else "linked"
        linked = f"{what} by {self.linkers[0]}" if self.linkers else "not linked here"
        ran = f"run by {self.runner}" if self.runner else "not run here"
        return f"{self.compiler}; {linked}; {ran}" if self.is_compiled else self.compiler


def support(triple: str) -> Support:
    """Find out the support of a target on this machine."""
    try:
        machine = Machine.parse(triple)
        machine.data_layout()
    except Exception as error:  # for any reason, this target is unavailable
        return Support(triple, str(error).splitlines()[0], False, (), "")
    full = canonical(triple)
    if triple in BARE:
        linkers, runner, package = _board(triple)
    else:
        linkers = tuple(linker.name for linker in find_linkers(full))
        runner, package = _runner(full)
    missing = [*([] if linkers else [_CROSS]), *([] if runner or not package else [package])]
    return Support(triple, "compiled", True, linkers, runner, "; ".join(missing))


def _board(triple: str) -> tuple[tuple[str, ...], str, str]:
    """(compilers that link programs with an archive, the board emulator, package to install if there is none)."""
    compiler, emulator, package = next(x for start, x in _BOARDS.items() if triple.startswith(start))
    zig = ["ziglang"] if importlib.util.find_spec("ziglang") is not None else []
    compilers = [name for name in (compiler, "clang") if shutil.which(name)]
    program = emulator + (triple.partition("-")[0].removeprefix("riscv") if triple.startswith("riscv") else "")
    found = shutil.which(program) is not None
    return (*compilers, *zig), program if found else "", "" if found else f"Debian: {package}"


def _runner(triple: str) -> tuple[str, str]:
    """(programs that execute a target's programs here, package to install if there is none)."""
    if is_native_triple(triple):
        return "this machine", ""
    system = system_of(triple)
    if system is WASM:
        found = [name for name in ("node", "wasmtime") if shutil.which(name)]
        if "wasmtime" not in found and importlib.util.find_spec("wasmtime") is not None:
            found.append("wasmtime")
        return ", ".join(found), "Debian: nodejs, or pip install wasmtime"
    if system is WINDOWS:
        return ("wine", "") if shutil.which("wine") else ("", "Debian: wine")
    if system is MACOS:
        return "", ""
    machine = triple.split("-")[0]
    if machine == platform.machine() and sys.platform == "linux":
        return ("this machine, statically linked", "") if "musl" in triple else ("", "")
    program, package = _DEBIAN[machine]
    if not shutil.which(program):
        return "", f"Debian: {package}"
    is_musl = "musl" in triple
    root = Path(f"/usr/{machine}-linux-gnu/lib")
    return f"{program}{'' if root.is_dir() and not is_musl else ', statically linked'}", ""


_ROWS: Final = {
    LINUX: ("`lib<name>.so`, `lib<name>.a`", "cc, clang, ld, ziglang"),
    WINDOWS: ("`<name>.dll`, `lib<name>.dll.a`, `lib<name>.a`", "lld-link, ziglang"),
    MACOS: ("`lib<name>.dylib`, `lib<name>.a`", "cc there, ziglang"),
    WASM: ("`<name>.wasm`, `<name>.mjs`, `<name>.d.mts`, `lib<name>.a`", "ziglang"),
}
EXECUTED: Final = {
    "x86_64-linux-gnu": "all tests; levels under qemu-user's Nehalem and Haswell",
    "x86_64-linux-musl": "no: linked, read (`pytest --all` runs it statically linked)",
    "aarch64-linux-gnu": "qemu-user",
    "aarch64-linux-musl": "no: linked, read (`pytest --all`: qemu-user, statically linked)",
    "riscv64-linux-gnu": "qemu-user",
    "riscv64-linux-musl": "no: linked, read (`pytest --all`: qemu-user, statically linked)",
    "x86_64-windows-gnu": "wine: C programs, and CPython with the wheel",
    "x86_64-macos": "no: load commands and symbols are read",
    "arm64-macos": "no: load commands and symbols are read",
    "wasm32-wasi": "node, wasmtime, chromium",
    "thumbv7em-none-eabihf": "qemu-system-arm, a Cortex-M4",
    "thumbv6m-none-eabi": "no: symbols are read",
    "riscv32-unknown-elf": "`pytest --all`: qemu-system-riscv32",
    "riscv64-unknown-elf": "no: symbols are read",
    "aarch64-none-elf": "no: symbols are read",
}
"""Target → what executes its libraries in aotensor's tests, which compare this table with what they do."""


def table() -> str:
    """A Markdown table of the targets, for the documentation."""
    lines = ["| target | files | linked by | executed in the tests by |", "|---|---|---|---|"]
    for triple in (*TARGETS, *BARE):
        if triple in BARE:
            compiler = next(x[0] for start, x in _BOARDS.items() if triple.startswith(start))
            files, linkers = "`lib<name>.a`, `--freestanding`", f"the program's: {compiler}, clang, ziglang"
        else:
            files, linkers = _ROWS[system_of(canonical(triple))]
        if "linux" in triple and triple != "x86_64-linux-gnu":
            linkers = "a cross gcc, clang, ziglang"
        lines.append(f"| `{triple}` | {files} | {linkers} | {EXECUTED[triple]} |")
    return "\n".join(lines) + "\n"
