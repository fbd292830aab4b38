"""The checking build: what nobody wrote is nan, in outputs and in buffers, whatever was there before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from emit_harness import Compiled, parse

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.passes.checking.poison_buffers import poison_buffers

KERNEL = """
func.func @f.kernel(%x: memref<?xELEMENT>, %y: memref<?xELEMENT>, %z: memref<?xELEMENT>, %workspace: memref<?xi8>,
                    %detail: memref<4xi64>, %context: memref<1xi8>) -> i32 attributes {dims = [["n"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xELEMENT>
  scf.for %k = %c0 to %n step %c1 {
    %a = memref.alloc(%n) : memref<?xELEMENT>
    %v = memref.load %x[%k] : memref<?xELEMENT>
    memref.store %v, %a[%k] : memref<?xELEMENT>
    %w = memref.load %a[%c0] : memref<?xELEMENT>
    memref.store %w, %y[%k] : memref<?xELEMENT>
    memref.dealloc %a : memref<?xELEMENT>
  }
  %u = memref.load %x[%c0] : memref<?xELEMENT>
  memref.store %u, %z[%c0] : memref<?xELEMENT>
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}"""
"""y[k] is x[k] where k is 0, else an element of a buffer that nobody wrote; of z only the first element is written."""


@pytest.mark.parametrize(
    ("dtype", "element"),
    [("float64", "f64"), ("float32", "f32"), ("float16", "f16"), ("int64", "i64"), ("int8", "i8"), ("bool", "i1")],
)
def test_unwritten_elements(dtype: str, element: str) -> None:
    module = parse(KERNEL.replace("ELEMENT", element))
    poison_buffers(module, {"f": 2})
    module.verify()
    x, y, z = np.zeros(4, dtype), np.zeros(4, dtype), np.zeros(4, dtype)
    getattr(Compiled(module), "f.kernel")(x, y, z, np.zeros(8, "int8"), np.zeros(4, "int64"), np.zeros(1, "int8"))
    assert y[0] == 0 and z[0] == 0
    for found in (*y[1:], *z[1:]):
        if dtype.startswith("float"):
            assert np.isnan(found)
        else:
            assert found == {"int64": 0x7FF47FF47FF47FF4, "int8": 0xF4 - 256, "bool": True}[dtype]


def test_results(tmp_path: Path, rng: np.random.Generator) -> None:
    """Correct functions give the same values on filled memory, for all kinds of results."""
    x, b, h, i = (at.vector(name, dtype=t, shape=("n",)) for name, t in zip("xbhi", KINDS, strict=True))
    m, a = at.matrix("m", shape=("n", "k")), sp.csr_matrix("a", shape=("n", "k"))
    outputs = [at.cumsum(at.sort(x)), at.exp(m) @ m.T, a + a, ~b, x[b], h * 2, i + 1, at.argsort(i)]
    f = aot.function([x, m, a, b, h, i], outputs, name="f")
    library = aot.compile(f, tmp_path, check=True).load()
    for n in (0, 1, 5, 13):
        sparse = scipy.sparse.random(n, 4, 0.4, "csr", random_state=n)
        x_, h_ = rng.normal(size=n), rng.normal(size=n).astype("float16")
        given = [x_, rng.normal(size=(n, 4)), sparse, rng.random(n) < 0.5, h_, rng.integers(-5, 5, n).astype("int8")]
        for mine, exact in zip(library.f(*given), f.reference(*given), strict=True):
            pair = [y.toarray() if scipy.sparse.issparse(y) else y for y in (mine, exact)]
            np.testing.assert_allclose(*pair, rtol=1e-12)


KINDS = ("float64", "bool", "float16", "int8")
