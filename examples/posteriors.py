"""Posteriors of models of PyMC, sampled by nutpie through their libraries, beside what PyMC samples.

    python examples/posteriors.py [model ...]      of eight_schools, radon, mauna_loa, lip_cancer

Needs PyMC and nutpie: pip install 'aotensor[pymc]' nutpie
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import nutpie
import pymc as pm
from nutpie.compiled_pyfunc import from_pyfunc
from pymc_models import MODELS

from aotensor.importers.pymc import compile_logp, slices

DRAWS, TUNE, CHAINS = 1000, 500, 2


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


def moments(trace: Any, names: list[str]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Mean and standard deviation of each parameter."""
    draws = {name: np.asarray(trace.posterior[name]) for name in names}
    return {name: (x.mean(axis=(0, 1)), x.std(axis=(0, 1))) for name, x in draws.items()}


def main() -> None:
    options = {"draws": DRAWS, "tune": TUNE, "chains": CHAINS, "progress_bar": False}
    for name in sys.argv[1:] or MODELS:
        model = MODELS[name]()
        names = [x.name for x in model.free_RVs]
        compiled = compiled_for_nutpie(model, name)
        started = time.perf_counter()
        ours = moments(nutpie.sample(compiled, seed=1, **options), names)
        middle = time.perf_counter()
        with model:
            trace = pm.sample(DRAWS, tune=TUNE, chains=CHAINS, cores=1, random_seed=2, progressbar=False)
        theirs = moments(trace, names)
        took = time.perf_counter() - middle
        apart = max(float(np.max(np.abs(ours[n][0] - theirs[n][0]) / theirs[n][1])) for n in names)
        print(
            f"{name}: {CHAINS * DRAWS} draws in {middle - started:.1f} s through the library, in {took:.1f} s by PyMC;"
            f" means differ by at most {apart:.3f} standard deviations"
        )


if __name__ == "__main__":
    main()
