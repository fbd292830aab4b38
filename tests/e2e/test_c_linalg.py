"""A C program brings the functions of LAPACK that a library needs, or does not, and then gets to know it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from needs import NEEDS
from programs import Runner

import aotensor as aot
import aotensor.tensor as at
import aotensor_runtime.call
from aotensor.errors import LibraryError
from aotensor.gradient import grad
from aotensor_runtime.abi import Blas

CC = NEEDS["cc"].path


def gaussian() -> aot.Function:
    """x with a·x = b, and half the logarithm of the determinant of a, which is positive definite."""
    a, b = at.matrix("a", shape=("n", "n")), at.vector("b", shape=("n",))
    factor = at.cholesky(a)
    outputs = {"x": at.cho_solve((factor, True), b), "halflog": at.log(at.diag(factor)).sum()}
    return aot.function([a, b], outputs, name="gaussian")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("gaussian")
    aot.compile(gaussian(), place)
    return place


@pytest.mark.needs("cc")
def test_a_client_brings_the_functions_or_is_told_so(folder: Path) -> None:
    source, program = Path(__file__).parent / "linalg_client.c", folder / "client"
    command = [str(CC), "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{folder}", str(source), "-o", str(program)]
    built = subprocess.run(
        [*command, f"-L{folder}", "-lgaussian", "-lm", "-Wl,-rpath,$ORIGIN"], capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
    first, second, numbers, not_positive, last = done.stdout.splitlines()
    assert first == "gaussian: LAPACK function dpotrf is needed, but aotensor_context.blas does not have it"
    assert second == "gaussian: LAPACK function dtrsm is needed, but aotensor_context.blas does not have it"
    a = np.array([[4.0, 2, -2], [2, 5, 1], [-2, 1, 6]])
    expected = [*np.linalg.solve(a, [1, 2, 3]), np.linalg.slogdet(a)[1] / 2]
    np.testing.assert_allclose([float(word) for word in numbers.split()], expected, atol=1e-11)
    assert not_positive.endswith("the matrix is not positive definite: its leading minor of order 2 is not positive")
    assert last == "ok"


def test_the_header_says_what_is_needed(folder: Path) -> None:
    text = " ".join((folder / "gaussian.h").read_text().replace("\n *", "").split())
    assert "int32_t gaussian(aotensor_context *context, int64_t n, const double *a" in text
    assert "context->blas must have dpotrf, dtrsm; without them the status is AOTENSOR_NO_FUNCTION." in text


def test_inspect_says_what_is_needed(folder: Path, run: Runner) -> None:
    said = run("-m", "aotensor_cli", "inspect", folder / "libgaussian.so")
    assert "needs  dpotrf, dtrsm of BLAS and LAPACK" in said


def test_a_runtime_without_lapack_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Blas(struct_size=Blas.struct_size.size)
    monkeypatch.setattr(aotensor_runtime.call, "blas_table", lambda: table)
    f = aot.load(folder / "libgaussian.so").gaussian
    with pytest.raises(LibraryError, match="LAPACK function dpotrf is needed") as caught:
        f(np.eye(2), np.ones(2))
    assert caught.value.diagnostic.hint == "install scipy: BLAS and LAPACK are taken from it"


def test_the_runtime_finds_them(folder: Path) -> None:
    f = aot.load(folder / "libgaussian.so").gaussian
    assert f.spec.lapack == ("dpotrf", "dtrsm")
    found = f(4 * np.eye(2), np.ones(2))
    np.testing.assert_allclose(found["x"], [0.25, 0.25])
    bound = f.bind(a=4 * np.eye(2), b=np.ones(2))
    np.testing.assert_allclose(bound()["halflog"], np.log(4))


def test_a_gradient_stays_free_of_needless_work() -> None:
    """One factorisation for value and derivative, whose own product kernel is not even there."""
    k = at.matrix("k", shape=("n", "n"))
    loss = at.log(at.diag(at.cholesky(k))).sum()
    loops = aot.function([k], [loss, grad(loss, k)], name="likelihood").ir("loops")
    assert loops.count("call @aot_lapack_potrf.f64") == 1
    assert "aot_gemm" not in loops
