"""All models, by their names in posteriordb, as log densities of an unconstrained vector."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tools.judges.posteriordb import hierarchies, latent, regressions, sequences
from tools.judges.posteriordb.data import Recorded, load
from tools.judges.posteriordb.parameters import Parameters
from tools.judges.posteriordb.symbols import at

from aotensor.graph.variable import Variable

KINDS: Final = {
    "regressions": regressions.MODELS,
    "hierarchies, counts and Gaussian processes": hierarchies.MODELS,
    "mixtures, items, capture and recapture": latent.MODELS,
    "time series, hidden Markov models, differential equations": sequences.MODELS,
}
"""Models by kind and name."""
CLOSE: Final = 1e-9
"""How much gradients may differ, relative to their largest element."""


@dataclass(frozen=True)
class Loose:
    """A model whose numbers cannot agree to within CLOSE. close: its tolerance; reason: why"""

    close: float
    reason: str


LOOSE: Final = {
    "lotka_volterra": Loose(1e-3, "Stan integrates to a relative tolerance of 1e-5, this model to 1e-9"),
    "soil_incubation": Loose(1e-5, "Stan integrates to a relative tolerance of 1e-6, this model to 1e-10"),
    "kronecker_gp": Loose(
        1e-2,
        "eigenvalues are equal up to rounding, and derivatives of eigenvectors divide by their differences; beside "
        "differences in 60 digits CmdStan is off by 4e-5 of the largest element, this model by up to 1e-3",
    ),
}


def density(
    name: str, one: Recorded, folder: Path, q: Any = None, parameters: Parameters | None = None
) -> tuple[Variable, Variable]:
    """The vector of unconstrained parameters of a model, and its log density with the Jacobians of all transforms.

    q, parameters: the vector and its reader where they are not aotensor's

    Raises: ValueError if the model asks for more or fewer parameters than are recorded.
    """
    n = len(one.point)
    q = at.vector("q", shape=(n,)) if q is None else q
    parameters = parameters or Parameters(q)
    model = {key: model for models in KINDS.values() for key, model in models.items()}[name]
    value = model(load(folder, one.data), parameters)
    if parameters.count != n:
        raise ValueError(f"{name} has {parameters.count} unconstrained parameters, Stan has {n}")
    return q, value + sum(parameters.terms)
