"""One model and one C program for every target: what it prints is what this machine's library gives, bit by bit or not.

The program prints each result as bytes, so that nothing is lost on the way, and a message with numbers in it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import scipy.sparse as ss

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor_runtime import Library

N, ROWS, INNER, COLUMNS, FIRST = 203, 17, 19, 23, 3

DRIVER: Final = f"""
#include "model.h"
#include <stdlib.h>
#include <string.h>
int puts(const char *text);
int putchar(int character);
enum {{ N = {N}, R = {ROWS}, M = {INNER}, K = {COLUMNS}, FIRST = {FIRST} }};
static void say(const char *text) {{
  while (*text) putchar(*text++);
}}
static void dump(const char *name, const void *data, size_t bytes) {{
  say(name), putchar(' ');
  for (size_t k = 0; k < bytes; k++) {{
    unsigned byte = ((const unsigned char *)data)[k];
    putchar("0123456789abcdef"[byte >> 4]), putchar("0123456789abcdef"[byte & 15]);
  }}
  putchar('\\n');
}}
static void *allocate(void *user, int32_t output, int64_t bytes, const int64_t *shape) {{
  (void)user, (void)output, (void)shape;
  return malloc((size_t)bytes);
}}
int main(void) {{
  static double x[N], grad[N], a[R * M], b[M * K], c[R * K], v[N], u[N];
  static float h[N];
  static uint16_t p[N], q[N], half[N], brain[N];
  static int32_t indices[N], indptr[N + 1];
  double y;
  int64_t first = FIRST, shape_a[2] = {{R, M}}, shape_b[2] = {{M, K}}, shape_c[2] = {{R, K}}, shape_o[1];
  int64_t turned[2] = {{1, R}};
  char message[200];
  for (int k = 0; k < N; k++) x[k] = (k * 37 % 101) / 33.0 - 1.5, h[k] = (float)x[k], v[k] = k / 7.0;
  for (int k = 0; k < N; k++) indices[k] = k * 5 % N, indptr[k + 1] = k + 1;
  for (int k = 0; k < N; k++) p[k] = (uint16_t)(k * 311 % 0x7c00 | (k & 1) << 15);
  for (int k = 0; k < N; k++) q[k] = (uint16_t)(k * 321 % 0x7f80 | (k & 1) << 15);
  for (int k = 0; k < R * M; k++) a[k] = (k * 31 % 97) / 65.0 - 0.75;
  for (int k = 0; k < M * K; k++) b[k] = (k * 29 % 89) / 63.0 - 0.75;
  aotensor_context context;
  memset(&context, 0, sizeof context);
  context.struct_size = sizeof context, context.allocate = allocate;
  context.message = message, context.message_size = sizeof message;

  if (gradient(N, x, &y, grad, NULL)) return 1;
  dump("loss", &y, sizeof y), dump("grad", grad, sizeof grad);
  aotensor_array in[2] = {{{{a, shape_a, turned, 2, AOTENSOR_FLOAT64}}, {{b, shape_b, NULL, 2, AOTENSOR_FLOAT64}}}};
  aotensor_array out = {{c, shape_c, NULL, 2, AOTENSOR_FLOAT64}};
  if (product_call(&context, in, &out)) return puts(message), 2;
  dump("product", c, sizeof c);
  aotensor_array picked = {{NULL, shape_o, NULL, 1, AOTENSOR_FLOAT32}};
  if (pick(&context, N, h, &first, &picked, NULL) || shape_o[0] != N - FIRST) return puts(message), 3;
  dump("picked", picked.data, (size_t)(N - FIRST) * sizeof(float));
  aotensor_sparse s = {{x, indices, indptr, N, {{N, N}}, AOTENSOR_FLOAT64, AOTENSOR_INT32}};
  if (spread(N, N, &s, v, u, NULL)) return 4;
  dump("spread", u, sizeof u);
  if (halves(N, p, q, half, brain, NULL)) return 6;
  dump("half", half, sizeof half), dump("brain", brain, sizeof brain);
  in[1].shape = shape_a;
  if (product_call(&context, in, &out) != AOTENSOR_WRONG_EXTENT) return 5;
  say("message "), puts(message);
  say("version "), putchar('0' + (int)aotensor_abi_version()), putchar('\\n');
  return 0;
}}
"""


def functions() -> list[aot.Function]:
    """Sums, elementary functions, derivatives, a product, an output whose size is a value, a sparse matrix, halves."""
    x, v = (at.vector(name, dtype="float64", shape=("n",)) for name in "xv")
    h = at.vector("h", dtype="float32", shape=("n",))
    A, B = at.matrix("A", dtype="float64", shape=("m", "k")), at.matrix("B", dtype="float64", shape=("k", "p"))
    S, first = sp.csr_matrix("S", dtype="float64", shape=("m", "n")), at.scalar("first", dtype="int64")
    p, q = at.vector("p", dtype="float16", shape=("n",)), at.vector("q", dtype="bfloat16", shape=("n",))
    half, brain = at.cast(p.astype("float64") / 3, "float16") + p * p, at.sqrt(abs(q)) * q
    loss = at.exp(x).sum() + at.log1p(x * x).mean()
    return [
        aot.function([x], {"loss": loss, "grad": aot.grad(loss, x)}, name="gradient"),
        aot.function([A, B], at.tanh(A @ B), name="product"),
        aot.function([h, first], at.sin(h)[first:], name="pick"),
        aot.function([S, v], S @ v, name="spread"),
        aot.function([p, q], {"half": half, "brain": brain}, name="halves"),
    ]


def arguments() -> Mapping[str, Sequence[Any]]:
    """What the program calls each function with."""
    k = np.arange(N)
    x = (k * 37 % 101) / 33.0 - 1.5
    a = ((np.arange(ROWS * INNER) * 31 % 97) / 65.0 - 0.75).reshape(INNER, ROWS).T
    b = ((np.arange(INNER * COLUMNS) * 29 % 89) / 63.0 - 0.75).reshape(INNER, COLUMNS)
    S = ss.csr_matrix((x, (k * 5 % N).astype(np.int32), np.arange(N + 1, dtype=np.int32)), shape=(N, N))
    p, q = ((k * step % limit | (k & 1) << 15).astype(np.uint16) for step, limit in ((311, 0x7C00), (321, 0x7F80)))
    return {
        "gradient": [x], "product": [a, b], "pick": [x.astype(np.float32), FIRST], "spread": [S, k / 7.0],
        "halves": [p.view("float16"), q.view("bfloat16")],
    }  # fmt: skip


def expected(library: Library) -> dict[str, Any]:
    """What the program prints, by a library of this machine."""
    given = arguments()
    both, halves = library.gradient(*given["gradient"]), library.halves(*given["halves"])
    others = {"product": "product", "picked": "pick", "spread": "spread"}
    return {
        "loss": both["loss"], "grad": both["grad"], "half": halves["half"], "brain": halves["brain"],
        **{name: library[function](*given[function]) for name, function in others.items()},
    }  # fmt: skip


def read(output: str) -> dict[str, Any]:
    """The lines of the program: arrays, and the rest as text."""
    lines = dict(line.rstrip("\r").split(" ", 1) for line in output.splitlines() if line)
    dtypes = {"picked": "float32", "half": "float16", "brain": "bfloat16"}
    arrays = ("loss", "grad", "product", "picked", "spread", "half", "brain")
    return {
        name: np.frombuffer(bytes.fromhex(text), dtypes.get(name, np.float64)) if name in arrays else text
        for name, text in lines.items()
    }


def compare(output: str, library: Library, is_strict: bool) -> None:
    """Assert that a program printed this machine's numbers: the same bits, or within the policy of `contract`."""
    found = read(output)
    for name, value in expected(library).items():
        wanted = np.ravel(value)
        if is_strict:
            assert found[name].tobytes() == wanted.tobytes(), name
        else:
            tolerance = {"float64": 1e-14, "float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}[wanted.dtype.name]
            np.testing.assert_allclose(
                found[name].astype(float), wanted.astype(float), rtol=tolerance, atol=tolerance, err_msg=name
            )
    assert found["message"] == f"product: dim k of B is {ROWS}, but A has k = {INNER}", found["message"]
    assert found["version"] == "2"


Made: TypeAlias = Callable[..., Path]
"""Gives the folder with the libraries for a target."""
ZIG: Final = (sys.executable, "-m", "ziglang")
FLAGS: Final = (
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-O2",
    "-s",
)  # zig compiles a C library for each way to be asked


def compiled(target: str, folder: Path, *sources: str, flags: Sequence[str] = (), name: str = "driver") -> Path:
    """The program for a target, by zig cc."""
    (folder / "driver.c").write_text(DRIVER)
    run([*ZIG, "cc", "-target", target, *FLAGS, "driver.c", *sources, "-o", name, *flags], folder)
    return folder / name


def run(command: Sequence[object], folder: Path, status: int = 0, **more: Any) -> str:
    """What a program prints."""
    done = subprocess.run(
        [*map(str, command)], cwd=folder, capture_output=True, text=True, check=False, timeout=300, **more
    )
    assert done.returncode == status, f"{command}\nstatus {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def tool(name: str, package: str) -> str:
    """The path of a program; skips the test where there is none."""
    import pytest

    path = shutil.which(name)
    if path is None:
        pytest.skip(f"no {name} on the path (Debian: {package})")
    return path


def c_library(triple: str) -> Path:
    """The folder with the C library that programs for a target load under qemu; skips the test where there is none."""
    import pytest

    root = Path("/usr", triple)
    if not root.is_dir():
        package = {"aarch64": "libc6-arm64-cross", "riscv64": "libc6-riscv64-cross"}[triple.partition("-")[0]]
        pytest.skip(f"no C library for {triple} (Debian: {package})")
    return root
