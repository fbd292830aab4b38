"""A function, its gradient, and a shared library of both, in ten lines."""

from __future__ import annotations

import numpy as np

import aotensor as aot
import aotensor.tensor as at

x = at.vector("x", shape=("n",))
y = (at.exp(-x * x) * at.sin(x)).sum()
hello = aot.function([x], {"y": y, "grad_x": aot.grad(y, x)}, name="hello")

if __name__ == "__main__":
    print(hello(np.array([0.0, 0.5, 1.0])))
    print(aot.compile(hello, "build").library)
