"""Random draws: the same numbers from the same state, in every shape, in every execution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from case import Case

import aotensor.tensor as at
from aotensor.core.types import Array
from aotensor.ops.random.draw import Draw
from aotensor.ops.random.noise import Noise
from aotensor.ops.random.parameter import Parameter
from aotensor.ops.random.philox import Philox

STATE = np.array([0x0123456789ABCDEF, 5], "uint64")
STATES = np.stack([STATE, STATE + np.uint64(7)])
Build = Callable[..., Any]
TAILS = "an elementary function of ours and NumPy's differ by ulps, which a sum of terms near 0 shows"


def drawn(id: str, build: Build, *inputs: Any, **options: Any) -> Case:
    """A row for draws of which no derivative exists: `build(state, *inputs)` gives the draw."""
    return Case(id=id, build=build, inputs=[STATE, *inputs], wrt=(), rtol=1e-11, atol=1e-13, reason=TAILS, **options)


def smooth(id: str, build: Build, *inputs: Any, **options: Any) -> Case:
    """A row for a draw with derivatives, for the same noise."""
    return Case(id=id, build=build, inputs=[STATE, *inputs], rtol=1e-11, atol=1e-13, reason=TAILS, **options)


def second(pair: tuple[Any, Any]) -> Any:
    """The draw of (next state, draw)."""
    return pair[1]


def count(value: int) -> Array:
    """An extent."""
    return np.asarray(value)


def halves(*values: float) -> Array:
    """A float64 vector."""
    return np.array(values, "float64")


MEANS = halves(0.0, 0.7, 9.5, 10.5, 300.0, 1e9)
TRIALS, CHANCES = np.array([0, 5, 40, 40, 1000, 10**9]), halves(0.5, 0.1, 0.5, 0.99, 0.7, 0.2)
WEIGHTS = np.array([[0.2, 0.0, 0.8], [1.0, 2.0, 3.0]])
RNG = at.random

DRAWS = [
    Case(id="philox", build=Philox(), inputs=[np.arange(12, dtype="uint32").reshape(3, 4), np.ones((3, 2), "uint32")],
         wrt=()),
    Case(id="philox-one-key", build=Philox(), inputs=[np.ones((2, 3, 4), "uint32"), np.array([5, 6], "uint32")],
         wrt=()),
    drawn("noise-bits", lambda s, n: Noise("bits", "uint64", (None, 3))(s, n), count(4)),
    drawn("noise-uniform", lambda s, n: Noise("uniform", "float64", (None,))(s, n), count(5)),
    drawn("noise-uniform-float32", lambda s: Noise("uniform", "float32", (7,))(s)),
    drawn("noise-inner", lambda s: Noise("inner", "float64", (2, 1, 3))(s)),
    drawn("noise-inner-float32", lambda s: Noise("inner", "float32", (9,))(s)),
    drawn("noise-exponential-float32", lambda s: Noise("exponential", "float32", (9,))(s)),
    drawn("noise-normal-scalar", lambda s: Noise("normal", "float64", ())(s)),
    drawn("noise-normal-float32", lambda s, n: Noise("normal", "float32", (None,))(s, n), count(6)),
    drawn("noise-none", lambda s, n: Noise("normal", "float64", (None, 2))(s, n), count(0)),
    Case(id="noise-of-states", build=lambda s: Noise("bits", "uint64", (3,))(s), inputs=[STATES], wrt=()),
    Case(id="draw-of-states", build=Draw("poisson"), inputs=[STATES, np.array([[2.0, 40.0], [0.1, 11.0]])], wrt=()),
    drawn("draw-scalar", Draw("poisson"), np.float64(30.0)),
    drawn("random-bernoulli", lambda s, p: second(RNG.bernoulli(s, p, (4, 2))), halves(0.3, 0.9)),
    drawn("random-bernoulli-bool", lambda s, p: second(RNG.bernoulli(s, p, dtype="bool")), halves(0.0, 0.5, 1.0)),
    drawn("random-geometric", lambda s, p: second(RNG.geometric(s, p, (3, 3))), halves(0.1, 0.6, 1.0)),
    drawn("random-poisson", lambda s, m: second(RNG.poisson(s, m)), MEANS),
    drawn("random-poisson-int32", lambda s, m: second(RNG.poisson(s, m, (2, 1), "int32")), np.float64(4.0)),
    drawn("random-poisson-none", lambda s, m: second(RNG.poisson(s, m)), np.zeros((0, 2))),
    drawn("random-binomial", lambda s, n, p: second(RNG.binomial(s, n, p)), TRIALS, CHANCES),
    drawn("random-hypergeometric", lambda s, g, n: second(RNG.hypergeometric(s, g, 40, n)), np.array([90, 3, 7, 0]),
          np.array([30, 40, 2, 0])),
    drawn("random-negative_binomial", lambda s, n, p: second(RNG.negative_binomial(s, n, p)), halves(0.5, 20.0),
          halves(0.2, 0.9)),
    drawn("random-integers", lambda s, a, b: second(RNG.integers(s, a, b, (5, 2))), np.array([0, -5]),
          np.array([3, 9])),
    drawn("random-integers-all", lambda s: second(RNG.integers(s, 0, 2**64, 6, "uint64"))),
    drawn("random-integers-int8", lambda s, b: second(RNG.integers(s, -128, b, 9, "int8", endpoint=True)), count(127)),
    drawn("random-integers-uint64", lambda s, a: second(RNG.integers(s, a, 2**63 + 9, 4, "uint64")), count(7)),
    drawn("random-integers-bool", lambda s: second(RNG.integers(s, 2, size=7, dtype="bool"))),
    drawn("random-categorical", lambda s, p: second(RNG.categorical(s, p, (4, 2))), WEIGHTS),
    drawn("random-multinomial", lambda s, n, p: second(RNG.multinomial(s, n, p)), np.array([7, 1000]), WEIGHTS),
    drawn("random-multinomial-size", lambda s, p: second(RNG.multinomial(s, 9, p, (3, 2))), WEIGHTS[0]),
    drawn("random-permutation", lambda s, n: second(RNG.permutation(s, n)), count(6)),
    drawn("random-choice", lambda s, a: second(RNG.choice(s, a, (3, 2))), np.arange(4)),
    drawn("random-choice-weighted", lambda s, p: second(RNG.choice(s, 3, 5, p=p)), WEIGHTS[0]),
    drawn("random-choice-distinct", lambda s, n: second(RNG.choice(s, n, (2, 2), replace=False)), count(5)),
    drawn("random-choice-distinct-weighted", lambda s, p: second(RNG.choice(s, 3, 2, replace=False, p=p)), WEIGHTS[1]),
    drawn("random-groups", lambda s, n, p, g: second(RNG.multinomial_in_groups(s, n, p, g)), np.array([3, 5, 100]),
          halves(1.0, 2.0, 0.5, 0.0, 7.0), np.array([0, 0, 2, 2, 2])),
    drawn("random-positive_binomial", Draw("positive_binomial"), TRIALS[1:], CHANCES[1:]),
    drawn("random-gap", Draw("gap"), np.array([9, 9, 1000, 10**12]), np.array([9, 2, 20, 10**6])),
    drawn("random-gamma-shape", lambda s, a: second(RNG.gamma(s, a, 2.0, dtype="float32")), halves(0.0, 0.3, 4.0, 1e6)),
    drawn("random-beta", lambda s, a, b: second(RNG.beta(s, a, b)), halves(0.5, 3.0), halves(2.0, 0.7)),
    drawn("random-dirichlet", lambda s, a: second(RNG.dirichlet(s, a, 4)), halves(0.5, 3.0, 1.0)),
    drawn("random-vonmises", lambda s, k: second(RNG.vonmises(s, 2.0, k)), halves(0.0, 1e-5, 0.5, 4.0, 1e4, 1e13)),
    drawn("random-next-state", lambda s: RNG.normal(s)[0]),
]  # fmt: skip

LOC, SCALE = halves(-1.0, 0.5, 3.0), halves(0.3, 1.0, 2.5)
SMOOTH = [
    Case(id="parameter", build=Parameter("a: b", 0, 5), inputs=[SCALE]),
    smooth("random-uniform", lambda s, a, b: second(RNG.uniform(s, a, b)), LOC, LOC + SCALE),
    smooth("random-normal", lambda s, m, d: second(RNG.normal(s, m, d, (4, 3))), LOC, SCALE),
    smooth("random-normal-float32", lambda s, m: second(RNG.normal(s, m, dtype="float32")), LOC.astype("float32")),
    smooth("random-halfnormal", lambda s, m, d: second(RNG.halfnormal(s, m, d)), LOC, SCALE),
    smooth("random-lognormal", lambda s, m, d: second(RNG.lognormal(s, m, d)), LOC, SCALE),
    smooth("random-exponential", lambda s, d: second(RNG.exponential(s, d)), SCALE),
    smooth("random-laplace", lambda s, m, d: second(RNG.laplace(s, m, d)), LOC, SCALE),
    smooth("random-logistic", lambda s, m, d: second(RNG.logistic(s, m, d)), LOC, SCALE),
    smooth("random-gumbel", lambda s, m, d: second(RNG.gumbel(s, m, d)), LOC, SCALE),
    smooth("random-cauchy", lambda s, m, d: second(RNG.cauchy(s, m, d)), LOC, SCALE),
    smooth("random-weibull", lambda s, a: second(RNG.weibull(s, a)), SCALE),
    smooth("random-pareto", lambda s, a: second(RNG.pareto(s, a)), SCALE),
    smooth("random-triangular", lambda s, a, d: second(RNG.triangular(s, a, a + d / 3, a + d)), LOC, SCALE),
    smooth("random-truncexpon", lambda s, b, m: second(RNG.truncexpon(s, b, m, 1.5)), SCALE, LOC),
    smooth("random-vonmises-mu", lambda s, m: second(RNG.vonmises(s, m, 2.0)), LOC / 4),
    smooth("random-wald", lambda s, m, d: second(RNG.wald(s, m, d)), SCALE, SCALE + 1),
    smooth("random-gamma-scale", lambda s, d: second(RNG.gamma(s, 2.5, d)), SCALE),
    smooth("random-invgamma-scale", lambda s, d: second(RNG.invgamma(s, 2.5, d)), SCALE),
    smooth("random-chisquare", lambda s, d: d * second(RNG.chisquare(s, 3.0, 3)), SCALE),
    smooth("random-t", lambda s, m, d: second(RNG.t(s, 3.0, m, d)), LOC, SCALE),
    smooth("random-standard_normal", lambda s, x: x * second(RNG.standard_normal(s, x.shape)), LOC),
    smooth("random-multivariate_normal", lambda s, m, c: second(RNG.multivariate_normal(s, m, c @ c.T + at.eye(2), 3)),
           LOC[:2], np.array([[1.0, 0.2], [-0.5, 2.0]])),
    smooth("random-permutation-rows", lambda s, x: second(RNG.permutation(s, x)), np.arange(6.0).reshape(3, 2)),
]  # fmt: skip

CASES: list[Case] = [*DRAWS, *SMOOTH]
