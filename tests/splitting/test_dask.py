"""On a cluster of Dask: the same bits, from its own collections too, and when a worker is killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from splitting.model import bits, logistic, rows

from aotensor_runtime.rounds import Dask

distributed = pytest.importorskip("distributed", reason="dask and distributed are not installed")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_arrays_and_collections(tmp_path: Path) -> None:
    """In a process of its own: Dask imports what is called `sparse`, which a folder of tests is here."""
    logistic().compile(tmp_path)
    np.savez(tmp_path / "rows.npz", **rows())
    program = """
        from importlib.util import find_spec

        import dask.array as da
        import distributed
        import numpy as np
        from aotensor_runtime import load
        from aotensor_runtime.rounds import Dask, open_rounds

        if __name__ == "__main__":
            given, f = dict(np.load("rows.npz")), open_rounds(load("liblogistic.so"))
            if find_spec("pandas") and find_spec("pyarrow"):
                import dask.dataframe as dd
                import pandas as pd

                table = dd.from_pandas(pd.DataFrame({**dict(enumerate(given["X"].T)), "y": given["y"]}), npartitions=4)
                frames = {"X": table[[0, 1, 2, 3]], "y": table["y"]}
            else:
                frames = given
            blocks = {"X": da.from_array(given["X"], chunks=(250, 2)), "y": da.from_array(given["y"], chunks=500)}
            expected = f(chunk_rows=250, **given)
            with (
                distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
                distributed.Client(cluster) as client,
            ):
                for rows in (given, blocks, frames):
                    found = f(Dask(client), **{**given, **rows}, chunk_rows=250, timeout=60)
                    assert all(found[name].tobytes() == x.tobytes() for name, x in expected.items())
                print("same bits")
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    found = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert found.stdout.strip() == "same bits", found.stderr


def test_a_worker_that_is_killed_loses_nothing(client: Any) -> None:
    given = rows(12000)
    expected = bits(logistic()(chunk_rows=100, **given))
    pids = list(client.run(os.getpid).values())
    killed = threading.Event()

    def kill(function: str, done: int, count: int) -> None:
        if done == 40 and not killed.is_set():
            killed.set()
            os.kill(pids[0], signal.SIGKILL)

    found = logistic()(Dask(client), chunk_rows=100, progress=kill, timeout=60, **given)
    assert killed.is_set()
    assert bits(found) == expected
    assert np.isfinite(found["loss"])
