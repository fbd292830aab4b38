"""The generated header: compiles as C99 and C++ without a warning, stands alone, and says every shape."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from entry_harness import handmade, handmade_library
from needs import NEEDS
from sparse_harness import sparse_library

from aotensor.codegen.header import header_text
from aotensor.codegen.library import Blueprint, write_library
from aotensor.codegen.machine import Machine
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, OutputSpec

CC, CXX = NEEDS["cc"].path, NEEDS["c++"].path
FLAGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")

CLIENT = r"""
#include "handmade.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(void *user, int32_t output, int64_t bytes, const int64_t *shape) {
  (void)output;
  *(int64_t *)user = shape[0];
  return malloc((size_t)bytes);
}

int main(void) {
  const double X[6] = {0, 1, 2, 3, 4, 5}, w[3] = {1, 10, 100}, b = 1;
  double y[2], total;
  int64_t k = 3, rows = 0, shape[2];
  char message[100];
  void *workspace = malloc((size_t)affine_workspace(2, 3));
  aotensor_context context;
  aotensor_array ramp_out;
  int32_t status = affine(2, 3, X, w, &b, y, &total, workspace);
  printf("%d %g %g %g\n", (int)status, y[0], y[1], total);
  status = affine(2, 3, X, w, NULL, y, &total, NULL);
  printf("%s\n", aotensor_status_message(status));

  memset(&context, 0, sizeof context);
  context.struct_size = (int64_t)sizeof context;
  context.allocate = allocate;
  context.user = &rows;
  context.message = message;
  context.message_size = (int64_t)sizeof message;
  memset(&ramp_out, 0, sizeof ramp_out);
  ramp_out.shape = shape;
  ramp_out.rank = 2;
  status = ramp(&context, &k, &ramp_out, NULL);
  printf("%d %d %d %d\n", (int)status, (int)rows, (int)shape[0], (int)((int64_t *)ramp_out.data)[2]);
  free(ramp_out.data);
  ramp_out.data = NULL;
  k = -7;
  status = ramp(&context, &k, &ramp_out, NULL);
  printf("%s\n%s\n", message, aotensor_status_message(status));
  free(workspace);
  return aotensor_abi_version() != AOTENSOR_ABI_VERSION;
}
"""

SAID = """0 211 544 755
a pointer that is needed is NULL
0 3 3 2
ramp: k is -7, it must not be negative
ramp: k is ..., it must not be negative
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """libhandmade.so, libhandmade.a, handmade.h and a program that uses them."""
    place = tmp_path_factory.mktemp("client")
    library = handmade_library()
    write_library(library, place)
    (place / "libhandmade.a").write_bytes(library.static())
    (place / "client.c").write_text(CLIENT)
    return place


@pytest.mark.needs("cc")
@pytest.mark.parametrize("link", [["-lhandmade", "-Wl,-rpath,."], ["-l:libhandmade.a"]], ids=["shared", "static"])
def test_c_program(folder: Path, link: list[str]) -> None:
    command = [str(CC), "-std=c99", *FLAGS, "client.c", "-o", "client", "-L.", *link, "-lm"]
    subprocess.run(command, check=True, cwd=folder)
    done = subprocess.run(["./client"], check=True, cwd=folder, capture_output=True, text=True)
    assert done.stdout == SAID


@pytest.mark.needs("c++")
def test_cpp_program(folder: Path) -> None:
    (folder / "client.cpp").write_text(CLIENT.replace("NULL", "nullptr"))
    command = [str(CXX), "-std=c++17", *FLAGS, "client.cpp", "-o", "client_cpp", "-L.", "-lhandmade", "-Wl,-rpath,."]
    subprocess.run(command, check=True, cwd=folder)
    done = subprocess.run(["./client_cpp"], check=True, cwd=folder, capture_output=True, text=True)
    assert done.stdout == SAID


def _header(*specs: FunctionSpec) -> str:
    return header_text(Blueprint("x", specs, Machine.parse("x86_64-linux-gnu", "generic"), "0.1").manifest())


def test_prototypes() -> None:
    text = handmade_library().header()
    start = text.index("int32_t affine(")
    lines = text[start:].split(";")[0].split("\n")
    assert lines[0].startswith(
        "int32_t affine(int64_t n, int64_t p, const double *X, const double *w, const double *b,"
    )
    assert lines[0].endswith("double *y, double *total,") and lines[1].strip() == "void *workspace)"
    assert "int64_t affine_workspace(int64_t n, int64_t p);" in text
    assert "int32_t ramp(aotensor_context *context, const int64_t *k, aotensor_array *out, void *workspace);" in text
    assert " *   both  out float64[a_0 + b_0]\n" in text
    assert " *   w      in  float64[n]  state, held by the caller\n" in text
    assert " *   w_out  out float64[n]  next value of w\n" in text
    status = handmade_library().manifest.status_of("ramp", 1)
    assert f" *   {status}  k is ..., it must not be negative */" in text
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.needs("cc")
def test_hostile_names_and_texts(tmp_path: Path) -> None:
    names = ("int", "class", "a b", "*/ x", "/*", "ü", "x", "context", "workspace", "9\\")
    inputs = tuple(ArgumentSpec(name, "bool", (f"{name}_0",)) for name in names)
    dims = tuple(f"{name}_0" for name in names)
    spec = FunctionSpec("f", dims, inputs, (OutputSpec("x", "uint64", (None,)),), doc="*/ int x; /* \\\n trick")
    (tmp_path / "x.h").write_text(_header(spec))
    (tmp_path / "x.c").write_text('#include "x.h"\n#include "x.h"\nint main(void) { return 0; }\n')
    subprocess.run([str(CC), "-std=c99", *FLAGS, "-fsyntax-only", "x.c"], check=True, cwd=tmp_path)


@pytest.mark.needs("cc")
def test_two_headers_in_one_program(tmp_path: Path) -> None:
    for name in ("one", "two"):
        manifest = Blueprint(name, handmade().specs, Machine.host(), "0", prefix=f"{name}_").manifest()
        (tmp_path / f"{name}.h").write_text(header_text(manifest))
    (tmp_path / "x.c").write_text('#include "one.h"\n#include "two.h"\nint main(void) { return 0; }\n')
    subprocess.run([str(CC), "-std=c99", *FLAGS, "-fsyntax-only", "x.c"], check=True, cwd=tmp_path)


def test_sparse_matrices_are_structs(tmp_path: Path) -> None:
    text = header_text(sparse_library().manifest)
    plain = " ".join(text.replace("\n *", "").split())
    for expected in (
        "int32_t product(int64_t n, int64_t p, const aotensor_sparse *A, const double *x, double *y, void *workspace);",
        "int64_t product_workspace(int64_t n, int64_t p, int64_t A_nnz);",
        "int32_t twice(aotensor_context *context, int64_t n, int64_t p, const aotensor_sparse *A, aotensor_sparse *S,",
        "int64_t drop_workspace(int64_t A_nnz);",
        "A in csc float32[4, p], int64 indices",
        "An aotensor_sparse with indptr == NULL is filled through context->allocate.",
        "A stands for the extents of a csr matrix: its data are not used.",
    ):
        assert expected in plain
    if CC is not None:
        (tmp_path / "matrices.h").write_text(text)
        command = [CC, "-std=c99", *FLAGS, "-fsyntax-only", str(tmp_path / "matrices.h")]
        assert subprocess.run(command, capture_output=True, text=True).returncode == 0


def test_dense_libraries_do_not_carry_sparse_code() -> None:
    assert [part.name for part in handmade_library().parts] == ["core "]
    assert [part.name for part in sparse_library().parts] == ["core with threads ", "matrices with threads"]
