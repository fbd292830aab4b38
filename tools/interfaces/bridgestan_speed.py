"""Log density and gradient of PyMC's models: by BridgeStan's symbols, and as PyMC compiles them with numba.

Both are called from compiled code, as samplers such as nutpie do.
"""

from __future__ import annotations

import ctypes
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numba
import numpy as np
import pymc as pm
import pytensor
from tools.interfaces.turns import machine, measured

from aotensor.importers.pymc import compile_logp


def main() -> None:
    """Print a table in Markdown: microseconds of a log density with its gradient."""
    warnings.simplefilter("ignore")
    click.echo(f"{machine()}; PyMC {pm.__version__}, numba {numba.__version__}\n")
    click.echo("| model | this library | PyMC, numba |\n|---|---:|---:|")
    for title, make in {
        "eight schools, 10 parameters": schools,
        "logistic regression, 12 parameters": regression,
    }.items():
        model = make()
        with tempfile.TemporaryDirectory() as folder:
            ours, found = _ours(model, Path(folder))
            theirs, expected = _theirs(model)
            np.testing.assert_allclose(found, expected, rtol=1e-8)
            times = measured({"ours": ours, "theirs": theirs})
            click.echo(f"| {title} | {times[0]} | {times[1]} |")


def schools() -> Any:
    """The model of docs/howto/bridgestan.md."""
    with pm.Model() as model:
        effects = pm.Data("effects", np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]))
        errors = pm.Data("errors", np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]))
        mu, tau, z = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5), pm.Normal("z", 0, 1, shape=8)
        pm.Normal("y", mu + tau * z, sigma=errors, observed=effects)
    return model


def regression() -> Any:
    """Binary outcomes of 2000 rows in 10 groups."""
    rng = np.random.default_rng(0)
    with pm.Model() as model:
        x, group = pm.Data("x", rng.normal(size=2000)), pm.Data("group", rng.integers(0, 10, 2000))
        slope, tau = pm.Normal("slope", 0, 1), pm.HalfNormal("tau", 1.0)
        a = pm.Normal("a", 0, tau, shape=10)
        pm.Bernoulli("y", logit_p=a[group] + slope * x, observed=rng.integers(0, 2, 2000))
    return model


def _point(model: Any) -> np.ndarray:
    size = sum(x.size for x in model.initial_point().values())
    return 0.3 * np.random.default_rng(1).normal(size=size)


def _ours(model: Any, folder: Path) -> tuple[Callable[[int], None], np.ndarray]:
    lib = ctypes.CDLL(str(compile_logp(model, folder, name="model", abi="bridgestan").library))
    lib.bs_model_construct.restype = ctypes.c_void_p
    made = lib.bs_model_construct(None, ctypes.c_uint(0), None)
    entry = lib.bs_log_density_gradient
    entry.argtypes = [ctypes.c_void_p, ctypes.c_uint8, ctypes.c_uint8, *[ctypes.c_void_p] * 4]
    q, value = _point(model), np.zeros(1)
    slope = np.zeros(len(q))
    addresses = made, q.ctypes.data, value.ctypes.data, slope.ctypes.data

    @numba.njit
    def repeated(count: int, given: int, q: int, value: int, slope: int) -> int:
        failed = 0
        for _ in range(count):
            failed += entry(given, 1, 1, q, value, slope, 0)
        return failed

    def run(count: int, alive: Any = (lib, q, value, slope)) -> None:
        assert repeated(count, *addresses) == 0

    run(1)
    return run, np.concatenate([value, slope])


def _theirs(model: Any) -> tuple[Callable[[int], None], np.ndarray]:
    start = {x.name: model.initial_point()[x.name] for x in model.value_vars}
    (logp,), q = pm.pytensorf.join_nonshared_inputs(start, [model.logp()], model.value_vars)
    f = pytensor.function([q], [logp, pytensor.gradient.grad(logp, q)], mode="NUMBA")
    value, slope = f(_point(model))
    compiled, given = f.vm.jit_fn, tuple(x.storage[0] for x in f.input_storage)
    given = (_point(model), *given[1:])

    @numba.njit
    def repeated(count: int, given: Any) -> float:
        total = 0.0
        for _ in range(count):
            total += compiled(*given)[0][()]
        return total

    def run(count: int) -> None:
        repeated(count, given)

    run(1)
    return run, np.concatenate([[value], slope])
