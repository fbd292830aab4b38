"""One kernel and size in a process of its own, on one core: values, gradients and times, as JSON on standard output.

    python -m tools.judges.npbench.worker CHECKOUT KERNEL SIZE [PEER,PEER]

PEER: jax, numba. NumPy's version is always run: its values are the reference. Compile times are processor seconds.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":  # before NumPy and JAX start their threads
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ["JAX_ENABLE_X64"] = "1"
    os.environ["JAX_PLATFORMS"] = "cpu"

import numpy as np
from tools.judges.npbench.checkout import Described, described, results_of
from tools.judges.npbench.kernels import KERNELS, Kernel
from tools.judges.npbench.ours import TIMING, Ours, Values, inputs_of, warm_up, wrt_of
from tools.judges.npbench.peers import Jax, differences, time_in_place

Facts = dict[str, Any]
BY_DIFFERENCES: Final = 1e-6
"""How much a gradient may differ from central differences along a direction."""
CLOSE_JAX: Final = 1e-6
"""How much JAX's values may differ: where more, its version computes something else."""
DIFFERENTIATED: Final = "fc"
"""Kinds of dtypes that have derivatives."""


def difference(found: Any, wanted: Any, least: float = 0.0) -> float:
    """The largest difference relative to the largest element; inf for other shapes, dtypes or places of nan.

    least: the smallest scale, where elements may be rounding errors only.
    """
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.shape != wanted.shape or found.dtype.kind != wanted.dtype.kind:
        return float("inf")
    same = (found == wanted) | ((found != found) & (wanted != wanted))
    if same.all():
        return 0.0
    apart = np.abs(found.astype("complex128") - wanted.astype("complex128"))[~same]
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=0)
    return float(apart.max() / max(float(largest), least, 1e-300)) if np.isfinite(apart).all() else float("inf")


def rounded(values: Values) -> Values:
    """The inputs that are floats, each element changed by up to two units in the last place."""
    rng, found = np.random.default_rng(3), dict(values)
    for name, x in inputs_of(values).items():
        if x.dtype.kind in "fc" and x.shape == np.shape(values[name]):
            found[name] = (x * (1 + 2 * np.finfo(x.dtype).eps * rng.uniform(-1, 1, x.shape))).astype(x.dtype)
    return found


def folded(gradient: Any) -> Any:
    """The gradient by the lower triangle of a symmetric matrix."""
    return np.tril(gradient) + np.triu(gradient, 1).T


class Judged:
    """The measurements of a kernel at a size.   facts: by name"""

    def __init__(self, kernel: Kernel, one: Described, size: str) -> None:
        self.kernel, self.one, self.values, self.facts = kernel, one, one.data(size), Facts()
        self.changed = one.changed if kernel.changed is None else kernel.changed
        self.numpy = one.version("numpy")
        self.wanted = self._by_numpy(self.values)
        self.jax: list[Jax] = []

    def _by_numpy(self, values: Values) -> list[Any]:
        with np.errstate(all="ignore"):
            return [np.asarray(x) for x in results_of(self.numpy, values, self.changed)]

    def compare(self) -> None:
        """Compile, compare values with NumPy's, and time both."""
        self.ours = Ours(self.kernel, self.one, self.values)
        self.facts["ours"] = self.ours.facts
        found = self.ours.values_of()
        self.facts["error"] = max(difference(x, y) for x, y in zip(found, self.wanted, strict=True))
        if self.facts["error"] > self.kernel.close:
            again = self._by_numpy(rounded(self.values))
            self.facts["rounding"] = max(difference(x, y) for x, y in zip(again, self.wanted, strict=True))
        self.ours.time()
        with np.errstate(all="ignore"):
            self.facts["numpy"] = {"call": time_in_place(self.numpy, self.values, TIMING)}

    @property
    def places(self) -> tuple[int | None, ...]:
        """The index of each result among the results of the JAX version."""
        return tuple(range(len(self.wanted))) if self.kernel.jax is None else self.kernel.jax

    def compare_jax(self) -> None:
        """Find the fastest JAX version with the right values, or the reason why there is none."""
        for suffix in ("jax", "jax_lib"):
            try:
                made = Jax(self.one, suffix, self.values)
                found = made.values_of()
                pairs = [(found[k], y) for k, y in zip(self.places, self.wanted, strict=True) if k is not None]
                if not pairs:
                    raise ValueError("it computes something else, see the notes")
                error = max(difference(x, y) for x, y in pairs)
                if not error <= max(CLOSE_JAX, self.kernel.close):
                    raise ValueError(f"its values differ from NumPy's by {error:.0e}")
                made.time(TIMING)
                self.jax.append(made)
            except FileNotFoundError:
                continue
            except Exception as error:  # of JAX's or of the version's own: a reason in the row
                self.facts.setdefault("jax_failed", told(error))
        if self.jax:
            self.facts["jax"] = dict(min(self.jax, key=lambda made: made.facts["call"]).facts)

    def differentiate(self) -> None:
        """Compare the gradient of the sum of all floating results with JAX's, or with finite differences."""
        wrt = wrt_of(self.kernel, self.values)
        floats = [k for k, x in enumerate(self.wanted) if x.dtype.kind in DIFFERENTIATED]
        if not wrt or not floats:
            self.facts["no_gradient"] = "no inputs or no results are arrays of floats"
            return
        shared = [k for k in floats if self.places[k] is not None]
        best: tuple[Jax, list[Any]] | None = None
        for made in self.jax if shared else []:
            try:
                theirs = made.gradient(wrt, [int(self.places[k] or 0) for k in shared], TIMING)
            except Exception as error:  # JAX cannot differentiate loops with bounds that it does not know, and more
                self.facts.setdefault("jax_gradient_failed", told(error))
                continue
            if best is None or made.facts["gradient"] < best[0].facts["gradient"]:
                best = made, theirs
        chosen = shared if best else floats
        found = self.ours.gradient(wrt, chosen)
        if best:
            jax, theirs = best
            self.facts["jax"] |= {key: jax.facts[key] for key in ("compile_gradient", "gradient")}
            self.facts["error_gradient"] = self._apart(wrt, found, theirs, chosen)
            if self.facts["error_gradient"] > self.kernel.close:
                again = jax.gradient_at(rounded(self.values))
                self.facts["rounding_gradient"] = self._apart(wrt, again, theirs, chosen)
            return
        with np.errstate(all="ignore"):
            self.facts["error_differences"] = differences(self._sums(floats), self.values, wrt, found)
        if not self.facts["error_differences"] <= BY_DIFFERENCES:
            again = self.ours.gradient_at(rounded(self.values))
            self.facts["rounding_gradient"] = self._apart(wrt, again, found, chosen)

    def _apart(self, wrt: Sequence[str], found: Sequence[Any], wanted: Sequence[Any], chosen: Sequence[int]) -> float:
        """The largest difference of two gradients, each relative to its largest element, or to cost / Σ|x|.

        The second matters where a gradient is zero but for rounding, as that of a sum of softmax.
        """
        cost = sum(float(np.abs(self.wanted[k]).sum()) for k in chosen)
        errors = []
        for name, x, y in zip(wrt, found, wanted, strict=True):
            x, y = (folded(x), folded(y)) if self.kernel.is_symmetric else (x, y)
            total = float(np.abs(self.values[name]).sum())
            errors.append(difference(x, y, cost / total if total else 0.0))
        return max(errors)

    def _sums(self, chosen: Sequence[int]) -> Any:
        """The sum of the chosen results of the NumPy version, as a function of its arguments."""

        def sums(values: Values) -> complex:
            found = results_of(self.numpy, values, self.changed)
            return complex(sum(np.sum(found[k]) for k in chosen))

        return sums

    def compare_numba(self) -> None:
        """Time Numba's version without its own threads."""
        try:
            function = self.one.version("numba_n")
            function(*(x.copy() if isinstance(x, np.ndarray) else x for x in self.values.values()))
            self.facts["numba"] = {"call": time_in_place(function, self.values, TIMING)}
        except Exception as error:  # of Numba's or of the version's own: a reason in the row
            self.facts["numba_failed"] = told(error)


def told(error: Exception) -> str:
    """The first line of an error, and its class."""
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"


def judged(checkout: Path, name: str, size: str, peers: Sequence[str] = ("jax",)) -> Facts:
    """All facts about a kernel; `failed` or `failed_gradient` says why there are none."""
    one = Judged(KERNELS[name], described(checkout)[name], size)
    warm_up()
    try:
        one.compare()
    except Exception as error:  # an error of ours: a row with its reason
        return {**one.facts, "failed": told(error)}
    if "jax" in peers:
        one.compare_jax()
    if "numba" in peers:
        one.compare_numba()
    try:
        one.differentiate()
    except Exception as error:
        one.facts["failed_gradient"] = told(error)
    return one.facts


def main(checkout: str, name: str, size: str, peers: str = "jax") -> None:
    """Print the measurements of a kernel as JSON."""
    sys.stdout.write("\n" + json.dumps(judged(Path(checkout), name, size, peers.split(","))) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
