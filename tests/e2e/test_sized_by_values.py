"""Outputs whose extents depend on values, through every way into a library: Python, bound buffers, C."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from needs import path_of

import aotensor as aot
import aotensor.tensor as at
from aotensor_runtime.errors import ArgumentValueError
from aotensor_runtime.library import Library

X, MASK = np.arange(12.0).reshape(4, 3), np.array([True, False, True, True])

CLIENT = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "chosen.h"

static void *take(void *user, int32_t output, int64_t bytes, const int64_t *shape) {
  printf("output %d: %lld bytes, ", (int)output, (long long)bytes);
  printf("%lld x %lld\n", (long long)shape[0], (long long)shape[1]);
  return user ? malloc((size_t)bytes) : NULL;
}

static int row_major(aotensor_context *context, const double *x, const uint8_t *mask) {
  int64_t shape[2];
  aotensor_array rows;
  double total = -1;
  memset(&rows, 0, sizeof rows);
  rows.shape = shape;
  rows.rank = 2;
  int32_t status = chosen(context, 4, 3, x, mask, &rows, &total, NULL);
  printf("status %s, total %g\n", aotensor_status_message(status), total);
  if (status == 0)
    for (int64_t k = 0; k < shape[0] * shape[1]; k++) printf(" %g", ((double *)rows.data)[k]);
  printf("\n");
  free(rows.data);
  return (int)shape[0];
}

static void transposed(aotensor_context *context, const double *x, const uint8_t *mask) {
  const int64_t shape[2] = {3, 4}, strides[2] = {1, 3};
  int64_t found[2];
  aotensor_array inputs[2], outputs[2];
  double total;
  memset(inputs, 0, sizeof inputs);
  memset(outputs, 0, sizeof outputs);
  inputs[0].data = (void *)x, inputs[0].shape = shape, inputs[0].strides = strides, inputs[0].rank = 2;
  inputs[0].dtype = outputs[1].dtype = AOTENSOR_FLOAT64;
  inputs[1].data = (void *)mask, inputs[1].shape = shape, inputs[1].rank = 1, inputs[1].dtype = AOTENSOR_BOOL;
  outputs[0].shape = found, outputs[0].rank = 2;
  outputs[1].data = &total;
  int32_t status = chosen_call(context, inputs, outputs);
  printf("status %d, total %g, last %g\n", (int)status, total, ((double *)outputs[0].data)[found[0] * found[1] - 1]);
  free(outputs[0].data);
}

int main(void) {
  double x[12];
  const uint8_t mask[4] = {1, 0, 1, 1}, nowhere[4] = {0, 0, 0, 0};
  for (int k = 0; k < 12; k++) x[k] = k;
  aotensor_context context;
  memset(&context, 0, sizeof context);
  context.struct_size = sizeof context;
  context.allocate = take;
  context.user = x;
  row_major(&context, x, mask);
  row_major(&context, x, nowhere);
  transposed(&context, x, mask);
  context.allocate = NULL;
  printf("%d rows needed\n", row_major(&context, x, mask));
  return 0;
}
"""
SAYS = """\
output 0: 72 bytes, 3 x 3
status success, total 54
 0 1 2 6 7 8 9 10 11
status success, total 0

output 0: 64 bytes, 2 x 4
status 0, total 44, last 11
status an output has no data, and the context has no allocate, total -1

3 rows needed
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with a function that chooses rows."""
    x, mask = at.matrix("x", shape=("n", "p")), at.tensor("mask", dtype="bool", shape=("n",))
    f = aot.function([x, mask], {"rows": x[mask], "total": at.sum(x[mask])}, name="chosen")
    target = tmp_path_factory.mktemp("chosen")
    aot.compile([f], target)
    return target


@pytest.fixture(scope="module")
def library(folder: Path) -> Library:
    return aot.load(folder / "libchosen.so")


@pytest.mark.parametrize("mask", [MASK, ~MASK, MASK & False, MASK | True])
def test_a_call_gives_as_many_rows_as_there_are(library: Library, mask: np.ndarray) -> None:
    found = library.chosen(X, mask)
    np.testing.assert_array_equal(found["rows"], X[mask])
    assert found["rows"].shape == (mask.sum(), 3)
    assert found["total"] == X[mask].sum()
    np.testing.assert_array_equal(library.chosen(X.T[::-1].T, mask)["rows"], X[:, ::-1][mask])


def test_bound_buffers_hold_what_they_were_made_for(library: Library) -> None:
    x, mask = X.copy(), MASK.copy()
    bound = library.chosen.bind(x=x, mask=mask)
    np.testing.assert_array_equal(bound()["rows"], X[MASK])
    x[:], mask[:] = 10 * X, MASK[::-1]
    np.testing.assert_array_equal(bound()["rows"], 10 * X[MASK[::-1]])
    mask[:] = False
    with pytest.raises(ArgumentValueError, match="extent 0 of rows is 3, expected 0"):
        bound()


def test_what_is_zero_but_for_rounding_decides_alike_twice() -> None:
    """Extents are computed before and again with the elements: in other loops, but with the same rounding.

    The products are large enough for the BLAS of the caller, which sums in another order than we do.
    """
    x, y, v = at.dmatrix("x"), at.dmatrix("y"), at.dvector("v")
    product = at.dot(x, y)
    outputs = [product[product > 0], product, v[v >= v.mean()], at.sum(v * v)]
    f = aot.function([x, y, v], outputs, name="decided")
    for seed in range(3):
        left, right = np.random.default_rng(seed).normal(size=(2, 200, 100))
        chosen, whole, above, _ = f(np.hstack([left, -left]), np.vstack([right.T, right.T]), np.full(37 + seed, 0.1))
        assert np.abs(whole).max() < 1e-12
        np.testing.assert_array_equal(chosen, whole[whole > 0])
        assert above.size in (0, 37 + seed)


@pytest.mark.parametrize("count", [2**40, 2**56])
def test_a_buffer_inside_that_finds_no_memory_is_an_error(count: int) -> None:
    x, n = at.dscalar("x"), at.lscalar("n")
    f = aot.function([x, n], at.sum(at.sort(at.alloc(x, n, 8) * 1.5)), name="repeated")
    assert f(1.0, 2) == 24.0
    with pytest.raises(MemoryError, match="no memory for a buffer whose size depends on values"):
        f(1.0, count)
    assert f(1.0, 0) == 0.0


def test_a_c_program_gets_its_rows_from_the_allocator(folder: Path) -> None:
    cc = path_of("cc")
    source, program = folder / "client.c", folder / "client"
    source.write_text(CLIENT)
    command = [cc, "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{folder}", str(source), "-o", str(program)]
    command += [f"-L{folder}", "-lchosen", "-lm", "-Wl,-rpath,$ORIGIN"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ran = subprocess.run([str(program)], capture_output=True, text=True, env={}, timeout=60)
    assert (ran.returncode, ran.stdout) == (0, SAYS), ran.stderr


def test_a_buffer_as_large_as_an_output_that_a_branch_sizes(tmp_path: Path) -> None:
    """Its extents are read from the output, so no workspace that is planned from the inputs has a slot for it."""
    x, z = at.vector("x", shape=("n",)), at.matrix("z")
    y = at.log(2.0 + at.cos(x))
    w = aot.ifelse(y.sum() > 0.05, z, at.sin(y[:, None] * at.cos(y)[None, :]))
    library = aot.compile(aot.function([x, z], [y, w], name="f"), tmp_path).load()
    for values in (np.array([0.5, 1.0]), np.array([3.1, 3.2, 3.1])):
        found, chosen = library.f(values, X)
        expected = np.log(2.0 + np.cos(values))
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        outer = np.sin(expected[:, None] * np.cos(expected))
        np.testing.assert_allclose(chosen, X if expected.sum() > 0.05 else outer, rtol=1e-12, atol=1e-15)
