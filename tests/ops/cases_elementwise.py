"""Elementwise ops: every function within its domain, at specials, in each dtype; broadcasting and mixed dtypes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from case import SPECIALS, Case, between, int8, normal

import aotensor.tensor as at
from aotensor.core.types import Array

WIDE = np.array([-800.0, -37.0, -1e-300, 1e-300, 1e-9, 36.0, 709.0, 800.0])


def pairs(low: float, high: float) -> Callable[[np.random.Generator], Sequence[Array]]:
    """Two matrices of random numbers, the second one a row."""
    return lambda rng: [rng.uniform(low, high, (3, 4)), rng.uniform(low, high, (1, 4))]


# name → an interval within the domain and away from kinks and poles
UNARY: dict[str, tuple[float, float]] = {
    "abs": (0.1, 2), "neg": (-2, 2), "sqr": (-2, 2), "sqrt": (0.1, 4), "cbrt": (0.1, 4), "reciprocal": (0.5, 2),
    "exp": (-2, 2), "exp2": (-2, 2), "expm1": (-2, 2),
    "log": (0.1, 4), "log2": (0.1, 4), "log10": (0.1, 4), "log1p": (-0.8, 4),
    "sin": (-4, 4), "cos": (-4, 4), "tan": (-1.2, 1.2),
    "arcsin": (-0.9, 0.9), "arccos": (-0.9, 0.9), "arctan": (-4, 4),
    "sinh": (-2, 2), "cosh": (-2, 2), "tanh": (-2, 2),
    "arcsinh": (-4, 4), "arccosh": (1.2, 4), "arctanh": (-0.9, 0.9),
    "deg2rad": (-180, 180), "rad2deg": (-4, 4),
    "sigmoid": (-4, 4), "logit": (0.05, 0.95), "softplus": (-4, 4), "log1mexp": (-4, -0.1), "xlogx": (0.1, 4),
    "erf": (-2, 2), "erfc": (-2, 2), "gammaln": (0.2, 6), "psi": (0.2, 6), "relu": (0.1, 2),
    "erfinv": (-0.9, 0.9), "erfcinv": (0.1, 1.9), "erfcx": (-2, 6), "gamma": (0.2, 6),
    "sign": (0.1, 2), "ceil": (0.1, 0.9), "floor": (0.1, 0.9), "trunc": (0.1, 0.9), "rint": (0.6, 0.9),
    "round": (0.6, 0.9), "round_half_away_from_zero": (0.6, 0.9), "tensor_copy": (-2, 2),
}  # fmt: skip
BINARY: dict[str, tuple[float, float]] = {
    "add": (-2, 2), "sub": (-2, 2), "mul": (-2, 2), "true_div": (0.5, 2), "pow": (0.5, 2), "hypot": (0.5, 2),
    "arctan2": (0.5, 2), "logaddexp": (-2, 2), "xlogy": (0.5, 2), "xlog1py": (0.5, 2), "second": (-2, 2),
    "beta": (0.5, 2), "betaln": (0.5, 2),
}  # fmt: skip
# many multiplications, or a cancellation on the way
COARSE = {
    "gammaln": (1e-11, "a series"), "psi": (1e-11, "a series"), "log1mexp": (1e-11, "two branches"),
    "logit": (1e-11, "two branches"), "xlog1py": (1e-11, "SciPy's own rounding"), "erfc": (1e-11, "a series"),
    "erfinv": (1e-11, "a series"), "erfcinv": (1e-11, "a series"), "erfcx": (1e-11, "a product of large and small"),
    "gamma": (1e-11, "an exponential of a logarithm"), "beta": (1e-11, "an exponential of a logarithm"),
    "betaln": (1e-11, "a difference of logarithms"),
}  # fmt: skip


def _smooth(name: str, inputs: Any) -> Case:
    rtol, reason = COARSE.get(name, (1e-12, ""))
    return Case(id=name, build=getattr(at, name), inputs=inputs, rtol=rtol, reason=reason)


def _at_specials(name: str) -> Case:
    rtol, reason = COARSE.get(name, (1e-12, ""))
    points = np.concatenate([SPECIALS, WIDE])
    return Case(id=f"{name}-specials", build=getattr(at, name), inputs=[points], wrt=(), rtol=rtol, reason=reason)


def _of_dtype(name: str, dtype: str) -> Case:
    low, high = UNARY[name]
    values = np.array([1, 0, 3] if high > 1 else [0, 1], dtype) if dtype != "float32" else np.float32([low, high])
    rtol, reason = COARSE.get(name, (1e-12, ""))
    return Case(id=f"{name}-{dtype}", build=getattr(at, name), inputs=[values], wrt=(), rtol=rtol, reason=reason)


BROADCASTS = [
    Case(id="add-empty", build=lambda x, y: x + y, inputs=[np.zeros((0, 3)), np.zeros((1, 3))]),
    Case(id="exp-empty", build=at.exp, inputs=[np.zeros((0,))]),
    Case(id="mul-rank-0", build=lambda x, y: x * y, inputs=[np.float64(2.0), np.float64(3.0)]),
    Case(id="mul-scalar-matrix", build=lambda x, y: x * y, inputs=normal((), (2, 3))),
    Case(id="sub-row-col", build=lambda x, y: x - y, inputs=normal((1, 3), (4, 1))),
    Case(id="add-rank-3-1", build=lambda x, y: x + y, inputs=normal((2, 1, 3), (3,))),
    Case(id="mul-all-ones", build=lambda x, y: x * y, inputs=normal((1, 1), (1,))),
    Case(id="div-static", build=lambda x, y: x / y, dims=[(3, 4), (4,)],
         inputs=lambda rng: [rng.normal(size=(3, 4)), rng.uniform(1, 2, 4)]),
    Case(id="mul-named", build=lambda x, y: x * y, dims=[("n", "p"), ("p",)],
         inputs=lambda rng: [rng.normal(size=(3, 4)), rng.normal(size=4)]),
    Case(id="mul-mixed-floats", build=lambda x, y: x * y,
         inputs=lambda rng: [rng.normal(size=3).astype("float32"), rng.normal(size=3)]),
    Case(id="mul-int-float", build=lambda x, y: x * y, inputs=[np.array([1, 2, 3]), np.array([0.5, -1.0, 2.0])],
         wrt=(0, 1), numeric=False),
    Case(id="mul-bool-float", build=lambda x, y: x * y, inputs=[np.array([True, False]), np.array([0.5, -1.0])],
         wrt=(0, 1), numeric=False),
    Case(id="int-square", build=lambda x: x * x, inputs=[np.array([1, 2, 3])], wrt=(0,), numeric=False,
         specials={0: np.zeros(3)}),
    Case(id="mul-four", build=lambda a, b, c, d: at.mul(a, b, c, d), inputs=lambda rng: list(rng.normal(size=(4, 3)))),
    Case(id="clip-broadcasts", build=at.clip,
         inputs=lambda rng: [rng.uniform(-2, 2, (3, 4)), np.array([[-0.5]]), np.full(4, 0.7)]),
    Case(id="switch-derivatives", build=lambda x, y: at.switch(x > y, x * y, y - x), inputs=pairs(-2, 2)),
    Case(id="maximum-derivatives", build=lambda x, y: at.maximum(x, y) * at.minimum(x, y), inputs=pairs(-2, 2)),
    Case(id="pow-literal-derivatives", build=lambda x: x**3 + x**-2 + x**2 + x**1 + x**0 + x**0.5 + x**17,
         inputs=between(0.5, 1.5, 3)),
    Case(id="pow-of-literal", build=lambda x: 2.0**x, inputs=between(-2, 2, 3)),
    Case(id="mod-derivatives", build=lambda x, y: x % y,
         inputs=[np.array([5.3, -5.3, 0.4]), np.array([2.1, 2.1, -0.3])]),
    Case(id="float32-chain", build=lambda x, y: at.exp(x) * at.tanh(y) + at.sigmoid(x),
         inputs=lambda rng: [rng.normal(size=(2, 3)).astype("float32"), rng.normal(size=3).astype("float32")]),
    Case(id="cast-and-back", build=lambda x: at.cast(at.cast(x, "float32"), "float64"), inputs=[np.array([0.5, 2.0])],
         numeric=False, rtol=2.0**-23, reason="float32 in the middle"),
    Case(id="long-chain", build=lambda x: at.log1p(at.exp(at.sin(x) * 2)) / (1 + x * x), inputs=between(-2, 2, 5)),
]  # fmt: skip

CASES: list[Case] = [
    *(_smooth(name, between(low, high, 3, 4)) for name, (low, high) in UNARY.items()),
    *(_smooth(name, pairs(low, high)) for name, (low, high) in BINARY.items()),
    *(_at_specials(name) for name in (*UNARY, "tri_gamma")),
    *(_of_dtype(name, dtype) for name in ("exp", "sigmoid", "ceil", "sqrt")
      for dtype in ("bool", "int8", "uint16", "int32", "uint64", "float32")),
    *(_of_dtype(name, "float32") for name in UNARY if name not in ("exp", "sigmoid", "ceil", "sqrt")),
    *(Case(id=f"{name}-dtypes", build=getattr(at, name), inputs=[int8(1, 5), np.array([3, 5], "uint8")], wrt=())
      for name in ("add", "sub", "mul", "maximum", "minimum", "eq", "neq", "lt", "le", "gt", "ge", "hypot", "arctan2")),
    *BROADCASTS,
]  # fmt: skip
