"""`python -m aotensor.api.profiling.child FOLDER` calls a library and samples it, in a process of its own.

FOLDER holds `library`, `libsampler.so` and `task.json`; one JSON object for each function is printed.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from aotensor.api.cost.inputs import dims_of, make_inputs
from aotensor.api.cost.turns import in_turns
from aotensor.api.profiling.sampler import Sampler
from aotensor.errors import AotensorError, ArgumentValueError
from aotensor_runtime import Library
from aotensor_runtime.elf import ElfFile

_INNER: Final = 0.02
"""Seconds of calls between two looks at the clock."""


def profiled(library: Library, name: str, path: Path, task: Mapping[str, Any]) -> dict[str, Any]:
    """Times and samples of one function.   path: of the compiled sampler"""
    f = library.functions[name]
    dims = dims_of(f.spec, {key: n for key, n in task["sizes"].items() if key in dims_of(f.spec, {})})
    inputs = make_inputs(f, dims, task["seed"])
    bound = f.bind(**inputs, num_threads=task["threads"])
    bound()
    text = ElfFile(library.data).sections[".text"]
    low = f.pointer.address - _symbol(library, f.pointer.address)
    sampler = Sampler(path, low, low + text.offset + text.size)
    address = ctypes.addressof(bound.call)
    sampler.run(address, 1, False)
    sampler.watch_threads()
    times = _times(partial(sampler.run, address, is_sampled=False))

    def call(is_sampled: bool) -> None:
        status = sampler.run(address, times, is_sampled)
        if status:
            raise ArgumentValueError(f"{name} ends with status {status} on random inputs", hint="give other sizes")

    ratio = in_turns(lambda: partial(call, False), lambda: partial(call, True), task["seconds"] / 2)
    end = perf_counter() + task["seconds"]
    while perf_counter() < end:
        sampler.watch_threads()
        call(True)
    return {
        "function": name,
        "dims": dims,
        "threads": sampler.watch_threads(),
        "seconds": ratio.old / times,
        "overhead": [ratio.ratio - 1, ratio.low - 1, ratio.high - 1],
        "samples": [vars(x) for x in sampler.samples()],
    }


def _times(run: Callable[[int], int]) -> int:
    """The number of calls that take about `_INNER` seconds."""
    times, seconds = 1, 0.0
    while seconds < _INNER / 8 and times < 1 << 30:
        start = perf_counter()
        run(times)
        seconds = perf_counter() - start
        times *= 1 if seconds >= _INNER / 8 else 4
    return max(1, int(times * _INNER / seconds))


def _symbol(library: Library, address: int) -> int:
    """A function from address to offset in the library, by the load address that the dynamic loader reports."""

    class Info(ctypes.Structure):
        _fields_ = (
            ("file", ctypes.c_char_p), ("base", ctypes.c_void_p),
            ("name", ctypes.c_char_p), ("address", ctypes.c_void_p),
        )  # fmt: skip

    info = Info()
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    if not dladdr(address, ctypes.byref(info)) or not info.base:
        raise OSError("the dynamic loader does not know where the library is")
    return address - int(info.base)


def main(folder: Path) -> None:
    """Profile every function of the task, each in a process of its own."""
    task = json.loads((folder / "task.json").read_bytes())
    try:
        library = Library((folder / "library").read_bytes(), weights=task["weights"])
        found = profiled(library, task["function"], folder / "libsampler.so", task)
    except AotensorError as error:
        found = {"refusal": [error.diagnostic.title, error.diagnostic.hint]}
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    os._exit(0)  # threads may still get signals


if __name__ == "__main__":
    main(Path(sys.argv[1]))
