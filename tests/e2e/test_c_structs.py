"""C and C++ callers with wrong fields in structs, and spans of a wrong size: an error each, no byte is written."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from needs import NEEDS

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor_cli.packaging.cpp import cpp_text

CC, CXX = NEEDS["cc"].path, NEEDS["c++"].path
HERE = Path(__file__).parent
EXPECTED = """\
right: 0
undeclared: 0
dtype: 2 slope: J.data has dtype float32, expected float64
dtype code: 2 slope: J.data has dtype unknown, expected float64
index_dtype: 2 slope: J.indices has dtype int64, expected int32
rows: 4 slope: J has 2 rows, expected 3
columns: 4 slope: J has 4 columns, expected 3
no rows: 4 slope: J has 0 rows, expected 3
negative rows: 4 slope: J has -3 rows, expected 3
nnz: 4 slope: output J has room for 4 stored entries, expected 3
data: 1 slope: J.data is NULL
indices: 1 slope: J.indices is NULL
dtype before allocation: 2 slope: J.data has dtype float32, expected float64
index_dtype before allocation: 2 slope: J.indices has dtype int64, expected int32
nothing: 9 slope: output J.indptr has no data, and the context has no allocate
right: 0
input rank: 3 both: y has rank 2, expected 1
input dtype: 2 both: y has dtype int64, expected float64
input shape: 1 both: shape of y is NULL
input data: 1 both: y is NULL
output dtype: 2 both: z has dtype float32, expected float64
output rank: 3 both: z has rank 1, expected 2
output shape: 4 both: extent 0 of z is 2, expected 3
output columns: 0
output that meets itself: 7 both: elements of output z overlap each other
output of one row: 7 both: elements of output z overlap each other
output of odd steps: 7 both: elements of output z overlap each other
strides of nothing: 1 both: output z has strides, but no data
dtype of nothing: 2 both: z has dtype float32, expected float64
nothing: 9 both: output z has no data, and the context has no allocate
3 x 2
struct_size: 10
num_threads: 10 slope: num_threads of the context is negative, -1
flags: 10 slope: flags of the context are 6, expected 0 or 1
message_size: 10
workspace_bytes: 10 slope: workspace_bytes of the context is negative, -8
blas: 10 slope: struct_size of blas is 0, expected sizeof(aotensor_blas)
right: 0
dtype: 2
index_dtype: 2
rows: 4
nnz: 13
negative nnz: 5
indptr: 1
pattern: 4 slope: extent 1 of J is 4, expected 3
its dtype: 2 slope: J has dtype float64, expected bool
right: 0
indptr: 4 product: A.indptr has 3 elements, expected 4 for 3 rows
"""
SPANS = """\
#include <cstdio>

#include "structs.hpp"

namespace lib = aotensor::structs;

template <class F>
static void attempt(const char *what, F call) {
  try {
    call();
    std::printf("%s: done\\n", what);
  } catch (const std::exception &error) {
    std::printf("%s: %s\\n", what, error.what());
  }
}

int main() {
  const std::vector<double> x{1, 2, 3}, y{4, 5};
  std::vector<double> room(7), data{1, 1};
  std::vector<int> indices{0, 1}, starts{0, 1, 2, 2};
  aotensor_sparse A{data.data(), indices.data(), starts.data(), 2, {3, 2}, AOTENSOR_FLOAT64, AOTENSOR_INT32};
  attempt("5", [&] { lib::chain(3, 2, x, y, std::span(room).first(5)); });
  std::printf("%g %g\\n", room[0], room[4]);
  attempt("4", [&] { lib::chain(3, 2, x, y, std::span(room).first(4)); });
  attempt("7", [&] { lib::chain(3, 2, x, y, room); });
  attempt("sparse 5", [&] { lib::beside(3, 2, A, y, std::span(room).first(5)); });
  std::printf("%g %g\\n", room[0], room[4]);
  attempt("sparse 6", [&] { lib::beside(3, 2, A, y, std::span(room).first(6)); });
  A.dtype = AOTENSOR_FLOAT32;
  attempt("dtype", [&] { lib::beside(3, 2, A, y, std::span(room).first(5)); });
}
"""
SAID = """\
5: done
2 10
4: out has 4 elements, not 5
7: out has 7 elements, not 5
sparse 5: done
4 5
sparse 6: out has 6 elements, not 5
dtype: an array has another dtype than the signature says
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("structs")
    x, y, v = at.vector("x", shape=("n",)), at.vector("y", shape=("m",)), at.vector("v", shape=("p",))
    A = sp.SparseTensorType("csr", "float64", ("n", "p"))(name="A")
    J = sp.square_diagonal(x)
    functions = [
        aot.function([x], {"J": J}, name="slope"),
        aot.function([x, y], {"z": x[:, None] * y[None, :]}, name="both"),
        aot.function([A, v], A @ v, name="product"),
        aot.function([x, y], 2 * at.join(0, x, y), name="chain"),
        aot.function([A, v], at.join(0, A @ v, v), name="beside"),
    ]
    artifact = aot.compile(functions, place, name="structs", opt_level=0)
    (place / "structs.hpp").write_text(cpp_text(artifact.load().manifest))
    return place


def _run(folder: Path, compiler: str, source: Path, *flags: str) -> str:
    program = folder / source.stem
    command = [compiler, "-Wall", "-Wextra", "-Werror", *flags, f"-I{folder}", source, "-o", program, f"-L{folder}"]
    done = subprocess.run([*command, "-lstructs", "-lm", "-Wl,-rpath,$ORIGIN"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())


@pytest.mark.needs("cc")
def test_structs_of_callers(folder: Path) -> None:
    assert _run(folder, str(CC), HERE / "structs_client.c", "-std=c99") == EXPECTED


@pytest.mark.needs("c++")
def test_spans_whose_size_is_a_sum_of_dims(folder: Path) -> None:
    source = folder / "spans.cpp"
    source.write_text(SPANS)
    assert _run(folder, str(CXX), source, "-std=c++20") == SAID
