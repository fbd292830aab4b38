"""Engines that compute chunks: in this thread, on threads, on processes, or on any executor of `concurrent.futures`."""

from __future__ import annotations

import os
import pickle
import shutil
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np

from aotensor_runtime.errors import ArgumentValueError
from aotensor_runtime.rounds.files import Npy
from aotensor_runtime.rounds.sources import ArraySource, Part, Source
from aotensor_runtime.rounds.worker import Handle, MissingLibrary, Task, call_chunk, read_parts, run_chunk
from aotensor_runtime.systems import here
from aotensor_runtime.systems.scratch import new_folder, writes_to

_LARGE: Final = 1 << 20
_SPACE: Final = "free some space there, use engine='threads', or keep the rows in files"
"""Least bytes of values for all chunks that are put into a file, instead of being sent with every chunk."""


class Engine(ABC):
    """The interface of engines to rounds, with defaults.

    workers: number of chunks computed at the same time. ahead: number of chunks submitted beyond these.
    """

    workers = 1
    ahead = 1

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:  # noqa: B027  # by default there is nothing to do
        """Release workers and files."""

    def prepare(self, handle: Handle) -> None:  # noqa: B027  # by default there is nothing to do
        """Send the library to the workers before the first chunk, if possible."""

    def keep(self, source: Source) -> Source:
        """A source in the form that workers read best, for several rounds: an array in memory becomes a mapped file."""
        return source

    def hold(self, part: Part) -> Any:
        """A part in the form in which it is sent, for several rounds."""
        return part

    def share(self, known: Mapping[str, Any]) -> Any:
        """Values for every chunk of a round in the form in which they are sent: once, if they are large."""
        return known

    @abstractmethod
    def submit(self, task: Task, parts: Mapping[str, Any], known: Any, retries: int) -> Any:
        """Submit a chunk: a future of `run_chunk`."""

    def first_done(self, futures: Collection[Any], timeout: float | None) -> list[Any]:
        """The completed futures, after waiting for one; none after `timeout` seconds."""
        return list(wait(futures, timeout, FIRST_COMPLETED).done)

    def is_loss(self, error: BaseException) -> bool:
        """Did the worker fail, and not the chunk? Then the chunk is computed again."""
        return isinstance(error, MissingLibrary)

    def threads_of_a_chunk(self) -> int | None:
        """Most threads of a call; None for all."""
        return max((os.cpu_count() or 1) // self.workers, 1)


class _Read:
    """The future of a chunk that is read on its own thread, and computed when it is waited for."""

    def __init__(self, task: Task, parts: Mapping[str, Any], known: Mapping[str, Any], reading: Future[Any]) -> None:
        self.task, self.parts, self.known, self.reading = task, parts, known, reading

    def result(self) -> dict[str, Any]:
        """The outputs.   Raises: as `run_chunk`"""
        values = {**self.known, **self.reading.result()}
        return call_chunk(self.task, self.task.handle.library(), values, self.parts)

    def cancel(self) -> None:
        """Cancel reading."""
        self.reading.cancel()


class Serial(Engine):
    """One chunk after the other, on all cores; the next one is read during a computation."""

    def __init__(self) -> None:
        self._reader = ThreadPoolExecutor(1, "aotensor-reader")

    def close(self) -> None:
        """End the reading thread."""
        self._reader.shutdown(cancel_futures=True)

    def submit(self, task: Task, parts: Mapping[str, Any], known: Any, retries: int) -> _Read:
        """Start reading the chunk."""
        return _Read(task, parts, known, self._reader.submit(read_parts, task, parts))

    def first_done(self, futures: Collection[Any], timeout: float | None) -> list[Any]:
        """The first future, after its chunk is read."""
        first = next(iter(futures))
        return [first] if wait([first.reading], timeout).done else []

    def threads_of_a_chunk(self) -> int | None:
        """All threads."""
        return None


class Pool(Engine):
    """Any executor with `submit` and futures like those of `concurrent.futures`, with its number of workers.

    Workers request the library's bytes when they lack them. The creator of the executor closes it.
    """

    def __init__(self, executor: Executor, workers: int) -> None:
        if workers < 1:
            raise ArgumentValueError(f"an engine must have at least one worker, not {workers}")
        self.executor, self.workers, self.ahead = executor, workers, workers
        self._handle: Handle | None = None
        self._is_asked = False

    def prepare(self, handle: Handle) -> None:
        """Store the bytes for workers that ask for them."""
        self._handle = handle

    def submit(self, task: Task, parts: Mapping[str, Any], known: Any, retries: int) -> Any:
        """A future of the executor."""
        return self.executor.submit(run_chunk, task, parts, known)

    def is_loss(self, error: BaseException) -> bool:
        """Is it a pool with a dead process, or a worker without the library?"""
        return isinstance(error, MissingLibrary | BrokenProcessPool)


class Threads(Pool):
    """Threads of this process: calls of compiled functions run in parallel, and so do reads."""

    def __init__(self, workers: int | None = None) -> None:
        count = (os.cpu_count() or 1) if workers is None else workers
        super().__init__(ThreadPoolExecutor(max(count, 1), "aotensor-chunk"), count)

    def close(self) -> None:
        """End the threads."""
        self.executor.shutdown(cancel_futures=True)


class Processes(Pool):
    """Processes of this machine. One that dies is replaced, and its chunk is computed again.

    Arrays in memory are written to files once, in shared memory if possible.
    """

    def __init__(self, workers: int | None = None) -> None:
        count = min(os.cpu_count() or 1, here.WORKERS) if workers is None else workers
        if count < 1:
            raise ArgumentValueError(f"an engine must have at least one worker, not {count}")
        if count > here.WORKERS:
            raise ArgumentValueError(f"an engine of processes must have at most {here.WORKERS} workers, not {count}")
        shared = Path("/dev/shm")
        self._folder = new_folder("aotensor-", shared if os.access(shared, os.W_OK) else None)
        self._files = 0
        self.workers = count
        super().__init__(self._new(None), count)

    def _new(self, handle: Handle | None) -> ProcessPoolExecutor:
        start = None if handle is None else handle.install
        return ProcessPoolExecutor(self.workers, get_context("spawn"), _begin, (start,))

    def close(self) -> None:
        """End the processes, including those with abandoned chunks, and remove the files."""
        running = list((getattr(self.executor, "_processes", None) or {}).values())
        self.executor.shutdown(wait=False, cancel_futures=True)
        for process in running:
            process.terminate()
        self.executor.shutdown()
        shutil.rmtree(self._folder, ignore_errors=True)

    def prepare(self, handle: Handle) -> None:
        """Start processes that load the library."""
        if self._handle is None or self._handle.digest != handle.digest:
            self.executor.shutdown()
            self.executor = self._new(handle)
        self._handle = handle

    def submit(self, task: Task, parts: Mapping[str, Any], known: Any, retries: int) -> Any:
        """A future of the processes; of new ones if one has died, whose futures fail one by one."""
        try:
            return super().submit(task, parts, known, retries)
        except BrokenProcessPool:
            self.executor.shutdown(wait=False)
            self.executor = self._new(self._handle)
            return super().submit(task, parts, known, retries)

    def keep(self, source: Source) -> Source:
        """Write an array in memory to a file that workers read."""
        if not isinstance(source, ArraySource):
            return source
        return Npy(self._written(lambda path: np.save(path, source.array, allow_pickle=False)), source.axis)

    def share(self, known: Mapping[str, Any]) -> Any:
        """Write large values to a file, which a worker reads once."""
        if sum(x.nbytes for x in known.values() if isinstance(x, np.ndarray)) < _LARGE:
            return known

        def write(path: Path) -> None:
            path.write_bytes(pickle.dumps(known, pickle.HIGHEST_PROTOCOL))

        return SharedFile(str(self._written(write)))

    def _written(self, write: Any) -> Path:
        self._files += 1
        path = self._folder / f"{self._files}.npy"
        with writes_to(self._folder, "folder of shared arrays", _SPACE):
            write(path)
        return path


def _begin(install: Any) -> None:
    if install is not None:
        install()


@dataclass(frozen=True)
class SharedFile:
    """Values in a file of the engine."""

    where: str

    def read(self) -> Any:
        """Read the values."""
        return _read_shared(self.where)


@lru_cache(1)
def _read_shared(path: str) -> Any:
    return pickle.loads(Path(path).read_bytes())
