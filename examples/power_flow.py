"""Power flow in the IEEE 14-bus system: the voltages that were published, and what an ohm costs in losses.

    I = Y·V,     S = V·conj(I)     with     Y = Dᵀ·diag(1/z)·D + what leads to earth

V are the complex voltages of the buses, S the powers that enter there, z the impedances of the lines; D has a row for
each line. Bus 1 keeps its voltage. The others follow from V ← Y₊⁻¹·(conj(S/V) − Y₀·V₀), whose matrix is factorised
once. Generators hold the magnitude of their voltage: Newton's method finds their reactive powers.

`flow` gives the voltages, what the lines lose, and the gradient of that with respect to the complex z; `generators` the
magnitudes at the generators with their Jacobian.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.gradient import jacobian

DATA = Path(__file__).parent / "data"
STEPS = 30
MVA = 100.0  # of 1 per unit

buses = np.genfromtxt(DATA / "ieee14_buses.csv", delimiter=",", names=True)
lines = np.genfromtxt(DATA / "ieee14_branches.csv", delimiter=",", names=True)
held = np.flatnonzero(buses["has_generator"])[1:]  # bus 1 keeps the angle, too


def incidence(ends: np.ndarray, weights: np.ndarray | float = 1.0) -> np.ndarray:
    """A row for each line, with its weight at the bus where it ends.   (lines, buses)"""
    matrix = np.zeros((len(lines), len(buses)))
    matrix[np.arange(len(lines)), ends.astype(int) - 1] = weights
    return matrix


begin, end = incidence(lines["from"], 1 / lines["tap"]), incidence(lines["to"])
D = begin - end
halves = 0.5j * lines["charging_pu"]
to_earth = (
    begin.T @ (halves[:, None] * begin) + end.T @ (halves[:, None] * end) + np.diag(1j * buses["shunt_Mvar"] / MVA)
)

z = at.zvector("z", shape=(len(lines),))
power = at.zvector("power", shape=(len(buses),))  # MVA
reactive = at.vector("reactive", shape=(len(held),))  # Mvar, of the generators


def voltages(z: aot.Variable, power: aot.Variable) -> aot.Variable:
    """V for lines of impedance z, where `power` enters the buses.   (lines), (buses) → (buses)"""
    Y = at.dot(D.T, D / z[:, None]) + to_earth
    first = at.constant(buses["voltage_pu"][:1] + 0j)
    factors = at.linalg.lu_factor(Y[1:, 1:])
    flat = at.ones_like(power[1:])
    V, _ = aot.scan(
        lambda V: at.linalg.lu_solve(factors, at.conj(power[1:] / MVA / V) - Y[1:, 0] * first),
        outputs_info=[flat],
        n_steps=STEPS,
    )
    return at.concatenate([first, V[-1]])


V = voltages(z, power)
losses = MVA * (at.sqr(at.abs(at.dot(D, V))) * at.real(1 / z)).sum()
flow = aot.function([z, power], {"V": V, "losses": losses, "dlosses": aot.grad(losses, z)}, name="flow")
magnitudes = at.abs(voltages(z, at.set_subtensor(power[held], at.complex(at.real(power[held]), reactive)))[held])
generators = aot.function(
    [z, power, reactive], {"V": magnitudes, "dV": jacobian(magnitudes, reactive)}, name="generators"
)


if __name__ == "__main__":
    lines_z = lines["resistance_pu"] + 1j * lines["reactance_pu"]
    load = buses["load_MW"] + 1j * buses["load_Mvar"]
    entering = buses["generated_MW"] + 1j * buses["generated_Mvar"] - load
    found = entering.imag[held]
    for _ in range(4):
        at_generators = generators(lines_z, entering, found)
        found = found - np.linalg.solve(at_generators["dV"], at_generators["V"] - buses["voltage_pu"][held])
    entering.imag[held] = found
    result = flow(lines_z, entering)
    volts, lost = result["V"], float(result["losses"])

    admittances = D.T @ ((1 / lines_z)[:, None] * D) + to_earth
    power_found = MVA * volts * np.conj(admittances @ volts)
    print(f"powers are met to {abs(power_found - entering)[1:].max():.1e} MVA; bus 1 gives {power_found[0]:.2f} MVA")
    print(f"lines lose {lost:.4f} MW, by the balance of all buses {power_found.sum().real:.4f} MW")
    off = abs(abs(volts) - buses["voltage_pu"]).max(), abs(np.degrees(np.angle(volts)) - buses["angle_deg"]).max()
    print(f"from the published voltages: {off[0]:.5f} per unit, {off[1]:.4f} degrees")
    print("reactive powers of generators", found.round(1) + load.imag[held], "published", buses["generated_Mvar"][held])

    by_resistance, by_reactance = result["dlosses"].real, -result["dlosses"].imag
    for part, derivative in ((1.0, by_resistance), (1j, by_reactance)):
        k = int(abs(derivative).argmax())
        step = 1e-5 * part * (np.arange(len(lines)) == k)
        high, low = (float(flow(lines_z + s * step, entering)["losses"]) for s in (1, -1))
        name = "resistance" if part == 1 else "reactance"
        print(
            f"{name} of line {lines['from'][k]:.0f}-{lines['to'][k]:.0f}: {derivative[k]:.4f} MW per unit, "
            f"by difference {(high - low) / 2e-5:.4f}"
        )
