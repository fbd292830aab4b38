"""Complex arrays at the borders of a library: signature, header, typed entry, bound calls, C, files, command line."""

from __future__ import annotations

import ctypes
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at

Z = np.array([1 + 2j, -0.5j, 3])
CLIENT = r"""
#include "turned.h"
#include <complex.h>
#include <stdio.h>
int main(void) {
  double _Complex z[3] = {1 + 2 * I, -0.5 * I, 3}, y[3], total;
  int32_t status =
      turned(3, (const aotensor_complex128 *)z, (aotensor_complex128 *)y, (aotensor_complex128 *)&total, 0);
  if (status) return puts(aotensor_status_message(status)), 1;
  printf("%g%+gi %g%+gi\n", creal(y[0]), cimag(y[0]), creal(total), cimag(total));
  return 0;
}
"""


SPARSE_CLIENT = r"""
#include "spread.h"
#include <complex.h>
#include <stdio.h>
#include <string.h>
int main(void) {
  double _Complex data[3] = {1 + 2 * I, -I, 3}, x[2] = {I, 2}, y[2];
  int32_t indices[3] = {0, 1, 1}, indptr[3] = {0, 2, 3};
  aotensor_sparse A = {data, indices, indptr, 3, {2, 2}, AOTENSOR_COMPLEX128, AOTENSOR_INT32}, S;
  double _Complex found[3];
  int32_t columns[3], starts[3];
  memset(&S, 0, sizeof S);
  S.data = found, S.indices = columns, S.indptr = starts, S.nnz = 3;
  int32_t status =
      spread(NULL, 2, 2, &A, (const aotensor_complex128 *)x, (aotensor_complex128 *)y, &S, NULL);
  if (status) return puts(aotensor_status_message(status)), 1;
  printf("%g%+gi %g%+gi %d %g%+gi\n", creal(y[0]), cimag(y[0]), creal(y[1]), cimag(y[1]), (int)S.dtype, creal(found[0]),
         cimag(found[0]));
  return 0;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with one function of a complex vector."""
    path = tmp_path_factory.mktemp("turned")
    z = at.zvector("z", shape=("n",))
    aot.compile([aot.function([z], {"y": 1j * z, "total": z.sum()}, name="turned")], path)
    return path


@pytest.mark.shows("tensor/12-arguments")
def test_signature_and_calls(folder: Path) -> None:
    library = aot.load(folder / "libturned.so")
    function: Any = library.functions["turned"]
    spec = function.spec
    assert [(x.dtype, x.shape) for x in (*spec.inputs, *spec.outputs)] == [
        ("complex128", ("n",)), ("complex128", ("n",)), ("complex128", ()),
    ]  # fmt: skip
    y, total = np.empty(3, complex), np.empty((), complex)
    function(Z, out={"y": y, "total": total})
    np.testing.assert_array_equal(y, 1j * Z)
    bound = function.bind(z=Z, y=y, total=total)
    bound()
    assert total == Z.sum()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(library)).turned(Z)["y"], 1j * Z)
    pointer = function.pointer
    places = [a.ctypes.data_as(kind) for a, kind in zip((Z, y, total), pointer.argtypes[1:4], strict=True)]
    y[:] = 0
    assert pointer.function(3, *places, None) == 0
    np.testing.assert_array_equal(y, 1j * Z)
    assert ctypes.sizeof(pointer.argtypes[1]._type_) == 16
    with pytest.raises(TypeError, match="expected complex128"):
        function(np.array(["a"]))


@pytest.mark.shows("tensor/12-arguments")
def test_a_client_in_c(folder: Path) -> None:
    (folder / "client.c").write_text(CLIENT, encoding="utf-8")
    command = [
        "cc",
        "-std=c99",
        "-Wall",
        "-Werror",
        "client.c",
        "-o",
        "client",
        "-L.",
        "-lturned",
        "-Wl,-rpath,$ORIGIN",
        "-lm",
    ]
    subprocess.run(command, cwd=folder, check=True)
    assert subprocess.run([folder / "client"], capture_output=True, text=True, check=True).stdout == "-2+1i 4+1.5i\n"


def test_the_command_line_runs_and_verifies(folder: Path) -> None:
    np.save(folder / "z.npy", Z)
    command = [sys.executable, "-m", "aotensor_cli", "run", "libturned.so"]
    for output, argument in (("found.npz", "z=z.npy"), ("found.json", 'z=["1+2j", "-0.5j", 3]')):
        subprocess.run([*command, argument, "-o", output], cwd=folder, check=True)
    with np.load(folder / "found.npz") as found:
        np.testing.assert_array_equal(found["y"], 1j * Z)
    for file in ("found.json", "found.npz"):
        text = subprocess.run(
            [*command, "z=z.npy", "--expect", file], cwd=folder, capture_output=True, text=True, check=True
        )
        assert "total: as expected" in text.stderr
    run = command[:3]
    verified = subprocess.run([*run, "verify", "libturned.so"], cwd=folder, capture_output=True, text=True, check=False)
    assert verified.returncode == 0, verified.stdout


@pytest.mark.shows("sparse/0-complex")
def test_a_client_in_c_with_a_sparse_matrix(tmp_path: Path) -> None:
    A, x = sp.csr_matrix("A", dtype="complex128", shape=("m", "n")), at.zvector("x", shape=("n",))
    aot.compile([aot.function([A, x], {"y": sp.dot(A, x), "S": A * 1j}, name="spread")], tmp_path)
    (tmp_path / "client.c").write_text(SPARSE_CLIENT)
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "client.c", "-o", "client", "-L.", "-lspread", "-lm"]
    subprocess.run([*command, "-Wl,-rpath,$ORIGIN"], cwd=tmp_path, check=True)
    found = subprocess.run([tmp_path / "client"], capture_output=True, text=True, check=True)
    assert found.stdout == "-2-1i 6+0i 13 -2+1i\n"
