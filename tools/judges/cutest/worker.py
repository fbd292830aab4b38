"""Problems, one after the other: values and derivatives by JAX and by us, and their times. A line of JSON for each.

    python -m tools.judges.cutest.worker PROBLEM...

Both differentiate the same Lagrangian f + λ·g, with fixed random λ. Compile times are processor seconds.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import process_time
from typing import Any

# One core, before JAX starts
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
os.environ["JAX_ENABLE_X64"] = "1"  # before sif2jax makes its constants
os.environ.setdefault("OMP_NUM_THREADS", "1")

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jax.flatten_util import ravel_pytree
from tools.judges.cutest.problems import problem_of
from tools.judges.workers import shortest

import aotensor as aot
import aotensor.tensor as at
from aotensor.importers.jax import from_jax

Numbers = np.ndarray[Any, Any]
TIMING = 0.05
"""Seconds of timing for each figure."""
DENSE = 2000
"""Up to so many variables, dense matrices of derivatives are compared with JAX's; beyond, products with vectors."""
ROUNDING = 1e-15
"""A smaller part of the largest element may be rounding: `49/10 + (1/10 - 5)`."""
PATIENCE = 60
"""Seconds for a step of asdex."""


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

    def symmetric(self, x: Numbers, lam: Numbers) -> Any:
        """The Hessian of the Lagrangian.   → (n, n), sparse"""
        lower = self.hessian(x, 1.0, lam)
        return lower + lower.T - scipy.sparse.diags_array(lower.diagonal())


def _loaded(function: aot.Function) -> Any:
    made = aot.compile(function, tempfile.mkdtemp(), threads=False)
    return getattr(made.load(), str(function.name))


class Theirs:
    """The Lagrangian of a problem in JAX and its derivatives, dense up to DENSE variables, products beyond."""

    def __init__(self, program: Callable[..., Any], start: Numbers, lam: Numbers) -> None:
        def lagrangian(y: Any, weights: Any) -> Any:
            f, g = program(y)
            return f + weights @ g

        self.program, self.lagrangian, self.is_dense = program, lagrangian, start.size <= DENSE
        self.directions = np.random.default_rng(2).normal(size=(3, start.size))
        self.values = jax.jit(program)
        began = process_time()
        self.both = jax.jit(jax.value_and_grad(lagrangian)).lower(start, lam).compile()
        self.facts: dict[str, float] = {"compile": process_time() - began}
        if self.is_dense:
            began = process_time()
            self.hessian = jax.jit(jax.hessian(lagrangian)).lower(start, lam).compile()
            self.facts["compile_hessian"] = process_time() - began
        self.jacobian = jax.jit(jax.jacrev(lambda y: program(y)[1]))
        self.along = jax.jit(lambda y, w, v: jax.jvp(lambda z: jax.grad(lagrangian)(z, w), [y], [v])[1])
        self.slope_along = jax.jit(lambda y, v: jax.jvp(lambda z: program(z)[1], [y], [v])[1])

    def is_finite(self, x: Numbers, lam: Numbers) -> bool:
        """Have the functions values and a gradient at a point?"""
        value, slope = self.both(x, lam)
        return all(np.isfinite(y).all() for y in (*self.values(x), value, slope))

    def pairs(self, ours: Ours, x: Numbers, lam: Numbers) -> dict[str, tuple[Any, Any]]:
        """Our results and JAX's at a point, by name."""
        f, g = self.values(x)
        value, slope = self.both(x, lam)
        found = ours.both(x, lam)
        pairs = {"f": (ours.f(x), f), "g": (ours.g(x), g), "value": (found["value"], value)}
        pairs["gradient"] = found["slope"], slope
        hessian = ours.symmetric(x, lam)
        jacobian = None if ours.jacobian is None else ours.jacobian(x)
        if self.is_dense:
            pairs["hessian"] = hessian.toarray(), self.hessian(x, lam)
            if jacobian is not None:
                pairs["jacobian"] = jacobian.toarray(), self.jacobian(x)
            return pairs
        pairs["hessian"] = hessian @ self.directions.T, np.stack([self.along(x, lam, v) for v in self.directions], 1)
        if jacobian is not None:
            wanted = np.stack([self.slope_along(x, v) for v in self.directions], 1)
            pairs["jacobian"] = jacobian @ self.directions.T, wanted
        return pairs


def patterns(ours: Ours, theirs: Theirs, points: Sequence[Numbers], lam: Numbers) -> dict[str, Any]:
    """Numbers of stored entries: of the lower triangle of the Hessian, and of the Jacobian.

    ours, asdex: stored entries; true: elements that are not zero at one of the points, up to DENSE variables;
    missing: those of them, larger than rounding, that we do not store; extra: ours that asdex does not store. Or
    {"failed": why}
    """
    import asdex

    found: dict[str, Any] = {}
    cases = {"hessian": (ours.nlp.hess_l_pattern, lambda x: np.tril(theirs.hessian(x, lam)))}
    if ours.jacobian is not None:
        cases["jacobian"] = ours.nlp.jac_g_pattern, theirs.jacobian
    for name, (pattern, dense) in cases.items():
        n = points[0].size
        stored = _places(pattern, n)
        found[name] = {"ours": len(stored)}
        if theirs.is_dense:
            values = [np.abs(np.asarray(dense(x))) for x in points]
            true, certain = (
                np.unique(np.concatenate([np.flatnonzero(~(x <= bound * x.max(initial=0))) for x in values]))
                for bound in (0, ROUNDING)
            )
            found[name] |= {"true": len(true), "missing": len(np.setdiff1d(certain, stored))}
        try:
            with _limit(PATIENCE):
                if name == "hessian":
                    theirs_of = asdex.hessian_sparsity(theirs.lagrangian, points[0], lam)
                    kept = theirs_of.rows >= theirs_of.cols
                    places = theirs_of.rows[kept].astype(np.int64) * n + theirs_of.cols[kept]
                else:
                    theirs_of = asdex.jacobian_sparsity(lambda y: theirs.program(y)[1], points[0])
                    places = theirs_of.rows.astype(np.int64) * n + theirs_of.cols
            found[name] |= {"asdex": len(np.unique(places)), "extra": len(np.setdiff1d(stored, places))}
        except Exception as error:  # of asdex
            found[name]["failed"] = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:120]}"
    return found


def asdex_times(theirs: Theirs, start: Numbers, lam: Numbers) -> dict[str, float]:
    """Compile time of asdex's Hessian, from detection to a compiled program, and time of a call."""
    import asdex

    with _limit(PATIENCE):
        began = process_time()
        made = jax.jit(asdex.hessian(theirs.lagrangian, start, lam)).lower(start, lam).compile()
        facts = {"asdex_compile_hessian": process_time() - began}
        given = jnp.asarray(start), jnp.asarray(lam)
        return facts | {"asdex_hessian": shortest(lambda: jax.block_until_ready(made(*given)), TIMING)}


def _places(pattern: Any, n: int) -> Numbers:
    """Row-major positions of stored entries.   pattern: CSR"""
    rows = np.repeat(np.arange(len(pattern.indptr) - 1, dtype=np.int64), np.diff(pattern.indptr))
    return rows * n + np.asarray(pattern.indices, np.int64)


@contextmanager
def _limit(seconds: int) -> Iterator[None]:
    """Raises: TimeoutError after a time, between two steps of Python"""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def measured(problem: Any) -> dict[str, Any]:
    """Measure a problem.   Raises: AotensorError if it is refused"""
    start = np.asarray(problem.y0, "float64")
    program = program_of(problem)
    m = jax.eval_shape(program, start)[1].shape[0]
    lam = np.random.default_rng(1).normal(size=m)
    ours = Ours(program, start.size, m)
    theirs = Theirs(program, start, lam)
    errors = dict.fromkeys(("f", "g", "value", "gradient", "jacobian", "hessian"), 0.0)
    points = [x for x in points_of(problem) if theirs.is_finite(x, lam)] or [start]
    for x in points:
        for key, (a, b) in theirs.pairs(ours, x, lam).items():
            errors[key] = max(errors[key], difference(a, b))
    given = jnp.asarray(start), jnp.asarray(lam)
    facts = theirs.facts
    ours.facts["call"] = shortest(ours.both.bind(**_known(ours.both, start, lam)), TIMING)
    facts["call"] = shortest(lambda: jax.block_until_ready(theirs.both(*given)), TIMING)
    ours.facts["call_hessian"] = shortest(ours.hessian.bind(**_known(ours.hessian, start, lam)), TIMING)
    if theirs.is_dense:
        facts["call_hessian"] = shortest(lambda: jax.block_until_ready(theirs.hessian(*given)), TIMING)
    kind = type(problem).__mro__[1].__name__
    found = {"kind": kind, "n": start.size, "m": m, "errors": errors, "ours": ours.facts, "theirs": facts}
    if importlib.util.find_spec("asdex") is not None:
        found["patterns"] = patterns(ours, theirs, points, lam)
        if "failed" not in found["patterns"]["hessian"]:
            try:
                found["asdex"] = asdex_times(theirs, start, lam)
            except Exception as error:  # of asdex
                found["asdex"] = {"failed": f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:120]}"}
    return found


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
