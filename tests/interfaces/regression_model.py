"""A density of closed form with every kind of parameter and data."""

from __future__ import annotations

import aotensor as aot
import aotensor.tensor as at


def regression() -> aot.Function:
    """A regression whose data have dims, and parameters of every kind of transform."""
    X, y = at.matrix("X", shape=("n", 2)), at.vector("y", shape=("n",))
    group, scale = at.ivector("group", shape=("n",)), at.scalar("scale")
    effects = at.matrix("effects", shape=(2, 3))
    sigma, rate, drop = at.scalar("sigma"), at.scalar("rate"), at.scalar("drop")
    cuts, shares = at.vector("cuts", shape=(3,)), at.vector("shares", shape=(3,))
    mean = (X * effects[:, group].T).sum(axis=1) + scale * rate
    logp = -0.5 * (((y - mean) / sigma) ** 2).sum() - y.shape[0] * at.log(sigma) - 0.5 * (effects**2).sum()
    logp = logp - sigma - drop**2 - 0.5 * (cuts**2).sum() + 2.0 * at.log(shares).sum() + at.log(rate)
    parameters = {
        "effects": aot.Parameter((2, 3)),
        "sigma": aot.Parameter(lower=0.0),
        "rate": aot.Parameter(lower=-1.0, upper=2.0),
        "drop": aot.Parameter(upper=1.0),
        "cuts": aot.Parameter(3, constraint="ordered"),
        "shares": aot.Parameter(3, constraint="simplex"),
    }
    inputs = [X, y, group, scale, effects, sigma, rate, drop, cuts, shares]
    return aot.function(inputs, logp, name="regression", parameters=parameters)
