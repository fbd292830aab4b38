"""The models in PyTensor, compiled by its Numba and JAX backends, which nutpie and PyMC's JAX samplers run.

Both samplers call the density inside of compiled loops, so that times are those of loops, without calls from Python.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from types import SimpleNamespace
from typing import Any

os.environ["PYTENSOR_FLAGS"] = f"numba__cache=False,cxx=,base_compiledir={tempfile.mkdtemp()}"  # no part is cached
os.environ["JAX_ENABLE_X64"] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import numpy as np
import pytensor
import pytensor.tensor as pt
from tools.judges.posteriordb.data import Recorded
from tools.judges.posteriordb.models import density
from tools.judges.posteriordb.parameters import Parameters
from tools.judges.posteriordb.symbols import at

import aotensor as aot

Numbers = np.ndarray[Any, Any]


class _Pytensor:
    """PyTensor's functions by the names of aotensor.tensor."""

    linalg = SimpleNamespace(
        cholesky=pt.linalg.cholesky, solve_triangular=pt.linalg.solve_triangular, eigh=pt.linalg.eigh
    )

    def __getattr__(self, name: str) -> Any:
        if not hasattr(pt, name):
            raise NotImplementedError(f"PyTensor has no {name}")
        return getattr(pt, name)

    @staticmethod
    def as_tensor(x: Any) -> Any:  # float64 for Python's numbers, too
        return pt.as_tensor(np.asarray(x))

    @staticmethod
    def logit(x: Any) -> Any:
        return pt.log(x) - pt.log1p(-x)

    @staticmethod
    def scan(step: Any, sequences: Any, starts: Any, others: Any = ()) -> Any:
        given = [pt.as_tensor(x) for x in sequences]
        return pytensor.scan(step, given, [pt.as_tensor(x) for x in starts], list(others))


class _Parameters(Parameters):
    """Stan's transforms in PyTensor."""

    def _known(self, kind: aot.Parameter, shape: tuple[int, ...]) -> Any:
        q = self.real(*shape)
        if kind.constraint == "ordered":
            self.terms.append(q[1:].sum())
            return at.cumsum(at.concatenate([q[:1], at.exp(q[1:])]))
        assert kind.lower is not None
        if kind.upper is None:
            self.terms.append(q.sum())
            return kind.lower + at.exp(q)
        self.terms.append((np.log(kind.upper - kind.lower) - at.softplus(q) - at.softplus(-q)).sum())
        return kind.lower + (kind.upper - kind.lower) * at.sigmoid(q)

    def simplex(self, n: int, *shape: int) -> Any:
        q, k = self.real(*shape, n - 1), np.arange(1.0, n)
        w, zero = q * (1 / np.sqrt(k * (k + 1))), np.zeros((*shape, 1))
        sums = at.cumsum(w[..., ::-1], axis=-1)[..., ::-1]
        z = at.concatenate([sums, zero], axis=-1) - at.concatenate([zero, k * w], axis=-1)
        logs = z - at.logsumexp(z, axis=-1, keepdims=True)
        self.terms.append((logs.sum(axis=-1) + 0.5 * np.log(n)).sum())
        return at.exp(logs)


Made = tuple[Callable[[Numbers], tuple[float, Numbers]], Callable[[int], Any], dict[str, float]]
"""Value and gradient at a point; a loop of so many evaluations; facts."""


def _graph(one: Recorded, folder: Path) -> tuple[Any, Any]:
    at.choose(_Pytensor())
    q = pt.tensor("q", shape=(len(one.point),), dtype="float64")
    return density(one.model, one, folder, q, _Parameters(q))


def by_numba(one: Recorded, folder: Path) -> Made:
    """Value and gradient by PyTensor's Numba backend, as nutpie compiles them."""
    import numba

    start = process_time()
    q, value = _graph(one, folder)
    function = pytensor.function([q], [value, pytensor.grad(value, q)], mode="NUMBA", trust_input=True)
    function(one.point)
    facts = {"compile": process_time() - start}
    compiled = function.vm.jit_fn

    @numba.njit
    def repeated(x, count):  # type: ignore[no-untyped-def]
        total = 0.0
        for _ in range(count):
            value, gradient = compiled(x)
            x = x + 0.0 * gradient
            total += value.item()
        return total

    def evaluate(x: Numbers) -> tuple[float, Numbers]:
        found = function(x)
        return float(found[0]), np.asarray(found[1])

    return evaluate, lambda count: repeated(one.point, count), facts


def by_jax(one: Recorded, folder: Path) -> Made:
    """Value by PyTensor's JAX backend and its gradient by JAX, as in PyMC's samplers."""
    import jax
    from pymc.sampling.jax import get_jaxified_graph

    start = process_time()
    q, value = _graph(one, folder)
    function = get_jaxified_graph([q], [value])
    both = jax.value_and_grad(lambda x: function(x)[0])
    compiled = jax.jit(both).lower(one.point).compile()
    facts = {"compile": process_time() - start}

    def body(_: Any, state: Any) -> Any:
        x, total = state
        value, gradient = both(x)
        return x + 0.0 * gradient, total + value

    repeated = jax.jit(lambda x, count: jax.lax.fori_loop(0, count, body, (x, 0.0)))

    def evaluate(x: Numbers) -> tuple[float, Numbers]:
        found = compiled(x)
        return float(found[0]), np.asarray(found[1])

    return evaluate, lambda count: jax.block_until_ready(repeated(one.point, count)), facts
