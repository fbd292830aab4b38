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
    """libkinds.so: layouts, computed sizes, dtypes, and names that differ in case only."""
    X, y = at.matrix("X", shape=("n", "p")), at.vector("y", shape=("n",))
    flags, x = at.vector("flags", dtype="bool"), at.vector("x", dtype="float32", shape=(3,))
    Z = at.matrix("Z", dtype="complex128", shape=(2, "m"))
    turned = {"Y": aot.Out(2 * X.T, layout="F"), "x": at.concatenate([y, y[:2]])}
    functions = [
        aot.function([aot.In(X, layout="F"), y], turned, name="turned"),
        aot.function([flags, x, Z], {"any": flags.any(), "status": ~flags, "x": x * 2, "z": Z.conj()}, name="kinds"),
        aot.function([y], y[y > 0], name="positive"),
    ]
    return aot.compile(functions, tmp_path_factory.mktemp("kinds"), name="kinds", opt_level=0, cpu="generic").library


@pytest.fixture(scope="session")
def solver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """libsolver.so, which calls LAPACK."""
    A, b = at.matrix("A", shape=("n", "n")), at.vector("b", shape=("n",))
    f = aot.function([A, b], at.linalg.solve(A, b), name="solve")
    return aot.compile(f, tmp_path_factory.mktemp("solver"), name="solver", opt_level=0, cpu="generic").library


def test_files(package: Package, kinds: Path, tmp_path: Path) -> None:
    answer = package(kinds, "--bindings", "fortran,matlab,julia", "-o", tmp_path)
    assert (answer.code, answer.err) == (0, "")
    names = [Path(line).name for line in answer.out.splitlines()]
    functions = ["turned.c", "turned.m", "kinds.c", "kinds.m", "positive.c", "positive.m"]
    assert names == ["kinds.h", "kinds.f90", *functions, "kinds_build.m", "Kinds.jl", "libkinds.so"]
    assert "% KINDS  [any, status, x_out, z] = kinds(flags, x, Z)" in (tmp_path / "kinds.m").read_text()
    assert "no test has run it" in (tmp_path / "Kinds.jl").read_text()
    modules = [(tmp_path / name).read_text() for name in ("kinds.f90", "Kinds.jl")]
    assert "subroutine kinds(flags, x, Z, any, status, x_out, z_, status_, message, num_threads)" in modules[0]
    assert "NamedTuple{(:any, :status, :x_out, :z)}" in modules[1]


@pytest.mark.needs("gfortran")
@pytest.mark.unlimited("the one client in Fortran", "ci")
def test_fortran(package: Package, libraries: Path, kinds: Path, solver: Path, tmp_path: Path) -> None:
    assert package(libraries / "libmodel.so", kinds, solver, "--bindings", "fortran", "-o", tmp_path).code == 0
    gfortran, client = path_of("gfortran"), Path(__file__).with_name("fortran_client.f90")
    options = ("-std=f2018", "-Wall", "-Wextra", "-Werror", "-g", "-fcheck=all", "-Wno-error=compare-reals")
    modules = ("model", "kinds", "solver")
    for name in modules:
        succeed(gfortran, *options, "-c", f"{name}.f90", cwd=tmp_path)
    linked = ("-L.", *(f"-l{name}" for name in modules), "-llapack", "-lblas", "-Wl,-rpath,.")
    succeed(gfortran, "-g", client, *(f"{name}.o" for name in modules), *linked, "-o", "main", cwd=tmp_path)
    answer = run("./main", cwd=tmp_path)
    assert "index 9 is out of range for axis 0 of extent 3" in answer.err and answer.out == ""


@pytest.mark.needs("octave")
def test_matlab_in_octave(package: Package, libraries: Path, kinds: Path, tmp_path: Path) -> None:
    assert package(libraries / "libmodel.so", kinds, "--bindings", "matlab", "-o", tmp_path).code == 0
    client = Path(__file__).with_name("matlab_client.m")
    said = succeed("octave-cli", "--norc", client, cwd=tmp_path).splitlines()
    usage = "[loss, grad_w] = squares(X, y, w)"
    found = [
        "out = pick(y, i): i is of class double: give int64(i)",
        "index 9 is out of range for axis 0 of extent 3",
        "squares: dim n of y is 2, but X has n = 3",
        f"2 inputs instead of 3: {usage}",
        f"{usage}: X is sparse: give full(X)",
        f"{usage}: X is complex, expected real",
        f"{usage}: X has 3 axes, expected 2",
    ]
    assert len(said) == len(found) and all(map(str.endswith, said, found)), said


@pytest.mark.needs("julia-syntax")
def test_julia_is_parsed(package: Package, libraries: Path, kinds: Path, tmp_path: Path) -> None:
    """There is no Julia here: its grammar of tree-sitter finds no error."""
    import tree_sitter
    import tree_sitter_julia

    assert package(libraries / "libmodel.so", kinds, "--bindings", "julia", "-o", tmp_path).code == 0
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_julia.language()))
    for name in ("Model.jl", "Kinds.jl"):
        assert not parser.parse((tmp_path / name).read_bytes()).root_node.has_error


@pytest.mark.parametrize("language", ["matlab", "julia"])
def test_lapack_of_64_bits(language: str, package: Package, solver: Path, tmp_path: Path) -> None:
    answer = package(solver, "--bindings", language, "-o", tmp_path / "new")
    assert answer.code == 2 and "solve needs LAPACK's" in answer.err and "64-bit integers" in answer.err


CASES = [("fortran", "float16"), ("fortran", "uint8"), ("fortran", "csr"), ("matlab", "bfloat16"), ("julia", "csr")]


@pytest.mark.parametrize(("language", "kind"), CASES)
def test_what_a_language_cannot_express(language: str, kind: str, package: Package, tmp_path: Path) -> None:
    A, dtype = sp.csr_matrix("A", shape=("n", "m")), "float64" if kind == "csr" else kind
    x = at.vector("x", dtype=dtype, shape=("m",))
    f = aot.function([A, x], A @ x, name="f") if kind == "csr" else aot.function([x], x[::-1], name="f")
    library = aot.compile(f, tmp_path / "made", opt_level=0, cpu="generic").library
    answer = package(library, "--bindings", language, "-o", tmp_path / "new")
    named = "A of f is csr float64[n, m]" if kind == "csr" else f"x of f is {kind}[m]"
    assert answer.code == 2 and f"{language.capitalize()}: {named}".lower() in answer.err.lower()
    assert not (tmp_path / "new").exists()


def test_unknown_languages(package: Package, tmp_path: Path) -> None:
    answer = package(tmp_path / "libx.so", "--bindings", "fortran,cobol")
    assert answer.code == 2 and "the language 'cobol' is not supported" in answer.err
