"""Gaussian fields against CHOLMOD: a C program that calls both libraries on a grid of 1600 points."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from needs import path_of

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at

POINTS = 1600


@pytest.mark.shows("sparse/15-slogdet", "sparse/15-selected_inverse")
@pytest.mark.needs("cc", "cholmod")
def test_field_on_a_grid(tmp_path: Path) -> None:
    values = at.vector("values", dtype="float64", shape=("entries",))
    indices = at.vector("indices", dtype="int32", shape=("entries",))
    indptr = at.vector("indptr", dtype="int32", shape=(POINTS + 1,))
    z = at.vector("z", dtype="float64", shape=(POINTS,))
    A = sp.CSR(values, indices, indptr, (POINTS, POINTS))
    factor = sp.cholesky(A)
    logarithm = factor.slogdet().logabsdet
    outputs = [logarithm, aot.grad(logarithm, values), sp.csm_data(factor.selected_inverse()), factor.solve(z)]
    library = aot.compile(aot.function([values, indices, indptr, z], outputs, name="field"), tmp_path).library

    source = Path(__file__).with_name("cholmod_client.c")
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-isystem", "/usr/include/suitesparse", f"-I{tmp_path}"]
    linked = [str(library), "-lcholmod", "-lm", f"-Wl,-rpath,{tmp_path}"]
    subprocess.run([path_of("cc"), *flags, str(source), *linked, "-o", "client"], check=True, cwd=tmp_path)
    lines = subprocess.run(["./client"], check=True, cwd=tmp_path, capture_output=True, text=True).stdout.splitlines()
    errors = {name: float(number) for name, number in (line.split() for line in lines)}
    assert errors.keys() == {"logarithm", "solution", "inverse", "gradient"}
    assert max(errors.values()) < 1e-12, errors
