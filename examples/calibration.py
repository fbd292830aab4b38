"""Calibration of a model through its steady state: a least-squares problem whose residuals contain a root.

python examples/calibration.py

A growth model has capital, consumption and hours for which nothing changes from quarter to quarter. Three of its
parameters are unknown, and three ratios are observed. One library finds the parameters and says how they move with
each observation; both searches run inside of it, and no step of them is differentiated.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.gradient import jacobian

SHARE = 0.36  # of capital in production
OBSERVED = {"capital / output": 10.4, "investment / output": 0.26, "hours": 0.31}

# What is unknown: patience, depreciation, and the weight of leisure.
Steady = tuple[at.Variable, at.Variable, at.Variable]


def steady_state(parameters: at.Variable) -> tuple[Steady, at.Variable]:
    """(capital, consumption, hours) for three parameters, and whether they were found.   Unknowns: their logarithms"""
    patience, depreciation, leisure = (parameters[k] for k in range(3))

    def changes(x: at.Variable) -> list[at.Variable]:
        capital, consumption, hours = (at.exp(x[k]) for k in range(3))
        output = capital**SHARE * hours ** (1 - SHARE)
        return [
            patience * (SHARE * output / capital + 1 - depreciation) - 1,  # saving pays what patience asks for
            (consumption + depreciation * capital) / output - 1,  # what is made is eaten or replaces what wears out
            leisure * consumption * hours / ((1 - hours) * (1 - SHARE) * output) - 1,  # an hour is worth its wage
        ]

    found = at.optimize.root(changes, at.constant([2.0, -0.5, -1.0]))
    capital, consumption, hours = (at.exp(found.solution[k]) for k in range(3))
    return (capital, consumption, hours), found.success


def ratios(parameters: at.Variable) -> at.Variable:
    """What is observed of an economy with these parameters.   (3,) → (3,)"""
    (capital, _, hours), _ = steady_state(parameters)
    output = capital**SHARE * hours ** (1 - SHARE)
    return at.stack([capital / output, parameters[1] * capital / output, hours])


observed = at.vector("observed", dtype="float64", shape=(3,))
fit = at.optimize.least_squares(lambda p: ratios(p) / observed - 1, at.constant([0.98, 0.03, 2.0]))
calibrate = aot.function(
    [observed],
    {
        "parameters": fit.solution,
        "success": fit.success,
        "steps": fit.iterations,
        "sensitivity": jacobian(fit.solution, observed),
    },
    name="calibrate",
)


def main() -> None:
    values = np.array(list(OBSERVED.values()))
    with TemporaryDirectory() as folder:
        library = aot.compile([calibrate], folder, malloc=False).load()
        found = library.calibrate(values)
        size = Path(library.path).stat().st_size
    print(f"success {bool(found['success'])} after {found['steps']} steps, in a library of {size // 1024} KB")
    names = ("patience", "depreciation", "weight of leisure")
    for name, value, row in zip(names, found["parameters"], found["sensitivity"], strict=True):
        moves = ", ".join(f"{d * x / value:+.3f} %" for d, x in zip(row, values, strict=True))
        print(f"{name:18} {value:.6f}; by one per cent more of each observation: {moves}")
    capital, investment, hours = values
    depreciation = investment / capital
    patience = 1 / (SHARE / capital + 1 - depreciation)
    leisure = (1 - SHARE) * (1 - hours) / (hours * (1 - investment))
    print("by hand           ", " ".join(f"{x:.6f}" for x in (patience, depreciation, leisure)))


if __name__ == "__main__":
    main()
