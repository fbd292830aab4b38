"""Libraries for Linux on other machines: programs run under qemu-user, and give this machine's numbers."""

from __future__ import annotations

from collections.abc import Callable

import foreign
import pytest
from foreign import Made

from aotensor.codegen.targets.linkage import read_linkage
from aotensor.codegen.targets.support import EXECUTED
from aotensor_runtime import Library
from aotensor_runtime.container import Container
from aotensor_runtime.elf import MACHINES

pytestmark = pytest.mark.needs("zig")

MACHINE = {"aarch64": "AArch64", "riscv64": "RISC-V", "x86_64": "x86-64"}


@pytest.mark.parametrize("triple", ["aarch64-linux-gnu", "riscv64-linux-gnu"])
@pytest.mark.unlimited("emulators are the oracle", "ci")
def test_numbers(triple: str, made: Made, here: Callable[[str], Library]) -> None:
    """The same bits as here: `strict` gives them on every machine. Programs with the shared and the static library."""
    machine = triple.partition("-")[0]
    qemu, root = foreign.tool(f"qemu-{machine}", "qemu-user"), foreign.c_library(triple)
    assert EXECUTED[triple].startswith("qemu-user")
    for source in ("libmodel.so", "libmodel.a"):
        flags = ["-Wl,-rpath,$ORIGIN", "-lm", "-lpthread"]
        program = foreign.compiled(triple, made(triple, "strict"), source, flags=flags)
        foreign.compare(foreign.run([qemu, "-L", root, program], program.parent), here("strict"), is_strict=True)


@pytest.mark.parametrize(
    ("triple", "fp"),
    [
        ("aarch64-linux-gnu", "strict"),
        ("riscv64-linux-gnu", "strict"),
        ("aarch64-linux-musl", "contract"),
        ("x86_64-linux-musl", "contract"),
        ("riscv64-linux-musl", "contract"),
    ],
)
def test_files(triple: str, fp: str, made: Made) -> None:
    """Checksum and manifest fit, and nothing but the C library is needed."""
    container = Container((made(triple, fp) / "libmodel.so").read_bytes())
    container.check()
    assert MACHINES[container.image.machine] == MACHINE[triple.partition("-")[0]]
    assert container.manifest().target == triple
    linkage = read_linkage(container.image)
    libc = {"libc.so"} if "musl" in triple else {"libc.so.6", "libpthread.so.0", "libm.so.6"}
    assert set(linkage.needed) <= libc
    assert "gradient" in linkage.exported and len(linkage.exported) == 3 * 5 + 12


@pytest.mark.parametrize("triple", ["x86_64-linux-musl", "aarch64-linux-musl", "riscv64-linux-musl"])
def test_numbers_under_musl(triple: str, made: Made, here: Callable[[str], Library]) -> None:
    """Statically linked; zig compiles all of musl first, once for each machine."""
    machine = triple.partition("-")[0]
    qemu = foreign.tool(f"qemu-{machine}", "qemu-user")
    program = foreign.compiled(triple, made(triple), "libmodel.a", flags=["-static", "-lm"])
    foreign.compare(foreign.run([qemu, program], program.parent), here("contract"), is_strict=False)
