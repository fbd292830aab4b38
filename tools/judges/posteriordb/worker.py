"""Value, gradient and times of one model by one contender, in a process of its own: JSON on standard output.

python -m tools.judges.posteriordb.worker CONTENDER MODEL DATA [STAN]

It stays on one core.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

if __name__ == "__main__" and hasattr(os, "sched_setaffinity"):  # before NumPy and others start their threads
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import numpy as np
from tools.judges.posteriordb.data import Recorded, recorded, text_of
from tools.judges.workers import shortest

Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Contender:
    """at: log density and gradient of a point; call: computes both on fixed buffers, `repeats` times; facts: sizes and
    times of its making.
    """

    at: Callable[[Numbers], tuple[float, Numbers]]
    call: Callable[[], Any]
    facts: dict[str, float]
    repeats: int = 1


def by_aotensor(one: Recorded, folder: Path, _: Path | None) -> Contender:
    """A library, without threads."""
    from tools.judges.posteriordb.models import density

    import aotensor as aot

    start = process_time()
    q, value = density(one.model, one, folder)
    f = aot.function([q], {"value": value, "gradient": aot.grad(value, q)}, name="model")
    graph = process_time() - start
    made = aot.compile(f, tempfile.mkdtemp(), threads=False)
    took = process_time() - start
    loaded = made.load().model

    def at(x: Numbers) -> tuple[float, Numbers]:
        found = loaded(x)
        return float(found["value"]), found["gradient"]

    facts = {"graph": graph, "compile": took, "bytes": Path(made.library).stat().st_size}
    return Contender(at, loaded.bind(q=one.point), facts)


def by_stanli(one: Recorded, folder: Path, stan: Path | None) -> Contender:
    """stanli's interpreter, called through its C interface."""
    import stanli

    assert stan is not None
    start = process_time()
    model = stanli.Model(stan_file=str(stan / f"{one.model}.stan"), data=text_of(folder, one.data))
    took = process_time() - start
    value, point, gradient = ctypes.c_double(), np.array(one.point), np.empty_like(one.point)
    pointers = [x.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for x in (point, gradient)]
    function, handle, reference = stanli._lib.stanli_grad, model._m, ctypes.byref(value)

    def call(_: Any = model) -> Any:
        return function(handle, pointers[0], reference, pointers[1])

    return Contender(model.log_prob_grad, call, {"compile": took})


def by_pytensor(one: Recorded, folder: Path, _: Path | None, backend: str) -> Contender:
    """A backend of PyTensor, in a compiled loop.   backend: "numba" or "jax" """
    from tools.judges.posteriordb.pytensor_models import by_jax, by_numba

    evaluate, loop, facts = {"numba": by_numba, "jax": by_jax}[backend](one, folder)
    evaluate(one.point)
    facts["cold"] = process_time()
    loop(1)
    start = perf_counter()
    loop(10)
    repeats = max(1, int(2e-3 / (perf_counter() - start) * 10))
    return Contender(evaluate, lambda: loop(repeats), facts, repeats)


CONTENDERS: dict[str, Callable[[Recorded, Path, Path | None], Contender]] = {
    "aotensor": by_aotensor,
    "stanli": by_stanli,
    **{backend: partial(by_pytensor, backend=backend) for backend in ("numba", "jax")},
}


def main(contender: str, name: str, data: str, stan: str = "") -> None:
    """Print the measurements: values and gradients at the recorded and a random point, seconds, bytes."""
    one = recorded(Path(data))[name]
    made = CONTENDERS[contender](one, Path(data), Path(stan) if stan else None)
    first = made.at(one.point)
    cold = process_time()
    # near the recorded point: far away some densities are not finite
    other = made.at(one.point + 0.05 * np.random.default_rng(0).normal(size=len(one.point)))
    found = {
        "values": [first[0], other[0]],
        "gradients": [first[1].tolist(), other[1].tolist()],
        "cold": cold,
        "call": shortest(made.call) / made.repeats,
        **made.facts,
    }
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
