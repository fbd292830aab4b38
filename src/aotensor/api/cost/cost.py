"""Predict the cost of a call: its work by formulas of the dims, and its time by a roofline model.

The time is that of an empty call plus the longest of the times for the bytes of its arguments, for its
operations, for reads and writes in its loops, and for random accesses (Williams, Waterman & Patterson 2009).
The speeds are measured once on this machine; the fractions of them that code reaches are fixed constants.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from aotensor.api.cost.clock import time_calls
from aotensor.api.cost.limits import Limits, bound, gather_of, measured_limits, stream_of
from aotensor.api.cost.work import argument_bytes, evaluated, flops_of, work_of
from aotensor.driver.folder import compiler_identity, store
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor_runtime import LibraryFunction
from aotensor_runtime.machine import cpu_flags
from aotensor_runtime.notebook.html import card, table
from aotensor_runtime.signature import FunctionSpec

_REACHED: Final = 0.6
"""Fraction of the multiply-add rate that operations in loops reach: not all are multiply-adds."""
_SCALAR: Final = 0.06
"""The same outside of loops: no vectors, and operations depend on each other."""
_FACTORED: Final = 0.2
"""Fraction of the rate of products that LAPACK routines reach."""
_LOADS: Final = 2.0
"""Bytes that loops read and write in the time of one operation: half of what vector instructions allow."""
_GATHERED: Final = (1 << 11, 1 << 16, 1 << 22)
"""Elements of arrays for random accesses: one array for each cache level, one for memory."""
_PLACES: Final = 1 << 16
_STREAMS: Final = (1 << 10, 1 << 14, 1 << 18, 1 << 22)
"""Elements of each of three arrays: one size for each cache level, one for memory."""
_SECONDS: Final = 0.1
"""Seconds per measurement."""


@dataclass(frozen=True)
class Cost:
    """The estimated cost of one call of a function on arrays of these sizes.

    flops: floating point operations, None if they are not known; is_exact: not more than that, as they may be where
    loops depend on values. bytes: of inputs and outputs, each touched once, None if a size follows from values.
    workspace: bytes in addition. seconds: an estimate for `threads` threads on this machine, of the known part of
    the work where is_exact is false or bytes are not known. bound: the bottleneck: "memory", "arithmetic", "loads"
    of loops from caches, "places" that are read at random, or the "call".
    """

    function: str
    sizes: Mapping[str, int]
    threads: int
    flops: float | None
    is_exact: bool
    bytes: float | None
    workspace: int
    seconds: float
    bound: str

    def __str__(self) -> str:
        return "\n".join(f"{name:10} {text}" for name, text in self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        sizes = ", ".join(f"{name}={n}" for name, n in self.sizes.items()) or "-"
        threads = f"{self.threads} thread{'s' * (self.threads > 1)}"
        word = "about" if self.is_exact and self.bytes is not None else "at least"
        return [
            ("function", self.function),
            ("sizes", sizes),
            ("flops", _shown(self.flops, "" if self.is_exact else "at least ")),
            ("bytes", _shown(self.bytes, "")),
            ("workspace", f"{self.workspace} bytes"),
            ("time", f"{word} {self.seconds * 1e6:.3g} us on {threads}, bound by {self.bound}"),
        ]

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return {**asdict(self), "sizes": dict(self.sizes)}

    def _repr_html_(self) -> str:
        """HTML for notebooks: a table."""
        return card(f"cost of {self.function}", "", table(["", ""], self._rows()))


def _shown(value: float | None, least: str) -> str:
    return "not known before values are" if value is None else f"{least}{value:.6g}"


def cost_of(compiled: LibraryFunction, sizes: Mapping[str, object], threads: int) -> Cost:
    """The cost of a call.

    Raises: GraphValueError for a missing or unknown dim; GraphTypeError for anything but an extent
    """
    spec = compiled.spec
    dims = _dims(spec, sizes)
    flops, is_exact = flops_of(compiled.library, spec.name, dims)
    bytes = evaluated(argument_bytes(spec), dims)[0]
    dense = evaluated(argument_bytes(spec, is_dense=True), dims)[0]
    machine = machine_of(threads)
    times = {
        "call": machine.call,
        **machine.times(bytes or 0.0, dense or 0.0, work_of(compiled.library, spec.name, dims)),
    }
    longest = max(times, key=times.__getitem__)
    seconds = machine.call + max(time for name, time in times.items() if name != "call")
    shown = {name: n for name, n in dims.items() if name in _named(spec)}
    workspace = compiled.workspace_bytes(**{name: dims[name] for name in spec.workspace_dims})
    return Cost(spec.name, shown, threads, flops, is_exact, bytes, workspace, seconds, longest)


def _named(spec: FunctionSpec) -> list[str]:
    """The extents of dims by name: those of arrays and matrices, and numbers of stored entries."""
    return [*spec.workspace_dims]


def _dims(spec: FunctionSpec, sizes: Mapping[str, object]) -> dict[str, int]:
    wanted, dims = _named(spec), dict[str, int]()
    for name, n in sizes.items():
        if name not in wanted:
            raise GraphValueError(f"{spec.name} has no dim {name}", hint=f"its dims are {', '.join(wanted) or 'known'}")
        if not isinstance(n, int | np.integer) or isinstance(n, bool):
            raise GraphTypeError(f"{spec.name}: {name} must be an extent, a whole number, not {n!r:.50}")
        if n < 0:
            raise GraphValueError(f"{spec.name}: the extent {name} is negative: {n}")
        dims[name] = int(n)
    missing = [name for name in wanted if name not in sizes]
    if missing:
        raise GraphValueError(
            f"{spec.name}: the cost depends on the dims {', '.join(missing)}, which have no sizes",
            hint=f"give {missing[0]}=1000, for example",
        )
    for group in spec.sparse_inputs:
        pattern, _, _, indptr = spec.inputs[group.first : group.first + 4]
        major = pattern.shape[group.major]
        (count,) = indptr.shape
        if isinstance(count, str) and major is not None:
            dims[count] = (dims[major] if isinstance(major, str) else major) + 1
    return dims


@dataclass(frozen=True)
class Machine:
    """Measured rates of a machine at one number of threads.

    streams: (bytes of an array, bytes per second of a stream through it). gathers: (bytes of an array, elements per
    second that are read in it at random places). call: seconds of a call that computes almost nothing
    """

    limits: Limits
    streams: tuple[tuple[float, float], ...]
    gathers: tuple[tuple[float, float], ...]
    call: float

    def times(self, bytes: float, dense: float, work: Mapping[str, float]) -> dict[str, float]:
        """Seconds by bottleneck: bytes of inputs and outputs, operations, reads and writes of loops, random accesses.

        bytes: of inputs and outputs. dense: of those that are not parts of matrices
        """
        speeds = {
            "f64": _REACHED * self.limits.flops, "f32": 2 * _REACHED * self.limits.flops,
            "scalar": _SCALAR * self.limits.flops, "product64": self.limits.products,
            "product32": 2 * self.limits.products, "lapack": _FACTORED * self.limits.products,
        }  # fmt: skip
        return {
            "memory": bytes / _at(self.streams, bytes),
            "arithmetic": sum(work.get(kind, 0.0) / speed for kind, speed in speeds.items()),
            "loads": work.get("bytes", 0.0) / (_LOADS * self.limits.flops),
            "places": work.get("gathers", 0.0) / _at(self.gathers, dense),
        }


def machine_of(threads: int) -> Machine:
    """Rates of this machine: measured once in a second or two, and stored in the cache folder."""
    folder = store()
    key = f"{platform.node()} {platform.machine()} {sorted(cpu_flags())} {threads} {compiler_identity()} {_STREAMS}"
    name = f"limits/{hashlib.sha256(key.encode()).hexdigest()[:40]}.json"
    with suppress(ValueError, KeyError, TypeError):
        return _read(json.loads(folder.get(name) or b""))
    machine = _measured(threads)
    text = {
        "limits": vars(machine.limits), "streams": machine.streams, "gathers": machine.gathers, "call": machine.call
    }  # fmt: skip
    with suppress(OSError):  # then the next process measures again
        folder.put(name, json.dumps(text).encode())
    return machine


def _read(found: Any) -> Machine:
    streams = tuple((float(size), float(rate)) for size, rate in found["streams"])
    gathers = tuple((float(size), float(rate)) for size, rate in found["gathers"])
    return Machine(Limits(**found["limits"]), streams, gathers, float(found["call"]))


def _at(rates: tuple[tuple[float, float], ...], bytes: float) -> float:
    """The rate for this number of bytes, interpolated between the measured ones."""
    sizes, found = zip(*rates, strict=True)
    return float(np.interp(np.log(max(bytes, 1.0)), np.log(sizes), found))


def _measured(threads: int) -> Machine:
    stream = stream_of()
    arrays = {n: {"x": np.ones(n), "y": np.ones(n)} for n in (1, *_STREAMS)}
    calls = {n: bound(stream, threads, **x) for n, x in arrays.items()}
    times = {n: timing.best for n, timing in time_calls(calls, _SECONDS).items()}
    streams = tuple((24.0 * n, 24.0 * n / (times[n] - 0.5 * min(times[1], times[n]))) for n in _STREAMS)
    places = np.random.default_rng(0)
    gather = gather_of()
    reads = {n: {"x": np.ones(n), "places": places.integers(0, n, _PLACES).astype("int32")} for n in _GATHERED}
    gathered = time_calls({n: bound(gather, threads, **x) for n, x in reads.items()}, _SECONDS)
    gathers = tuple((8.0 * n, _PLACES / timing.best) for n, timing in gathered.items())
    return Machine(measured_limits([threads], _SECONDS)[threads], streams, gathers, times[1])
