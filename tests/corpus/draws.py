"""Random draws: integer arithmetic of 64 bits, and loops inside of elementwise bodies."""

from __future__ import annotations

import aotensor.tensor as at
from corpus.program import InOut, program, vector


@program
def noise() -> InOut:
    state, x = vector("state", 2, "uint64"), vector("x", "n")
    following, u = at.random.uniform(state, size=x.shape)
    following, z = at.random.normal(following, size=(3, x.shape[0]))
    return [state, x], [following, x + u, z.sum(axis=1), z]


@program
def rejected_draws() -> InOut:
    state, x = vector("state", 2, "uint64"), vector("x", "n")
    following, few = at.random.poisson(state, 20 * at.abs(x))
    following, gammas = at.random.gamma(following, at.abs(x))
    _, one = at.random.binomial(following, 30, 0.5)
    return [state, x], [few, x * gammas, one]
