"""float16 and bfloat16 at the borders of a library: calls, bound calls, state, strides, C, and without ml_dtypes."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import UnsupportedError
from aotensor_runtime import Library
from aotensor_runtime.arrays.layout import DTYPES
from aotensor_runtime.errors import ArgumentTypeError
from aotensor_runtime.vectors import unpack

X = np.array([0.5, -2.0, 6e-8, 65504.0], "float16")
Y = np.array([1.5, 3e38, -0.0, 3.0], ml_dtypes.bfloat16)
CLIENT = r"""
#include "halved.h"
#include <stdio.h>
int main(void) {
  const uint16_t x[4] = {0x3800, 0xc000, 0x0001, 0x7bff}, y[4] = {0x3fc0, 0x7f62, 0x8000, 0x4040};
  uint16_t twice[4], root[4];
  if (halved(4, x, y, twice, root, NULL)) return 1;
  for (int k = 0; k < 4; k++) printf("%04x %04x ", twice[k], root[k]);
  return 0;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("halved")
    x, y = at.vector("x", dtype="float16", shape=("n",)), at.vector("y", dtype="bfloat16", shape=("n",))
    held = at.shared(np.array([1.0, 2.0], "float16"), name="held")
    functions = [
        aot.function([x, y], {"twice": x + x, "root": at.sqrt(y)}, name="halved"),
        aot.function([x], held * x[:2], updates=[(held, held + x[:2])], name="kept"),
    ]
    aot.compile(functions, path, name="halved")
    return path


@pytest.fixture(scope="module")
def library(folder: Path) -> Library:
    return aot.load(folder / "libhalved.so")


def test_calls(library: Library) -> None:
    """Arrays, strided and bound ones, and numbers that fit; no float goes to a half by itself."""
    with np.errstate(over="ignore"):
        expected = X + X, np.sqrt(Y.astype(np.float32)).astype(Y.dtype)
    call = library.functions["halved"]
    twice, root = np.empty_like(X), np.empty_like(Y)
    bound = call.bind(x=X, y=Y, twice=twice, root=root)
    bound()
    apart = np.repeat(X, 2)[::2], np.repeat(Y[::-1], 3)[::-3]
    for found in (call(X, Y), call(*apart), {"twice": twice, "root": root}):
        assert (found["twice"].dtype, found["root"].dtype) == (X.dtype, Y.dtype)
        assert (found["twice"].tobytes(), found["root"].tobytes()) == tuple(x.tobytes() for x in expected)
    assert call([0.5], [4])["root"].tolist() == [2.0]
    for x, y in ((X.astype("float32"), Y), (X, X), (Y, Y), ([0.1], [1.0]), (X, [1e39] * 4)):
        with pytest.raises(ArgumentTypeError):
            call(x, y)


def test_state(library: Library) -> None:
    assert library.kept.state["held"].dtype == np.float16
    assert library.kept(X).tolist() == [0.5, -4.0]
    assert library.kept.state["held"].tolist() == [1.5, 0.0]


@pytest.mark.shows("tensor/0-half-gradients")
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_derivatives(dtype: type) -> None:
    """Each op computes in float32 and rounds once; a matrix product among them, to second order in both modes."""
    x, W = at.vector("x", dtype=np.dtype(dtype).name), at.matrix("W", dtype=np.dtype(dtype).name)
    cost = at.tanh(at.dot(W, x)).sum()
    gradient = aot.grad(cost, [x, W])
    curvature = aot.gradient.Rop(gradient[0], x, x)
    point = np.array([0.5, -0.25, 1.0]), np.linspace(-0.5, 0.5, 6).reshape(2, 3)
    found = aot.function([x, W], [*gradient, curvature], name="derivatives")(*(v.astype(dtype) for v in point))
    v, w = (v.astype(dtype).astype(float) for v in point)
    y = np.tanh(w @ v)
    slope, bend = 1 - y**2, -2 * y * (1 - y**2) * (w @ v)
    assert [g.dtype for g in found] == [np.dtype(dtype)] * 3
    for got, wanted in zip(found, (w.T @ slope, np.outer(slope, v), w.T @ bend), strict=True):
        np.testing.assert_allclose(got.astype(float), wanted, atol=8 * float(ml_dtypes.finfo(dtype).eps))


def test_c(folder: Path) -> None:
    header = (folder / "halved.h").read_text()
    assert "const uint16_t *x" in header and "AOTENSOR_BFLOAT16" in header
    (folder / "client.c").write_text(CLIENT)
    command = ["cc", "-std=c99", "-Wall", "-Werror", "client.c", "libhalved.so", "-Wl,-rpath,$ORIGIN", "-o", "client"]
    subprocess.run(command, cwd=folder, check=True)
    words = subprocess.run([folder / "client"], check=True, capture_output=True, text=True).stdout.split()
    assert words[::2] == ["3c00", "c400", "0002", "7c00"]
    assert words[1:3:2] == ["3f9d"] and words[5::2] == ["8000", "3fde"]


def test_the_typed_entry(library: Library) -> None:
    pointer = library.functions["halved"].pointer
    assert pointer.argtypes[1] is ctypes.POINTER(ctypes.c_uint16)


def test_without_ml_dtypes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both the compiler and the runtime say what is missing; float16 needs nothing."""
    program = (
        "import sys; sys.modules['ml_dtypes'] = None\n"
        "import aotensor.tensor as at; at.vector('x', dtype='float16'); at.vector('x', dtype='bfloat16')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "bfloat16 needs the package ml_dtypes" in done.stderr and "aotensor[half]" in done.stderr
    assert UnsupportedError.__name__ in done.stderr
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    monkeypatch.delitem(DTYPES, "bfloat16", raising=False)
    with pytest.raises(ArgumentTypeError, match="bfloat16 need the package ml_dtypes"):
        aot.load(folder / "libhalved.so").halved(X, X)
    with pytest.raises(ArgumentTypeError, match="bfloat16 need the package ml_dtypes"):
        unpack(b'[["f",[["bfloat16",[0]]],[],[]]]\n')


def test_sums_of_squares_and_means_do_not_overflow_on_the_way(tmp_path: Path) -> None:
    """Squares of 300 and sums of 9000 are beyond float16, the results are not: NumPy says in float64 what they are."""
    rng = np.random.default_rng(3)
    rows = (200 * rng.normal(size=(3, 40)) + 300).astype("float16")
    image = (9000 * (1.5 + 0.1 * rng.normal(size=(1, 1, 6, 6)))).astype("float16")
    weights = rng.uniform(size=40).astype("float16")
    x, z = at.matrix(dtype="float16"), at.tensor(dtype="float16", shape=(1, 1, 6, 6))
    w = at.vector(dtype="float16")
    large = x * at.constant(50.0, dtype="float16")
    outputs = [
        at.var(x, axis=1), at.std(x, axis=1), at.linalg.norm(x, axis=1), at.avg_pool2d(z, 3), at.corrcoef(x),
        at.average(large, axis=1, weights=w), aot.grad(at.linalg.norm(x), x),
    ]  # fmt: skip
    f = aot.function([x, z, w], outputs, name="summed")
    wide, fiftyfold = rows.astype(float), (rows * np.float16(50)).astype(float)
    wanted = [
        wide.var(axis=1), wide.std(axis=1), np.linalg.norm(wide, axis=1),
        image.astype(float).reshape(1, 1, 2, 3, 2, 3).mean(axis=(3, 5)), np.corrcoef(wide),
        np.average(fiftyfold, axis=1, weights=weights.astype(float)), wide / np.linalg.norm(wide),
    ]  # fmt: skip
    for call in (f.reference, aot.compile(f, tmp_path, name="summed", opt_level=0).load().summed):
        for found, exact in zip(call(rows, image, weights), wanted, strict=True):
            assert found.dtype == np.float16
            np.testing.assert_allclose(found.astype(float), exact, rtol=2e-3, atol=1e-4)
