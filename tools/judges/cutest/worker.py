"""Problems, one after the other: values and derivatives by JAX and by us, and their times. A line of JSON for each.

    python -m tools.judges.cutest.worker PROBLEM...

Both differentiate the same Lagrangian f + λ·g, with fixed random λ. Compile times are processor seconds.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any

# One core, before JAX starts
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
os.environ["JAX_ENABLE_X64"] = "1"  # before sif2jax makes its constants
os.environ.setdefault("OMP_NUM_THREADS", "1")

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from tools.judges.cutest.problems import problem_of
from tools.judges.workers import shortest

import aotensor as aot
import aotensor.tensor as at
from aotensor.importers.jax import from_jax

Numbers = np.ndarray[Any, Any]
TIMING = 0.2
"""Seconds of timing for each figure."""


def program_of(problem: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Objective and constraints of a vector, equalities first.   (n,) → (), (m,)"""

    def program(y: Any) -> tuple[Any, Any]:
        value = jnp.asarray(problem.objective(y, problem.args), y.dtype)
        if not hasattr(problem, "constraint"):
            return value, jnp.zeros((0,), y.dtype)
        return value, ravel_pytree([x for x in problem.constraint(y) if x is not None])[0].astype(y.dtype)

    return program


def points_of(problem: Any) -> list[Numbers]:
    """The start and two random points near it; elements that would violate their bounds stay at the start."""
    start = np.asarray(problem.y0, "float64")
    lower, upper = getattr(problem, "bounds", None) or (-np.inf, np.inf)
    points, rng = [start], np.random.default_rng(0)
    for _ in range(2):
        x = start + 0.1 * (1 + np.abs(start)) * rng.normal(size=start.shape)
        points.append(np.where((x > lower) & (x < upper), x, start))
    return points


def difference(found: Any, wanted: Any) -> float:
    """The largest difference over elements that are finite in JAX, relative to the largest element; inf if one of ours
    is not finite.
    """
    found, wanted = np.asarray(found, float).ravel(), np.asarray(wanted, float).ravel()
    known = np.isfinite(wanted)
    if not known.any():
        return 0.0
    if not np.isfinite(found[known]).all():
        return float("inf")
    return float(np.abs(found - wanted)[known].max() / max(np.abs(wanted[known]).max(), 1e-8))


class Ours:
    """The problem as an `aotensor.nlp`, and the value and gradient of its Lagrangian."""

    def __init__(self, program: Callable[..., Any], n: int, m: int) -> None:
        start = process_time()
        imported = from_jax(program, jax.ShapeDtypeStruct((n,), "float64"), name="program")
        x, (f, g) = imported.inputs[0], imported.outputs
        lam = at.vector("lam", shape=(m,))
        value = f + at.dot(lam, g) if m else f
        slope = aot.grad(value, x, disconnected_inputs="ignore")
        both = aot.function([x, lam], {"value": value, "slope": slope}, name="both", on_unused_input="ignore")
        self.facts: dict[str, float] = {"import": process_time() - start}
        self.both = _loaded(both)
        self.facts["compile"] = process_time() - start
        start = process_time()
        self.nlp = aot.nlp(x, f, g if m else None, name="problem")
        self.hessian = _loaded(self.nlp.hess_l)
        self.facts["compile_hessian"] = process_time() - start
        self.facts["entries"] = len(self.nlp.hess_l_pattern.indices)
        self.f, self.g = _loaded(self.nlp.f), _loaded(self.nlp.g)
        self.jacobian = _loaded(self.nlp.jac_g) if m else None

    def symmetric(self, x: Numbers, lam: Numbers) -> Numbers:
        """The Hessian of the Lagrangian, dense.   → (n, n)"""
        lower = self.hessian(x, 1.0, lam).toarray()
        return np.asarray(lower + lower.T - np.diag(np.diag(lower)))


def _loaded(function: aot.Function) -> Any:
    made = aot.compile(function, tempfile.mkdtemp(), threads=False)
    return getattr(made.load(), str(function.name))


def measured(problem: Any) -> dict[str, Any]:
    """Measure a problem.   Raises: AotensorError if it is refused"""
    start = np.asarray(problem.y0, "float64")
    program = program_of(problem)
    m = jax.eval_shape(program, start)[1].shape[0]
    lam = np.random.default_rng(1).normal(size=m)

    def lagrangian(y: Any, weights: Any) -> Any:
        f, g = program(y)
        return f + weights @ g

    ours = Ours(program, start.size, m)
    began = process_time()
    both = jax.jit(jax.value_and_grad(lagrangian)).lower(start, lam).compile()
    theirs = {"compile": process_time() - began}
    began = process_time()
    hessian = jax.jit(jax.hessian(lagrangian)).lower(start, lam).compile()
    theirs["compile_hessian"] = process_time() - began
    jacobian = jax.jit(jax.jacrev(lambda y: program(y)[1]))
    errors = dict.fromkeys(("f", "g", "value", "gradient", "jacobian", "hessian"), 0.0)
    values = jax.jit(program)
    for x in points_of(problem):
        f, g = values(x)
        value, slope = both(x, lam)
        found = ours.both(x, lam)
        pairs = {"f": (ours.f(x), f), "g": (ours.g(x), g), "value": (found["value"], value)}
        pairs |= {"gradient": (found["slope"], slope), "hessian": (ours.symmetric(x, lam), hessian(x, lam))}
        if ours.jacobian is not None:
            pairs["jacobian"] = ours.jacobian(x).toarray(), jacobian(x)
        for key, (a, b) in pairs.items():
            errors[key] = max(errors[key], difference(a, b))
    given = jnp.asarray(start), jnp.asarray(lam)
    ours.facts["call"] = shortest(ours.both.bind(**_known(ours.both, start, lam)), TIMING)
    theirs["call"] = shortest(lambda: jax.block_until_ready(both(*given)), TIMING)
    ours.facts["call_hessian"] = shortest(ours.hessian.bind(**_known(ours.hessian, start, lam)), TIMING)
    theirs["call_hessian"] = shortest(lambda: jax.block_until_ready(hessian(*given)), TIMING)
    kind = type(problem).__mro__[1].__name__
    return {"kind": kind, "n": start.size, "m": m, "errors": errors, "ours": ours.facts, "theirs": theirs}


def _known(function: Any, x: Numbers, lam: Numbers) -> dict[str, Any]:
    """The inputs of a function by name: x, sigma, lam."""
    names = [one.name for one in function.spec.inputs]
    values = {"sigma": 1.0, "lam": lam}
    return {name: values.get(name, x) for name in names}


def main(names: Sequence[str]) -> None:
    """Print a line for each problem: what is measured, or {"failed": why}."""
    for name in names:
        try:
            found = measured(problem_of(name))
        except Exception as error:  # of the problem's own, or a bug: a row either way
            found = {"failed": f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"}
        sys.stdout.write(json.dumps({"name": name, **found}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
