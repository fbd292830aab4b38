"""The example for a microcontroller, in an emulator of a whole board: its gradient is the reference's."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import embedded_models
import numpy as np
import pytest

import aotensor as aot
from aotensor_cli.model import load_model

_EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "embedded"
_X: Final = [[1, 2, -1], [1, 0.5, 3], [1, -1, 0.25], [1, 0, -2], [1, 3, 0.5], [1, -2, 1.5], [1, 1, 1], [1, -0.5, -3]]


@pytest.fixture(autouse=True)
def _tools() -> None:
    for tool in ("qemu-system-arm", "make"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}")
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("no ziglang (pip install 'aotensor[cross]')")


def test_a_gradient_on_a_cortex_m4(tmp_path: Path) -> None:
    compiler = f"{sys.executable} -m ziglang cc -target thumb-freestanding-eabihf -mcpu=cortex_m4"
    command = [
        "make", "--no-print-directory", "-s", "-C", str(_EXAMPLE), f"BUILD={tmp_path}", f"ARM_CC={compiler}",
        f"AOTENSOR={sys.executable} -m aotensor_cli", "run",
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


@pytest.mark.again
def test_numbers_have_the_bits_of_this_machine(tmp_path: Path) -> None:
    """Sparse structs, float64 by the compiler's runtime, products: all models of the embedded libraries, strict."""
    example, board = (_EXAMPLE / "main.c").read_text(), (_EXAMPLE / "mps2.ld").read_text()
    start = example[example.index("/* Semihosting") : example.index("/* A number with")]
    begin = example[example.index("/* What a processor") :].replace("= main()", "= program()")
    begin = re.sub(r"  uint32_t used.*?\n  say\(used.*?\n", "", begin, flags=re.DOTALL)
    programs = {
        "here": _DUMP + "#include <stdio.h>\nstatic void say(const char *text) { fputs(text, stderr); }\n"
        "int main(void) { return program(); }\n",
        "board": _DUMP + start + begin,
    }
    (tmp_path / "board.ld").write_text(re.sub(r"LENGTH = \d+K", "LENGTH = 1M", board))
    for name, target, cpu in (("here", None, "generic"), ("board", "thumbv7em-none-eabihf", "cortex-m4")):
        folder = tmp_path / name
        aot.compile(
            embedded_models.functions(), folder, name="model", target=target, cpu=cpu, fp="strict", freestanding=True,
            emit="static", opt_size=True,
        )  # fmt: skip
        (folder / "main.c").write_text(programs[name])
    flags = ["-std=gnu11", "-O1", "main.c", "libmodel.a", "-o", "program.elf"]
    board_compiler = [
        "-m",
        "ziglang",
        "cc",
        "-target",
        "thumb-freestanding-eabihf",
        "-mcpu=cortex_m4",
        "-ffreestanding",
    ]
    script = ["-T", str(tmp_path / "board.ld"), "-Wl,--entry=reset"]
    subprocess.run(["gcc", *flags], cwd=tmp_path / "here", check=True)
    subprocess.run([sys.executable, *board_compiler, *script, *flags], cwd=tmp_path / "board", check=True)
    emulator = ["qemu-system-arm", "-M", "mps2-an386", "-nographic", "-semihosting", "-kernel", "program.elf"]
    found = [
        subprocess.run(command, cwd=tmp_path / name, check=True, capture_output=True, text=True, timeout=100).stderr
        for name, command in (("here", ["./program.elf"]), ("board", emulator))
    ]
    assert len(found[0]) > 1000 and found[0] == found[1]
