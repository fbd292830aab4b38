"""A kernel compiled by aotensor: its function, its gradient, and the times of both."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any, Final

import numpy as np
from tools.judges.npbench.checkout import Described
from tools.judges.npbench.kernels import Kernel
from tools.judges.workers import shortest

import aotensor as aot
import aotensor.tensor as at
from aotensor.tensor import Variable

Values = dict[str, Any]
TIMING: Final = 0.3
"""Seconds of timing for each figure."""


def inputs_of(values: Values) -> Values:
    """The arguments that are inputs of a program: arrays and NumPy's scalars, or Python's floats if there are none."""
    found = {name: x for name, x in values.items() if isinstance(x, (np.ndarray, np.generic))}
    return found or {name: np.float64(x) for name, x in values.items() if isinstance(x, float)}


def wrt_of(kernel: Kernel, values: Values) -> list[str]:
    """Names of the inputs of the gradient: arrays of floats, if the kernel has no list."""
    arrays = [name for name, x in values.items() if isinstance(x, np.ndarray) and x.dtype.kind in "fc"]
    return [name for name in arrays if kernel.wrt is None or name in kernel.wrt]


def warm_up() -> None:
    """Compile something, so that compile times are without the imports of the compiler."""
    x = at.matrix("x", shape=(32, 32))
    aot.compile(aot.function([x], at.exp(x @ x), name="warm"), tempfile.mkdtemp(), threads=False)


def _total(x: Variable) -> Variable:
    """The sum of all elements, of real and imaginary parts."""
    return at.real(x).sum() + at.imag(x).sum() if x.dtype.startswith("complex") else x.sum()


def _bound(function: Any, given: Values) -> Any:
    """Bind the function to fixed buffers."""
    names = [item.name for item in function.spec.inputs]
    return function.bind(**dict(zip(names, given.values(), strict=True)))


class Ours:
    """A kernel for the sizes of its arguments."""

    def __init__(self, kernel: Kernel, one: Described, values: Values) -> None:
        self.values, self.kernel = values, kernel
        self.given = inputs_of(values)
        self.symbols = {
            name: at.tensor(name, dtype=str(np.asarray(x).dtype), shape=np.shape(x)) for name, x in self.given.items()
        }
        self.facts: dict[str, float] = {}
        start = process_time()
        arguments = [self.symbols.get(name, x) for name, x in values.items()]
        self.results: list[Variable] = list(kernel.program(*arguments))
        self._loaded = self._compiled({f"r{k}": one for k, one in enumerate(self.results)}, "kernel")
        self.facts["compile"] = process_time() - start
        del one

    def _compiled(self, outputs: dict[str, Variable], name: str) -> Any:
        function = aot.function(list(self.symbols.values()), outputs, name=name, on_unused_input="ignore")
        self.made = aot.compile(function, tempfile.mkdtemp(), threads=False)
        return getattr(self.made.load(), name)

    def values_of(self) -> list[Any]:
        """The results of the kernel."""
        return list(self._loaded(*self.given.values()).values())

    def time(self) -> None:
        """Measure a call on bound buffers."""
        self.facts["call"] = shortest(_bound(self._loaded, self.given), TIMING)
        self.facts["bytes"] = Path(self.made.library).stat().st_size

    def gradient(self, wrt: Sequence[str], chosen: Sequence[int]) -> list[Any]:
        """The gradient of the sum of the chosen results, real and imaginary parts, and its times."""
        start = process_time()
        cost = at.stack([_total(self.results[k]) for k in chosen]).sum()
        slopes = aot.grad(cost, [self.symbols[name] for name in wrt], disconnected_inputs="ignore")
        loaded = self._compiled({f"g{k}": one for k, one in enumerate(slopes)}, "gradient")
        self.facts["compile_gradient"] = process_time() - start

        def gradient_at(values: Values) -> list[Any]:
            return [np.asarray(x) for x in loaded(*inputs_of(values).values()).values()]

        self.gradient_at = gradient_at
        found = gradient_at(self.values)
        self.facts["gradient"] = shortest(_bound(loaded, self.given), TIMING)
        return found
