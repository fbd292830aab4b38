"""What a call will cost: its work by formulas of the dims, and the time that the roofline model gives it.

A call takes what a call takes that does nothing, and the longer one of the times for its bytes and for its operations
(Williams, Waterman & Patterson 2009). Bytes go at the speed of a stream through as much memory; operations at a part of
the speed of multiply-adds, that which the benchmarks of this project were found to reach.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from aotensor.api.cost.clock import timed
from aotensor.api.cost.limits import Limits, bound, measured_limits, stream_of
from aotensor.api.cost.work import argument_bytes, evaluated, flops_of
from aotensor.driver.folder import compiler_identity, store
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor_runtime import LibraryFunction
from aotensor_runtime.machine import cpu_flags
from aotensor_runtime.signature import FunctionSpec, html_table

_REACHED: Final = 0.25
"""Part of the speed of multiply-adds that operations go at: the median over the benchmarks."""
_STREAMS: Final = (1 << 10, 1 << 14, 1 << 18, 1 << 22)
"""Elements of each of three arrays: those of each level of caches, and of memory."""
_SECONDS: Final = 0.1
"""For each measurement."""


@dataclass(frozen=True)
class Cost:
    """Of one call of a function on arrays of these sizes.

    flops: floating point operations, None if they are not known; is_exact: not more than that, as they may be where
    loops depend on values. bytes: of inputs and outputs, each touched once, None if a size follows from values.
    workspace: bytes beside them. seconds: an estimate, on so many threads, on this machine. bound: what takes longest,
    "memory", "arithmetic" or "call".
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
        return [
            ("function", self.function),
            ("sizes", sizes),
            ("flops", _shown(self.flops, "" if self.is_exact else "at least ")),
            ("bytes", _shown(self.bytes, "")),
            ("workspace", f"{self.workspace} bytes"),
            ("time", f"about {self.seconds * 1e6:.3g} us on {threads}, bound by {self.bound}"),
        ]

    def _repr_html_(self) -> str:
        """For notebooks: a table."""
        return html_table(f"cost of {self.function}", "", self._rows())


def _shown(value: float | None, least: str) -> str:
    return "not known before values are" if value is None else f"{least}{value:.6g}"


def cost_of(compiled: LibraryFunction, sizes: Mapping[str, object], threads: int) -> Cost:
    """The cost of a call.

    Raises: GraphValueError for a dim that is missing, or that there is none of; GraphTypeError for what is no extent
    """
    spec = compiled.spec
    dims = _dims(spec, sizes)
    flops, is_exact = flops_of(compiled.library, spec.name, dims)
    bytes = evaluated(argument_bytes(spec), dims)[0]
    machine = machine_of(threads)
    has_products = spec.calls_blas or bool(spec.lapack)
    times = {"call": machine.call, **machine.times(bytes or 0.0, flops or 0.0, has_products)}
    longest = max(times, key=times.__getitem__)
    seconds = machine.call + max(times["memory"], times["arithmetic"])
    shown = {name: n for name, n in dims.items() if name in _named(spec)}
    workspace = compiled.workspace_bytes(**{name: dims[name] for name in spec.workspace_dims})
    return Cost(spec.name, shown, threads, flops, is_exact, bytes, workspace, seconds, longest)


def _named(spec: FunctionSpec) -> list[str]:
    """The dims that sizes are given of: those of arrays and matrices, and the numbers of stored entries."""
    return [*spec.workspace_dims]


def _dims(spec: FunctionSpec, sizes: Mapping[str, object]) -> dict[str, int]:
    wanted = _named(spec)
    for name, n in sizes.items():
        if name not in wanted:
            raise GraphValueError(f"{spec.name} has no dim {name}", hint=f"its dims are {', '.join(wanted) or 'known'}")
        if not isinstance(n, int | np.integer) or isinstance(n, bool):
            raise GraphTypeError(f"{spec.name}: {name} is an extent, not {n!r:.50}")
        if n < 0:
            raise GraphValueError(f"{spec.name}: the extent {name} is negative: {n}")
    missing = [name for name in wanted if name not in sizes]
    if missing:
        raise GraphValueError(
            f"{spec.name}: the cost depends on {', '.join(missing)}", hint=f"give {missing[0]}=1000, for example"
        )
    dims = {name: int(n) for name, n in sizes.items()}  # type: ignore[call-overload]
    for group in spec.sparse_inputs:
        pattern, _, _, indptr = spec.inputs[group.first : group.first + 4]
        major = pattern.shape[group.major]
        (name,) = indptr.shape
        if isinstance(name, str) and major is not None:
            dims[name] = (dims[major] if isinstance(major, str) else major) + 1
    return dims


@dataclass(frozen=True)
class Machine:
    """What a machine can do on so many threads.

    streams: bytes, and bytes per second of a stream through as many. call: seconds of a call that does next to nothing
    """

    limits: Limits
    streams: tuple[tuple[float, float], ...]
    call: float

    def times(self, bytes: float, flops: float, has_products: bool) -> dict[str, float]:
        """Seconds for so many bytes, and for so many operations."""
        sizes, rates = zip(*self.streams, strict=True)
        bandwidth = float(np.interp(np.log(max(bytes, 1.0)), np.log(sizes), rates))
        speed = max(self.limits.products, self.limits.flops) if has_products else _REACHED * self.limits.flops
        return {"memory": bytes / bandwidth, "arithmetic": flops / speed}


def machine_of(threads: int) -> Machine:
    """This machine: measured once, for a second or two, and kept in the cache folder."""
    folder = store()
    key = f"{platform.node()} {platform.machine()} {sorted(cpu_flags())} {threads} {compiler_identity()} {_STREAMS}"
    name = f"limits/{hashlib.sha256(key.encode()).hexdigest()[:40]}.json"
    with suppress(ValueError, KeyError, TypeError):
        return _read(json.loads(folder.get(name) or b""))
    machine = _measured(threads)
    text = {"limits": vars(machine.limits), "streams": machine.streams, "call": machine.call}
    with suppress(OSError):  # then it is measured again in the next process
        folder.put(name, json.dumps(text).encode())
    return machine


def _read(found: Any) -> Machine:
    streams = tuple((float(size), float(rate)) for size, rate in found["streams"])
    return Machine(Limits(**found["limits"]), streams, float(found["call"]))


def _measured(threads: int) -> Machine:
    stream = stream_of()
    arrays = {n: {"x": np.ones(n), "y": np.ones(n)} for n in (1, *_STREAMS)}
    calls = {n: bound(stream, threads, **x) for n, x in arrays.items()}
    times = {n: timing.best for n, timing in timed(calls, _SECONDS).items()}
    streams = tuple((24.0 * n, 24.0 * n / (times[n] - 0.5 * min(times[1], times[n]))) for n in _STREAMS)
    return Machine(measured_limits([threads], _SECONDS)[threads], streams, times[1])
