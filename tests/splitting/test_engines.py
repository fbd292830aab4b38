"""Engines and files: the same bits everywhere, nothing is lost, and errors say where."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize
from splitting.model import bits, logistic, rows

from aotensor import load
from aotensor.errors import ArgumentTypeError, ArgumentValueError, ChunkError, LibraryError
from aotensor_runtime.rounds import Csr, Hdf5, Npy, Parquet, Pool, Processes, Serial, Threads, open_rounds
from aotensor_runtime.rounds.files import FileSource
from aotensor_runtime.rounds.tree import MergeTree


def test_the_tree_is_that_of_the_number_of_chunks() -> None:
    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 3, 1]):
        tree = MergeTree[str](5, lambda a, b: f"({a}{b})")
        for k in order:
            tree.add(k, str(k))
        assert tree.result() == "(((01)(23))4)"


def test_engines_and_files_give_the_same_bits(tmp_path: Path) -> None:
    given = rows()
    expected = bits(logistic()(chunk_rows=90, **given))
    np.save(tmp_path / "X.npy", given["X"])
    (tmp_path / "y").mkdir()
    np.save(tmp_path / "y" / "0.npy", given["y"][:333])
    np.save(tmp_path / "y" / "1.npy", given["y"][333:])
    files = {"X": tmp_path / "X.npy", "y": tmp_path / "y", "w": given["w"]}
    with Threads(2) as threads, Processes(2) as processes, ThreadPoolExecutor(2) as executor:
        for engine in (threads, processes, Pool(executor, 2)):
            assert bits(logistic()(engine, chunk_rows=90, **given)) == expected
        assert bits(logistic()(processes, chunk_rows=90, **files)) == expected
    assert bits(logistic()(chunk_rows=90, **files)) == expected
    whole = logistic().function(**given)
    np.testing.assert_allclose(logistic()(**given)["grad_w"], whole["grad_w"], rtol=1e-12)


class Hanging(FileSource):
    """Rows that take for ever."""

    def __init__(self, array: Any) -> None:
        self.path = Path("hanging")
        self._describe(array.dtype, array.shape, 0)

    def read(self, start: int, stop: int) -> Any:
        threading.Event().wait()


def test_processes_that_hang_are_ended() -> None:
    with Processes(1) as engine, pytest.raises(ChunkError, match="no chunk was completed within 2 seconds"):
        logistic()(engine, timeout=2, **{**rows(), "X": Hanging(rows()["X"])})


class Deadly(FileSource):
    """Rows that kill the first process which reads some of them."""

    def __init__(self, array: Any, mark: Path) -> None:
        self.path, self.array, self.mark = mark, array, mark
        self._describe(array.dtype, array.shape, 0)

    def read(self, start: int, stop: int) -> Any:
        if start >= 300 and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.array[start:stop]


def test_a_process_that_dies_loses_nothing(tmp_path: Path) -> None:
    given = rows()
    expected = bits(logistic()(chunk_rows=90, **given))
    with Processes(2) as engine:
        found = logistic()(engine, chunk_rows=90, **{**given, "X": Deadly(given["X"], tmp_path / "dead")})
    assert bits(found) == expected and (tmp_path / "dead").exists()


def test_processes_that_died_before_a_call_are_replaced() -> None:
    given = rows()
    expected = bits(logistic()(chunk_rows=90, **given))
    with Processes(2) as engine:
        assert bits(logistic()(engine, chunk_rows=90, **given)) == expected
        _kill_a_process(engine.executor)
        assert bits(logistic()(engine, chunk_rows=90, **given)) == expected
    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        _kill_a_process(executor)
        with pytest.raises(ChunkError, match=r"chunk 1 of 12, rows 0 to 90: its worker died"):
            logistic()(Pool(executor, 1), chunk_rows=90, **given)


def _kill_a_process(executor: Executor) -> None:
    with pytest.raises(BrokenProcessPool):
        executor.submit(os._exit, 1).result()


def test_a_worker_needs_the_runtime_alone(tmp_path: Path) -> None:
    logistic().compile(tmp_path)
    np.savez(tmp_path / "rows.npz", **rows(50))
    program = """
        import sys
        import numpy as np
        from aotensor_runtime import load
        from aotensor_runtime.rounds import Threads, open_rounds
        given = dict(np.load("rows.npz"))
        with Threads(2) as engine:
            print(open_rounds(load("liblogistic.so"))(engine, chunk_rows=7, **given)["loss"])
        assert not {"aotensor", "llvmlite", "xdsl", "scipy", "dask"} & set(sys.modules), sys.modules.keys()
    """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert float(found.stdout) == logistic()(chunk_rows=7, **rows(50))["loss"]
    with pytest.raises(LibraryError, match="has no rounds"):
        open_rounds(load(_plain_library(tmp_path)))


def _plain_library(folder: Path) -> Path:
    import aotensor as aot
    import aotensor.tensor as at

    x = at.scalar("x")
    return aot.compile(aot.function([x], x + 1, name="plain"), folder).library


def test_a_minimizer() -> None:
    given = rows()
    with Threads(2) as engine:
        fun, grad = logistic().minimizer(engine, X=given["X"], y=given["y"], chunk_rows=200)
        found = minimize(fun, np.zeros(4), jac=grad, method="L-BFGS-B", tol=1e-12)
    assert np.abs(grad(found.x)).max() < 1e-5
    whole = logistic().function
    inside = minimize(lambda w: whole(given["X"], given["y"], w)["loss"], np.zeros(4), tol=1e-10)
    np.testing.assert_allclose(found.x, inside.x, atol=1e-4)
    with pytest.raises(ArgumentTypeError, match="no variable to minimise"):
        logistic().minimizer(**given)


def test_progress_and_time() -> None:
    seen: list[tuple[str, int, int]] = []
    logistic()(chunk_rows=400, progress=lambda *what: seen.append(what), **rows())
    assert seen == [("logistic_map1", k, 3) for k in (1, 2, 3)]
    with ThreadPoolExecutor(1) as executor:
        executor.submit(__import__("time").sleep, 0.5)
        with pytest.raises(ChunkError, match=r"logistic_map1: no chunk was completed within 0\.01 seconds"):
            logistic()(Pool(executor, 1), timeout=0.01, **rows())


def test_bad_rows_are_named(tmp_path: Path) -> None:
    given = rows(100)
    np.save(tmp_path / "a.npy", given["X"])
    np.save(tmp_path / "b.npy", given["X"][:, :3])
    np.save(tmp_path / "y.npy", given["y"])
    rounds = logistic().library
    with pytest.raises(
        ArgumentValueError, match=r"X: piece 2 of 2 has float64 \(rows, 3\), but the first has float64 \(rows, 4\)"
    ):
        rounds.bind(X=[tmp_path / "a.npy", tmp_path / "b.npy"], y=given["y"])
    with pytest.raises(ArgumentValueError, match="numbers of rows differ: X has 100, y has 99"):
        rounds.bind(X=given["X"], y=given["y"][1:])
    with pytest.raises(ArgumentTypeError, match="no value is given for y"):
        rounds.bind(X=given["X"])
    with pytest.raises(ArgumentTypeError, match="Z is not an input"):
        rounds(Z=1, **given)
    with pytest.raises(ArgumentTypeError, match="X: expected rows along axis 0, found ndarray"):
        rounds.bind(X=np.array(["a"]), y=given["y"])
    with pytest.raises(ArgumentValueError, match="at least one row, not 0"):
        rounds.bind(chunk_rows=0, X=given["X"], y=given["y"])
    bound = rounds.bind(X=tmp_path / "a.npy", y=tmp_path / "y.npy", chunk_rows=30)
    os.truncate(tmp_path / "a.npy", 128 + 80 * 32)
    with pytest.raises(ChunkError, match=r"chunk 3 of 4, rows 60 to 90, on worker \S+: X: .*only 20 rows") as caught:
        bound(w=given["w"])
    assert "a.npy, rows 60 to 90" in str(caught.value)
    with pytest.raises(ChunkError, match=r"chunk 1 of 1.*w"):
        rounds(X=given["X"], y=given["y"], w=np.zeros(9))


def test_kinds_of_files(tmp_path: Path) -> None:
    x = np.arange(60.0).reshape(20, 3)
    matrix = scipy.sparse.random(20, 5, 0.3, "csr", random_state=0)
    scipy.sparse.save_npz(tmp_path / "s.npz", matrix)
    part = Csr(tmp_path / "s.npz").part(5, 12).read()
    assert (part.to_scipy() != matrix[5:12]).nnz == 0
    np.save(tmp_path / "f.npy", np.asfortranarray(x))
    np.testing.assert_array_equal(Npy(tmp_path / "f.npy").part(3, 9).read(), x[3:9])
    np.testing.assert_array_equal(Npy(tmp_path / "f.npy", axis=1).part(1, 2).read(), x[:, 1:2])
    (tmp_path / "no.npy").write_bytes(b"nothing")
    with pytest.raises(ArgumentTypeError, match="this is not an array of NumPy"):
        Npy(tmp_path / "no.npy")


def test_hdf5(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    x = np.arange(60.0).reshape(20, 3)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["rows"] = x
    np.testing.assert_array_equal(Hdf5(tmp_path / "x.h5", "rows").part(3, 9).read(), x[3:9])


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    x = np.arange(60.0).reshape(20, 3)
    table = pyarrow.table({name: x[:, k] for k, name in enumerate("abc")})
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=8)
    source = Parquet(tmp_path / "x.parquet")
    assert source.cuts == (0, 8, 16)
    np.testing.assert_array_equal(source.part(3, 18).read(), x[3:18])
    np.testing.assert_array_equal(Parquet(tmp_path / "x.parquet", "b").part(0, 20).read(), x[:, 1])


def test_zarr(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    x = np.arange(60.0).reshape(20, 3)
    zarr.save_array(str(tmp_path / "x.zarr"), x)
    with Serial() as engine:
        from aotensor_runtime.rounds import Zarr

        np.testing.assert_array_equal(Zarr(tmp_path / "x.zarr").part(3, 9).read(), x[3:9])
        assert engine.workers == 1
