"""Measure the time that one contender needs to build a callable, in a separate process; prints seconds.

    python benchmarks/compiling.py CASE aotensor|JAX

Imports come first and do not count, nor does making the inputs. The time includes the graph and its gradient; for
aotensor also the link and the load. Parts of libraries may be in the cache folder, the library itself never is.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

import peers
from cases import CASES
from contenders import Model

# contender → modules that it needs, the way to something that can be called
CONTENDERS: Final[dict[str, tuple[tuple[str, ...], Callable[[Any, Model], Any]]]] = {
    "aotensor": (
        ("aotensor", "aotensor.tensor", "aotensor.gradient", "aotensor.driver.artifact", "aotensor_runtime"),
        lambda _, model: peers.compile_aotensor(model),
    ),
    "JAX": (("jax", "jax.numpy", "jax.scipy.special", "jax.scipy.linalg"), peers.compile_jax),
}


def main() -> None:
    case, contender = sys.argv[1:]
    modules, make = CONTENDERS[contender]
    model = CASES[case].make(1.0)
    first, *_ = [importlib.import_module(name) for name in modules]
    if contender == "JAX":
        first.devices()  # starts the backend
    start = perf_counter()
    make(first, model)
    print(perf_counter() - start)


if __name__ == "__main__":
    main()
