"""Constant patterns as C programs see them: macros, arrays, and entries that write values only; against SciPy."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from needs import path_of

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor_runtime.container import Container
from aotensor_runtime.json_node import ManifestError
from aotensor_runtime.manifest import Manifest, SparseValue
from aotensor_runtime.typed.patterns import MOST_RECORDED, packed_pattern, recorded_pattern

ROWS = 1200
PROGRAM = """\
#include <stdio.h>
#include "bands.h"
#define SHOW(name, major, minor, values) for (int k = 0; k < (int)(sizeof(values) / sizeof(double)); k++) \\
  printf(name " %d %d %.17g\\n", (int)major[k], (int)minor[k], values[k]);
static double x[1201], j[PRE_BANDS_J_NNZ], t[PRE_BANDS_J__NNZ], y[1200], e[1];
int main(void) {
  for (int i = 0; i < 1201; i++) x[i] = 0.001 * i;
  if (pre_bands_values(x, j, t, e, y, NULL) || pre_wide_values(x, NULL, NULL) != AOTENSOR_NULL_POINTER) return 1;
  if (pre_bands_J_indptr[1200] != PRE_BANDS_J_NNZ || PRE_BANDS_EMPTY_NNZ || PRE_WIDE_OUT_NNZ != 70000) return 2;
  SHOW("J", pre_bands_J_rows, pre_bands_J_indices, j)
  SHOW("j", pre_bands_j__indices, pre_bands_j__columns, t)
  printf("y %.17g\\n", y[3]);
  return 0;
}
"""


def bands() -> list[aot.Function]:
    x = at.vector("x", shape=(ROWS + 1,))
    y = x[1:] * at.sin(x[:-1])
    slopes = at.jacobian(y, x, sparse=True)
    empty = sp.as_sparse(scipy.sparse.csr_matrix((2, 3))) * x.sum()
    outputs = {"J": slopes, "j": slopes.T * 2.0, "empty": empty, "y": y}
    band = scipy.sparse.csr_matrix((np.ones(70000), np.tile(np.arange(1000), 70), np.arange(0, 70001, 1000)))
    wide = sp.as_sparse(band) * x.sum()
    return [aot.function([x], outputs, name="bands"), aot.function([x], wide, name="wide")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> aot.driver.artifact.Artifact:
    return aot.compile(bands(), tmp_path_factory.mktemp("bands"), opt_level=0, prefix="pre_")


@pytest.mark.needs("cc")
def test_a_program_reads_patterns_of_the_header(made: aot.driver.artifact.Artifact) -> None:
    folder, source = made.library.parent, made.library.with_name("client.c")
    source.write_text(PROGRAM)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{folder}", f"-L{folder}", "-lbands", "-lm"]
    command = [path_of("cc"), str(source), "-o", str(folder / "client"), *flags, "-Wl,-rpath,$ORIGIN"]
    subprocess.run(command, check=True)
    found = subprocess.run([folder / "client"], check=True, capture_output=True, text=True).stdout.splitlines()
    x = 0.001 * np.arange(ROWS + 1)
    J = scipy.sparse.diags([x[1:] * np.cos(x[:-1]), np.sin(x[:-1])], [0, 1], shape=(ROWS, ROWS + 1))
    for name, expected in (("J", J), ("j", 2 * J.T)):
        rows = np.array([line.split()[1:] for line in found if line[0] == name], float)
        coordinates = rows[:, 2], (rows[:, 0].astype(int), rows[:, 1].astype(int))
        got = scipy.sparse.csr_matrix(coordinates, shape=expected.shape)
        assert len(rows) == 2 * ROWS and abs(got - expected).max() < 1e-15
    np.testing.assert_allclose(float(found[-1].split()[1]), x[4] * np.sin(x[3]), rtol=1e-15)


@pytest.mark.needs("c++")
def test_the_header_is_cpp_without_warnings(made: aot.driver.artifact.Artifact, tmp_path: Path) -> None:
    source = tmp_path / "client.cpp"
    source.write_text('#include "bands.h"\nint main() { return pre_bands_J_indptr[0]; }\n')
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wunused-const-variable", "-fsyntax-only"]
    done = subprocess.run([path_of("c++"), *flags, f"-I{made.library.parent}", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_large_patterns_are_counted_only(made: aot.driver.artifact.Artifact) -> None:
    header = made.header.read_text()
    assert "#define PRE_WIDE_OUT_NNZ 70000" in header and "pre_wide_out_indptr" not in header
    assert f"more than {MOST_RECORDED} numbers" in " ".join(header.replace("\n *", "").split())


def test_patterns_in_a_manifest_are_checked(made: aot.driver.artifact.Artifact) -> None:
    manifest = Container(made.library.read_bytes()).manifest()
    assert Manifest.from_json(manifest.to_json()) == manifest
    spec = manifest.function("bands")
    value = spec.produced[0]
    assert isinstance(value, SparseValue)
    pattern = recorded_pattern(spec, value)
    assert pattern is not None and pattern.indptr[:3] == [0, 2, 4] and pattern.indices[:3] == [0, 1, 1]
    outside = packed_pattern(pattern.indptr, [ROWS + 1, *pattern.indices[1:]])
    for text, message in (("?", "cannot be read"), ("eJwDAAAAAAE=", "0 bytes"), (outside, "its numbers")):
        with pytest.raises(ManifestError, match=message):
            recorded_pattern(spec, replace(value, pattern=text))
