"""Two libraries, the command that packs them, and a clean Python."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "codegen"))

from packaged import Answer, CleanPython, Package

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor_cli.main import run


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with libmodel.so and .a, a regression; and libother.so, names that need care and a sparse product."""
    folder = tmp_path_factory.mktemp("libraries")
    X, y = at.matrix("X", dtype="float64", shape=("n", "p")), at.vector("y", dtype="float64", shape=("n",))
    w, i = at.vector("w", dtype="float64", shape=("p",)), at.scalar("i", dtype="int64")
    loss = ((X @ w - y) ** 2).sum()
    functions = [
        aot.function([X, y, w], {"loss": loss, "grad_w": aot.grad(loss, w)}, name="squares"),
        aot.function([y, i], y[i], name="pick"),
        aot.function([y], [2 * y, at.exp(y).sum(), y > 0], name="several"),
    ]
    aot.compile(functions, folder, name="model", cpu="generic", emit=("lib", "static"))
    small, keyword = at.scalar("std", dtype="float32"), at.scalar("lambda", dtype="int8")
    given, inner = at.vector("out", dtype="float64", shape=(3,)), at.scalar("_function", dtype="float64")
    A, count = sp.csr_matrix("A", dtype="float64", shape=("n", "m")), aot.shared(0.0, name="count")
    state, own = aot.shared(1.0, name="state"), at.vector("result", dtype="float64", shape=("result_n",))
    flags, X = at.vector("flags", dtype="bool"), at.matrix("X", dtype="float64")
    v = at.vector("v", dtype="float64", shape=("m",))
    functions = [
        aot.function([small, keyword], {"a b": 2 * small, "class": keyword + 1}, name="std"),
        aot.function([given, inner], given + inner, name="libraries"),
        aot.function([A, v], A @ v, name="product"),
        aot.function([inner], inner + count, updates={count: count + 1}, name="counting"),
        aot.function([], None, updates={state: 2 * state}, name="doubling"),
        aot.function([own], {"result": 2 * own, "workspace": own.sum()}, name="result"),
        aot.function([flags, X], [at.nonzero(flags)[0], ~flags, X.sum(axis=0)], name="odd"),
    ]
    aot.compile(functions, folder, name="other.one", cpu="generic", prefix="my_")
    return folder


@pytest.fixture
def package(capfd: pytest.CaptureFixture[str]) -> Package:
    """`aotensor package` in this process."""

    def call(*arguments: object) -> Answer:
        capfd.readouterr()
        code = run(["package", *map(str, arguments)])
        out, err = capfd.readouterr()
        return Answer(code, out, err)

    return call


@pytest.fixture(scope="session")
def packed(libraries: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages of `model` 1.2, of `pair` 2.0rc1, which has both, and of the runtime."""
    folder = tmp_path_factory.mktemp("packed")
    model = [str(libraries / "libmodel.so"), str(libraries / "libmodel.a"), "--version", "1.2", "--with-runtime"]
    pair = [str(libraries / f"lib{name}.so") for name in ("model", "other.one")]
    assert run(["package", *model, "-o", str(folder)]) == 0
    assert run(["package", *pair, "--name", "pair", "--version", "2.0rc1", "-o", str(folder)]) == 0
    return folder


@pytest.fixture(scope="session")
def clean(packed: Path, tmp_path_factory: pytest.TempPathFactory) -> CleanPython:
    """A Python in which `model` is installed."""
    python = CleanPython(tmp_path_factory.mktemp("clean") / "venv")
    python.install("model", links=packed)
    return python
