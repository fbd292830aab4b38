"""Bindings: compiled and run by programs of their languages; what a language cannot express is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from needs import path_of
from packaged import Package, run, succeed

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at


@pytest.fixture(scope="session")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """libkinds.so: layouts, computed sizes, dtypes, LAPACK, and names that differ in case only."""
    X, y = at.matrix("X", shape=("n", "p")), at.vector("y", shape=("n",))
    flags, x = at.vector("flags", dtype="bool"), at.vector("x", dtype="float32", shape=(3,))
    Z, A, b = (
        at.matrix("Z", dtype="complex128", shape=(2, "m")),
        at.matrix("A", shape=(3, 3)),
        at.vector("b", shape=(3,)),
    )
    turned = {"Y": aot.Out(2 * X.T, layout="F"), "x": at.concatenate([y, y[:2]])}
    functions = [
        aot.function([aot.In(X, layout="F"), y], turned, name="turned"),
        aot.function([flags, x, Z], {"any": flags.any(), "status": ~flags, "x": x * 2, "z": Z.conj()}, name="kinds"),
        aot.function([y], y[y > 0], name="positive"),
        aot.function([A, b], at.linalg.solve(A, b), name="solve"),
    ]
    return aot.compile(functions, tmp_path_factory.mktemp("kinds"), name="kinds", opt_level=0, cpu="generic").library


@pytest.mark.needs("gfortran")
def test_fortran(package: Package, libraries: Path, kinds: Path, tmp_path: Path) -> None:
    answer = package(libraries / "libmodel.so", kinds, "--bindings", "fortran", "-o", tmp_path)
    assert (answer.code, answer.err) == (0, "")
    names = ["model.h", "model.f90", "libmodel.so", "kinds.h", "kinds.f90", "libkinds.so"]
    assert [Path(line).name for line in answer.out.splitlines()] == names
    gfortran, client = path_of("gfortran"), Path(__file__).with_name("fortran_client.f90")
    options = ("-std=f2018", "-Wall", "-Wextra", "-Werror", "-g", "-fcheck=all", "-Wno-error=compare-reals")
    for name in ("model", "kinds"):
        succeed(gfortran, *options, "-c", f"{name}.f90", cwd=tmp_path)
    linked = ("-L.", "-lmodel", "-lkinds", "-llapack", "-lblas", "-Wl,-rpath,.")
    succeed(gfortran, "-g", client, "model.o", "kinds.o", *linked, "-o", "main", cwd=tmp_path)
    answer = run("./main", cwd=tmp_path)
    assert "index 9 is out of range for axis 0 of extent 3" in answer.err and answer.out == ""


@pytest.mark.parametrize("case", ["sparse", "half", "unsigned"])
def test_what_fortran_cannot_express(case: str, package: Package, tmp_path: Path) -> None:
    A, dtype = sp.csr_matrix("A", shape=("n", "m")), {"half": "float16", "unsigned": "uint8"}.get(case, "float64")
    x = at.vector("x", dtype=dtype, shape=("m",))
    f = aot.function([A, x], A @ x, name="f") if case == "sparse" else aot.function([x], x[::-1], name="f")
    library = aot.compile(f, tmp_path / "made", opt_level=0, cpu="generic").library
    answer = package(library, "--bindings", "fortran", "-o", tmp_path / "new")
    named = {"sparse": "A of f is csr float64[n, m]", "half": "x of f is float16[m]", "unsigned": "x of f is uint8[m]"}
    assert answer.code == 2 and f"Fortran: {named[case]}" in answer.err and not (tmp_path / "new").exists()


def test_unknown_languages(package: Package, tmp_path: Path) -> None:
    answer = package(tmp_path / "libx.so", "--bindings", "fortran,cobol")
    assert answer.code == 2 and "there are none for 'cobol'" in answer.err
