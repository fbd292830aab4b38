"""The example for a microcontroller, in an emulator of a whole board: its gradient is the reference's."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import embedded_models
import foreign
import numpy as np
import pytest

import aotensor as aot
from aotensor_cli.model import load_model

pytestmark = pytest.mark.needs("zig", "qemu-system")

_EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "embedded"
_X: Final = [[1, 2, -1], [1, 0.5, 3], [1, -1, 0.25], [1, 0, -2], [1, 3, 0.5], [1, -2, 1.5], [1, 1, 1], [1, -0.5, -3]]


def test_a_gradient_on_a_cortex_m4(tmp_path: Path) -> None:
    make = foreign.tool("make", "make")
    compiler = f"{shlex.quote(sys.executable)} -m ziglang cc -target thumb-freestanding-eabihf -mcpu=cortex_m4"
    command = [
        make, "--no-print-directory", "-s", "-C", str(_EXAMPLE), f"BUILD={tmp_path}", f"ARM_CC={compiler}",
        f"AOTENSOR={shlex.quote(sys.executable)} -m aotensor_cli", "run",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    found = re.search(r"loss (\S+)\ngrad (\S+) (\S+) (\S+)\nstack kept\n", done.stderr)
    assert done.returncode == 0 and found is not None, done.stdout + done.stderr
    (logistic,) = load_model(str(_EXAMPLE / "model.py")).functions
    assert isinstance(logistic, aot.Function)
    y, w = [1, -1, -1, 1, 1, -1, 1, -1], [0.1, 0.4, -0.3]
    expected = logistic.reference(*(np.array(x, "float32") for x in (_X, y, w)))
    loss, *grad = map(float, found.groups())
    np.testing.assert_allclose(loss, expected["loss"], atol=1e-6)
    np.testing.assert_allclose(grad, expected["grad"], atol=1e-6)


_DUMP: Final = (
    """
#include "model.h"
static void say(const char *text);
"""
    + embedded_models.CALLS
    + """
static void dump(const void *data, unsigned bytes) {
  char pair[3] = {0};
  for (unsigned k = 0; k < bytes; k++) {
    unsigned byte = ((const unsigned char *)data)[k];
    pair[0] = "0123456789abcdef"[byte >> 4], pair[1] = "0123456789abcdef"[byte & 15], say(pair);
  }
  say(" ");
}
#define main program
int main(void) {
  fill();
  int status = call_all(workspace);
  dump(&loss, sizeof loss), dump(grad_w, sizeof grad_w), dump(C, sizeof C), dump(s, sizeof s);
  dump(&l2, sizeof l2), dump(g1, sizeof g1), dump(g2, sizeof g2);
  return status;
}
#undef main
"""
)


@dataclass(frozen=True)
class _Board:
    """triple, cpu, features: for aotensor. zig: the same for its compiler. start: C that begins, and says.

    memory: a linker script
    """

    triple: str
    cpu: str
    features: str
    zig: tuple[str, ...]
    emulator: tuple[str, ...]
    start: str
    memory: str


def _cortex_m4() -> _Board:
    """That of the example, with more memory."""
    example = (_EXAMPLE / "main.c").read_text()
    say = example[example.index("/* Semihosting") : example.index("/* A number with")]
    begin = example[example.index("/* What a processor") :].replace("= main()", "= program()")
    begin = re.sub(r"  uint32_t used.*?\n  say\(used.*?\n", "", begin, flags=re.DOTALL)
    memory = re.sub(r"LENGTH = \d+K", "LENGTH = 1M", (_EXAMPLE / "mps2.ld").read_text())
    zig = "-target", "thumb-freestanding-eabihf", "-mcpu=cortex_m4", "-Wl,--entry=reset"
    emulator = "qemu-system-arm", "-M", "mps2-an386"
    return _Board("thumbv7em-none-eabihf", "cortex-m4", "", zig, emulator, say + begin, memory)


def _riscv32() -> _Board:
    start = """
static void ask(int operation, const void *argument) {
  register int a0 __asm__("a0") = operation;
  register const void *a1 __asm__("a1") = argument;
  __asm__ volatile(".option push; .option norvc; .balign 16; slli x0, x0, 31; ebreak; srai x0, x0, 7; .option pop"
                   : "+r"(a0) : "r"(a1) : "memory");
}
static void say(const char *text) { ask(0x04, text); }
__attribute__((used)) static void begin(void) { ask(0x18, (const void *)(program() ? 0x20023 : 0x20026)); }
__attribute__((naked, section(".vectors"))) void reset(void) { __asm__ volatile("la sp, stack_top; j begin"); }
"""
    memory = """
ENTRY(reset)
SECTIONS {
  . = 0x80000000;
  .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) *(.aotensor.manifest) }
  .data : { *(.data*) *(.sdata*) }
  .bss : { *(.bss*) *(.sbss*) *(COMMON) }
  . = ALIGN(16) + 64K;
  stack_top = .;
  /DISCARD/ : { *(.eh_frame*) }
}
"""
    zig = "-target", "riscv32-freestanding", "-mcpu=generic_rv32+m+a+c", "-mabi=ilp32", "-Wl,--entry=reset"
    emulator = "qemu-system-riscv32", "-M", "virt", "-bios", "none"
    return _Board("riscv32-unknown-elf", "generic-rv32", "+m,+a,+c", zig, emulator, start, memory)


@pytest.mark.parametrize("made", [_cortex_m4, _riscv32])
def test_numbers_have_the_bits_of_this_machine(made: Callable[[], _Board], tmp_path: Path) -> None:
    """Sparse structs, float64 by the compiler's runtime, products: all models of the embedded libraries, strict."""
    board = made()
    if shutil.which(board.emulator[0]) is None:
        pytest.skip(f"no {board.emulator[0]}")
    say_here = "#include <stdio.h>\nstatic void say(const char *text) { fputs(text, stderr); }\n"
    (tmp_path / "board.ld").write_text(board.memory)
    for name, target, cpu, features, program in (
        ("here", None, "generic", None, _DUMP + say_here + "int main(void) { return program(); }\n"),
        ("board", board.triple, board.cpu, board.features or None, _DUMP + board.start),
    ):
        aot.compile(
            embedded_models.functions(), tmp_path / name, name="model", target=target, cpu=cpu, features=features,
            fp="strict", freestanding=True, emit="static", opt_size=True,
        )  # fmt: skip
        (tmp_path / name / "main.c").write_text(program)
    flags = ["-std=gnu11", "-O1", "main.c", "libmodel.a", "-o", "program.elf"]
    script = ["-ffreestanding", "-T", str(tmp_path / "board.ld")]
    subprocess.run(["gcc", *flags], cwd=tmp_path / "here", check=True)
    subprocess.run(
        [sys.executable, "-m", "ziglang", "cc", *board.zig, *script, *flags], cwd=tmp_path / "board", check=True
    )
    emulator = [*board.emulator, "-nographic", "-semihosting", "-kernel", "program.elf"]
    found = [
        subprocess.run(command, cwd=tmp_path / name, check=True, capture_output=True, text=True, timeout=60).stderr
        for name, command in (("here", ["./program.elf"]), ("board", emulator))
    ]
    assert len(found[0]) > 1000 and found[0] == found[1]
