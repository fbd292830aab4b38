"""Dask: chunks on the workers of a cluster, rows of its arrays and data frames. Needs `pip install aotensor[dask]`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from time import sleep
from typing import Any, Final

import numpy as np

from aotensor_runtime.errors import ArgumentTypeError
from aotensor_runtime.rounds.engines import Engine
from aotensor_runtime.rounds.files import FilePart
from aotensor_runtime.rounds.sources import Held, Part, Source, kind_of
from aotensor_runtime.rounds.worker import Handle, MissingLibrary, Task, run_chunk

_TRIES: Final = 5
_LARGE: Final = 1 << 16
"""Least bytes of a round's values that are sent to every worker once, instead of with each chunk."""


class Dask(Engine):
    """A `distributed.Client`. Workers need `aotensor_runtime` and NumPy; the library's bytes go to each of them once.

    Rows in memory here are sent once; blocks of Dask's collections stay where they are computed. A worker that dies
    loses nothing: its data are sent, or computed, again.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.workers = max(len(client.scheduler_info()["workers"]), 1)
        self.ahead = self.workers
        self._plugins: set[str] = set()

    def prepare(self, handle: Handle) -> None:
        """Register a plugin that loads the library on each worker, including workers that join later."""
        from distributed import WorkerPlugin

        if handle.digest in self._plugins:
            return

        class LoadLibrary(WorkerPlugin):  # type: ignore[misc, unused-ignore]  # where dask is not installed
            """Plugin that loads the library when a worker starts."""

            name = f"aotensor-{handle.digest[:16]}"

            def setup(self, worker: Any) -> None:
                """Load the library on the worker."""
                handle.install()

        self.client.register_plugin(LoadLibrary())
        self._plugins.add(handle.digest)

    def hold(self, part: Part) -> Any:
        """Send rows in memory to a worker once; blocks of a collection are computed there once."""
        if isinstance(part, DaskPart):
            return self.client.compute(part.block)  # a future of the rows themselves
        if isinstance(part, FilePart):
            return part
        value = part.read()
        if isinstance(value, np.ndarray):
            value = np.ascontiguousarray(value)
        return self._send(Held(value))

    def share(self, known: Mapping[str, Any]) -> Any:
        """Send large values of a round to every worker once."""
        size = sum(x.nbytes for x in known.values() if isinstance(x, np.ndarray))
        return self._send(dict(known), broadcast=True) if size > _LARGE else dict(known)

    def _send(self, value: Any, **options: Any) -> Any:
        """Send a value to a worker, or to all; if a worker dies meanwhile, another one gets the value."""
        for _ in range(_TRIES):
            try:
                return self.client.scatter(value, hash=False, **options)
            except OSError:  # the connection to the worker is closed
                sleep(0.2)
        return self.client.scatter(value, hash=False, **options)

    def submit(self, task: Task, parts: Mapping[str, Any], known: Any, retries: int) -> Any:
        """A future of the cluster, named by function, round and chunk."""
        count = self._numbers = getattr(self, "_numbers", 0) + 1
        key = f"{task.function}-chunk{task.position}-{id(self):x}-{count}"
        return self.client.submit(run_chunk, task, dict(parts), known, key=key, pure=False, retries=retries)

    def first_done(self, futures: Collection[Any], timeout: float | None) -> list[Any]:
        """As `Engine.first_done`."""
        import distributed

        wait: Any = distributed.wait
        try:
            return list(wait(list(futures), timeout=timeout, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            return []
        except CancelledError:  # a failure that the status of the future reports
            return [future for future in futures if future.status != "pending"]

    def is_loss(self, error: BaseException) -> bool:
        """Did a worker die, or lose data with another one?"""
        from distributed import KilledWorker

        return isinstance(error, MissingLibrary | KilledWorker | CancelledError)

    def threads_of_a_chunk(self) -> int | None:
        """One: Dask runs several chunks per worker itself."""
        return 1


@dataclass(frozen=True)
class DaskPart:
    """A block of rows of a collection.   block: a Dask object. source: the collection, for errors"""

    block: Any
    where: str

    def read(self) -> Any:
        """Compute the rows here.   Raises: as the collection"""
        return np.asarray(self.block.compute())


class DaskSource:
    """Rows of a `dask.array`, or of the partitions of a `dask.dataframe` as a matrix (a series: a vector).

    Partitions of unknown length are counted first, on the cluster.
    """

    def __init__(self, array: Any, axis: int) -> None:
        if any(np.isnan(n) for n in array.chunks[axis]):
            array = array.compute_chunk_sizes()
        others = tuple(k for k in range(array.ndim) if k != axis)
        self.array = array.rechunk(dict.fromkeys(others, -1)) if others else array
        self.axis, self.length = axis, int(array.shape[axis])
        self.row_bytes = array.dtype.itemsize * float(np.prod([array.shape[k] for k in others]))
        self.cuts = tuple(int(n) for n in np.cumsum([0, *array.chunks[axis]])[:-1])

    def part(self, start: int, stop: int) -> Part:
        """The part with these rows."""
        where = f"{self.array.name}, rows {start} to {stop}"
        return DaskPart(self.array[(slice(None),) * self.axis + (slice(start, stop),)], where)

    def kind(self) -> str:
        """As `Source.kind`."""
        return kind_of(self.array.dtype, self.array.shape, self.axis)


def dask_source(value: Any, axis: int) -> Source:
    """The source of a collection.   Raises: ArgumentTypeError for one without rows of numbers"""
    array = value.to_dask_array() if hasattr(value, "to_dask_array") else value
    if not hasattr(array, "chunks") or array.ndim <= axis or array.dtype.kind not in "biuf":
        raise ArgumentTypeError(f"expected a dask array or data frame of numbers, found {type(value).__name__}")
    return DaskSource(array, axis)
