"""How long one contender takes from nothing to something that can be called. A process of its own; seconds on stdout.

    python benchmarks/compiling.py CASE aotensor|JAX|PyTensor|CasADi

Imports come first and do not count, nor does making the inputs. No cache on disk is warm. The time includes the graph
and its gradient; for aotensor also the link and the load, for PyTensor the first call, for CasADi gcc.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

os.environ["PYTENSOR_FLAGS"] = f"base_compiledir={tempfile.mkdtemp()}"  # read when PyTensor is imported
os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp()

import peers
from cases import CASES
from contenders import Model


def _casadi(ca: Any, model: Model) -> Any:
    f = model.casadi(ca)
    return None if f is None else peers.compile_casadi(ca, f)


# contender → modules that it needs, the way to something that can be called
CONTENDERS: Final[dict[str, tuple[tuple[str, ...], Callable[[Any, Model], Any]]]] = {
    "aotensor": (
        ("aotensor", "aotensor.tensor", "aotensor.gradient", "aotensor.driver.compiled", "aotensor_runtime"),
        lambda _, model: peers.compile_aotensor(model),
    ),
    "JAX": (("jax", "jax.numpy", "jax.scipy.special", "jax.scipy.linalg"), peers.compile_jax),
    "PyTensor": (
        ("pytensor", "pytensor.tensor", "pytensor.link.numba.dispatch", "pytensor.scan"),
        peers.compile_pytensor,
    ),
    "CasADi": (("casadi",), _casadi),
}


def main() -> None:
    case, contender = sys.argv[1:]
    modules, make = CONTENDERS[contender]
    model = CASES[case]()
    first, *_ = [importlib.import_module(name) for name in modules]
    if contender == "JAX":
        first.devices()  # starts the backend
    start = perf_counter()
    made = make(first, model)
    print(perf_counter() - start if made is not None else "none")


if __name__ == "__main__":
    main()
