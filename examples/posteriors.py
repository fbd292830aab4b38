"""Posteriors of PyMC models, sampled by nutpie from their libraries and by PyMC itself.

    python examples/posteriors.py [model ...]      of eight_schools, radon, mauna_loa, lip_cancer

Needs PyMC and nutpie: pip install 'aotensor[pymc]' nutpie
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

# matrices of 144 rows gain nothing from threads of BLAS, which wait for each other on a machine that has other work
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import arviz as az
import numpy as np
import nutpie
import pymc as pm
from nutpie.compiled_pyfunc import from_pyfunc
from pymc_models import MODELS

from aotensor.importers.pymc import compile_logp, slices

DRAWS, TUNE, CHAINS = 1000, 500, 2
LENGTHS = {"mauna_loa": (300, 300)}  # draws and tuning: a gradient of PyMC's takes 7 ms there


def compiled_for_nutpie(model: pm.Model, name: str) -> Any:
    """A model of nutpie's that calls a library: the density by `dlogp`, all parameters by `constrain`."""
    lib = compile_logp(model, "build", name=name).load()
    size = slices(model)[-1].stop
    shapes = {name: value.shape for name, value in lib.constrain(np.zeros(size)).items()}

    def make_logp() -> Callable[..., tuple[float, np.ndarray]]:
        def logp(q: np.ndarray, **_: Any) -> tuple[float, np.ndarray]:
            value, slope = lib.dlogp(q).values()
            return float(value), slope

        return logp

    def make_expand(*_: Any) -> Callable[..., dict[str, np.ndarray]]:
        return lambda q, **_: dict(lib.constrain(q))

    dtypes = [np.dtype("float64") for _ in shapes]
    return from_pyfunc(size, make_logp, make_expand, dtypes, list(shapes.values()), list(shapes))


def moments(trace: Any, names: list[str]) -> dict[str, tuple[np.ndarray, ...]]:
    """Mean, standard deviation, and Monte Carlo error of the mean of each parameter."""
    errors = az.mcse(trace, var_names=names, method="mean")
    found = {}
    for name in names:
        x = np.asarray(trace.posterior[name])
        found[name] = x.mean(axis=(0, 1)), x.std(axis=(0, 1)), np.asarray(errors[name])
    return found


def apart(ours: dict[str, tuple[np.ndarray, ...]], theirs: dict[str, tuple[np.ndarray, ...]]) -> tuple[float, float]:
    """How far means are from each other at most: in standard deviations, and in errors of the difference."""
    gaps = [(np.abs(ours[n][0] - theirs[n][0]), theirs[n][1], np.hypot(ours[n][2], theirs[n][2])) for n in ours]
    return tuple(max(float(np.max(gap / sizes[k])) for gap, *sizes in gaps) for k in range(2))  # type: ignore[return-value]


def steps_of(trace: Any) -> int:
    """Gradients that the draws took, those of tuning left out."""
    return int(trace.sample_stats["n_steps"].sum())


def main() -> None:
    for name in sys.argv[1:] or MODELS:
        draws, tune = LENGTHS.get(name, (DRAWS, TUNE))
        options = {"draws": draws, "tune": tune, "chains": CHAINS}
        model = MODELS[name]()
        names = [x.name for x in model.free_RVs]
        compiled = compiled_for_nutpie(model, name)
        started = time.perf_counter()
        trace = nutpie.sample(compiled, seed=1, cores=1, progress_bar=False, **options)
        ours, steps = moments(trace, names), steps_of(trace)
        middle = time.perf_counter()
        with model:
            trace = pm.sample(cores=1, random_seed=2, progressbar=False, **options)
        theirs = moments(trace, names)
        took = time.perf_counter() - middle
        deviations, errors = apart(ours, theirs)
        count = sum(mean.size for mean, *_ in ours.values())
        print(
            f"{name}: {CHAINS * draws} draws in {middle - started:.1f} s through the library ({steps} gradients), in"
            f" {took:.1f} s by PyMC ({steps_of(trace)}); {count} means differ by at most {deviations:.3f} standard"
            f" deviations, {errors:.1f} Monte Carlo errors"
        )


if __name__ == "__main__":
    main()
