"""Time per gradient of the models of examples/pymc_models.py: this compiler, and PyMC's backends Numba, C and JAX.

    taskset -c 0 python benchmarks/posteriors.py

Needs PyMC, nutpie and JAX. Each contender is called from Python as cheaply as it can be: the library bound to fixed
arrays; nutpie's function, compiled by Numba, through its pointer, as nutpie's sampler calls it; PyTensor's functions
with trusted input; JAX's jitted value and gradient until it is ready. All gradients are compared first. The contenders
take turns, the shortest of many averages counts. Results go to benchmarks/results/posteriors.md.
"""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "examples"))
ROUNDS = 15
SLICE = 0.1  # seconds of one average

Gradient = Callable[[], Any]


def by_library(model: Any, q: np.ndarray) -> tuple[Gradient, np.ndarray]:
    """A library of ours, bound to its arrays."""
    from aotensor.importers.pymc import compile_logp

    made = compile_logp(model, tempfile.mkdtemp(), name="model", threads=False)
    f = made.load().dlogp
    return f.bind(q=q), f(q)["dlogp"]


def by_pytensor(mode: str) -> Callable[[Any, np.ndarray], tuple[Gradient, np.ndarray]]:
    """PyMC's own function of value and gradient in a mode of PyTensor."""

    def made(model: Any, q: np.ndarray) -> tuple[Gradient, np.ndarray]:
        f = model.logp_dlogp_function(ravel_inputs=True, mode=mode)
        f.set_extra_values({})
        inner = f._pytensor_function
        inner.trust_input = True
        return lambda: inner(q), np.asarray(f(q)[1])

    return made


def by_nutpie(model: Any, q: np.ndarray) -> tuple[Gradient, np.ndarray]:
    """The function that nutpie samples by."""
    import nutpie

    compiled = nutpie.compile_pymc_model(model)
    slope, value = np.empty_like(q), np.empty(())
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_uint64, *(ctypes.c_void_p for _ in range(4)))(
        compiled.compiled_logp_func.address
    )
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (q, slope, value, compiled.user_data)]
    size = ctypes.c_uint64(q.size)

    def gradient() -> Any:
        return call(size, *pointers)

    gradient.kept = compiled  # type: ignore[attr-defined]
    assert gradient() == 0
    return gradient, slope


def by_jax(model: Any, q: np.ndarray) -> tuple[Gradient, np.ndarray]:
    """The log density that PyMC passes to samplers in JAX, with the gradient by JAX."""
    import jax
    from pymc.sampling.jax import get_jaxified_logp

    from aotensor.importers.pymc import slices

    jax.config.update("jax_enable_x64", True)
    logp = get_jaxified_logp(model)
    parts = slices(model)

    def of_vector(q: Any) -> Any:
        return logp([q[part.start : part.stop].reshape(part.shape) for part in parts])

    f = jax.jit(jax.value_and_grad(of_vector))
    given = jax.numpy.asarray(q)
    return lambda: f(given)[1].block_until_ready(), np.asarray(f(given)[1])


CONTENDERS = {
    "aotensor": by_library,
    "nutpie, Numba": by_nutpie,
    "PyMC, Numba": by_pytensor("NUMBA"),
    "PyMC, C": by_pytensor("CVM"),
    "PyMC, JAX": by_jax,
}


def seconds(call: Gradient, loops: int) -> float:
    start = perf_counter()
    for _ in range(loops):
        call()
    return (perf_counter() - start) / loops


def measure(model: Any) -> dict[str, tuple[float, float]]:
    """Contender → microseconds per gradient, seconds to compile.   Raises: AssertionError where gradients differ"""
    from aotensor.importers.pymc import slices

    q = 0.3 * np.random.default_rng(0).normal(size=slices(model)[-1].stop)
    calls: dict[str, tuple[Gradient, float]] = {}
    expected = None
    for name, make in CONTENDERS.items():
        start = perf_counter()
        call, slope = make(model, q)
        calls[name] = call, perf_counter() - start
        expected = slope.copy() if expected is None else expected
        assert np.allclose(slope, expected, rtol=1e-8, atol=1e-8), name
    loops = {name: max(1, int(SLICE / seconds(call, 3))) for name, (call, _) in calls.items()}
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, (call, _) in calls.items():
            best[name] = min(best[name], seconds(call, loops[name]))
    return {name: (1e6 * best[name], took) for name, (_, took) in calls.items()}


def main() -> None:
    warnings.simplefilter("ignore")
    import pymc_models

    from aotensor.importers.pymc import slices

    rows = [
        f"| model | parameters | {' | '.join(CONTENDERS)} | of the best other | seconds to compile |",
        f"|---|---:|{'---:|' * len(CONTENDERS)}---:|---:|",
    ]
    for name in sys.argv[1:] or pymc_models.MODELS:
        model = pymc_models.MODELS[name]()
        found = measure(model)
        times = [time for time, _ in found.values()]
        compiling = " / ".join(f"{took:.1f}" for _, took in found.values())
        shown = " | ".join(f"{time:.3g}" for time in times)
        rows.append(f"| {name} | {slices(model)[-1].stop} | {shown} | {times[0] / min(times[1:]):.2f} | {compiling} |")
        print(rows[-1], flush=True)
    packages = ", ".join(f"{name} {version(name)}" for name in ("pymc", "pytensor", "numba", "nutpie", "jax"))
    text = [
        f"Written by `taskset -c 0 python benchmarks/posteriors.py`: one core of {os.cpu_count()}, {packages}.",
        "Microseconds of value and gradient, called from Python; compiling in the order of the columns.",
        "",
        *rows,
    ]
    if not sys.argv[1:]:
        (HERE / "results" / "posteriors.md").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
