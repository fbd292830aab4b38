"""Libraries that allocate nothing: shown by an allocator that counts; what needs memory is refused with its name."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

import embedded_models
import numpy as np
import pytest
import scipy.sparse as ss

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphValueError, UnsupportedError
from aotensor_cli.main import run
from aotensor_runtime import Library
from aotensor_runtime.errors import OutOfMemory

_COUNTING: Final = (
    """
#include <stdio.h>
#include "model.h"
static _Alignas(64) char arena[1 << 22];
static size_t used;
static int allocations;
static void *take(size_t bytes) {
  allocations++;
  void *start = arena + used;
  used += (bytes + 63) / 64 * 64;
  return start;
}
void *malloc(size_t bytes) { return take(bytes); }
void *calloc(size_t count, size_t bytes) { return take(count * bytes); }
void *realloc(void *old, size_t bytes) { (void)old; return take(bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { (void)alignment; return take(bytes); }
int posix_memalign(void **result, size_t alignment, size_t bytes) { (void)alignment; return !(*result = take(bytes)); }
void free(void *memory) { (void)memory; }
"""
    + embedded_models.CALLS
    + """
int main(void) {
  char message[200];
  aotensor_context context = {sizeof context};
  context.message = message, context.message_size = sizeof message;
  fill();
  int before = allocations, without = call_all(NULL), status = call_all(MEMORY);
  int64_t shape[2] = {N, P}, strides[2] = {1, N}, extents[1] = {P};
  aotensor_array in[3] = {{X, shape, strides, 2, AOTENSOR_FLOAT64}, {y, shape, NULL, 1, AOTENSOR_FLOAT64},
                          {w, extents, NULL, 1, AOTENSOR_FLOAT64}};
  aotensor_array out[2] = {{&loss, NULL, NULL, 0, AOTENSOR_FLOAT64}, {grad_w, extents, NULL, 1, AOTENSOR_FLOAT64}};
  context.workspace = workspace, context.workspace_bytes = sizeof workspace;
  int strided = logistic_call(&context, in, out);
  int made = allocations - before;
  printf("%d %d %d %d %s\\n", made, without, status, strided, strided ? message : "");
  return 0;
}
"""
)


@pytest.fixture(scope="module")
def library(still: Path) -> Library:
    return aot.load(still / "libmodel.so")


def _run(folder: Path, memory: str) -> str:
    (folder / "main.c").write_text(_COUNTING)
    flags = ("-O1", "-std=c11", f"-DMEMORY={memory}", "-fno-builtin-malloc", "-o", "main")
    build = ["gcc", *flags, "main.c", "libmodel.a", "-lm", "-lpthread"]
    subprocess.run(build, cwd=folder, check=True)
    return subprocess.run(["./main"], cwd=folder, check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.mark.unlimited("the one test with an allocator of its own", "ci")
def test_calls_never_ask_an_interposed_allocator(still: Path) -> None:
    refused = "logistic: X is not row-major, and the library allocates no memory for a copy"
    assert _run(still, "workspace") == f"0 8 0 8 {refused}\n"


def test_the_allocator_sees_those_of_usual_libraries(tmp_path: Path) -> None:
    aot.compile(embedded_models.functions(), tmp_path, name="model", emit="static", opt_level=0)
    made, *others = _run(tmp_path, "NULL").split()
    assert int(made) >= 5 and others == ["0", "0", "0"]


def test_python_brings_the_workspace(library: Library) -> None:
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(33, 7)), np.sign(rng.normal(size=33)), rng.normal(size=7)
    expected = embedded_models.functions()[0].reference(X, y, w)
    bound = library.logistic.bind(X=X, y=y, w=w)
    for found in (library.logistic(X, y, w), library.logistic(np.asfortranarray(X), y, w), bound()):
        np.testing.assert_allclose(found["grad_w"], expected["grad_w"], rtol=1e-13)
        np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-13)


def test_products_read_their_operands_where_they_lie(library: Library) -> None:
    rng = np.random.default_rng(1)
    for shape in ((0, 3), (1, 1), (300, 70), (70, 300)):
        A, B = rng.normal(size=shape), rng.normal(size=shape)
        np.testing.assert_allclose(library.product(A, B), A.T @ B, rtol=1e-12, atol=1e-12)


def test_sparse_inputs_must_be_sorted(library: Library) -> None:
    S = ss.random(40, 7, 0.3, format="csr", random_state=0)
    w = np.arange(7.0)
    np.testing.assert_allclose(library.spmv(S, w), S @ w, rtol=1e-13)
    S.indices, S.has_sorted_indices = S.indices[::-1].copy(), False
    with pytest.raises(OutOfMemory, match="spmv: S has unsorted or double entries, and the library allocates no mem"):
        library.spmv(S, w)


def test_the_manifest_says_how_much_workspace_a_call_takes(library: Library) -> None:
    assert not library.manifest.allocates
    for name, dims in (("logistic", {"n": 33, "p": 7}), ("product", {"k": 9, "m": 8}), ("mlp", {"b": 50})):
        said = library.manifest.function(name).workspace
        found = eval(str(said), {"max": max, "min": min}, dict(dims))
        assert found == library.functions[name].workspace_bytes(**dims)


def test_sizes_that_depend_on_values_are_refused(tmp_path: Path) -> None:
    x = at.vector("x", shape=("n",))
    f = aot.function([x], at.exp(x[x > 0]).sum(), name="f")
    with pytest.raises(
        UnsupportedError, match=r"^f: .*.*x\[x > 0.0\]. at test_no_malloc.py:\d+ needs memory whose size"
    ):
        aot.compile(f, tmp_path / "out", malloc=False)
    assert not (tmp_path / "out").exists()


def test_levels_of_cpus_are_refused(tmp_path: Path) -> None:
    with pytest.raises(GraphValueError, match="code for several levels of CPUs allocates memory"):
        aot.compile(embedded_models.functions(), tmp_path, malloc=False, cpu="v2,v3", target="x86_64-linux-gnu")


def test_inspect_shows_the_bounds(still: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = aot.load(still / "libmodel.so").manifest.function("product")
    assert run(["inspect", str(still / "libmodel.so"), "--function", "product"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"workspace +0 bytes\n", shown) and re.search(rf"stack +{spec.stack} bytes at most\n", shown)


def test_a_workspace_without_a_formula_is_found_by_the_function(tmp_path: Path) -> None:
    """Windows of unknown extents with strides have floor divisions of what may be negative."""
    x, w = at.tensor("x", "float32", ("n", 4, "h", "w")), at.tensor("k", "float32", (8, 2, 3, 3))
    y = at.conv2d(x, w, groups=2, stride=2, padding=1)
    loss = at.sqr(y).sum()
    f = aot.function([x, w], {"y": y, "grad": aot.grad(loss, w)}, name="conv")
    library = aot.compile(f, tmp_path, malloc=False).load()
    assert library.conv.spec.workspace is None
    rng = np.random.default_rng(0)
    values = [rng.normal(size=shape).astype("float32") for shape in ((3, 4, 9, 6), (8, 2, 3, 3))]
    found, wanted = library.conv(*values), f(*values)
    for key in wanted:
        np.testing.assert_allclose(found[key], wanted[key], rtol=1e-4, atol=1e-4)
