"""Functions with parameters that are computed by loops, each with its derivatives in the parameters to any order.

`gammainc` is the function and `gammainc_2` its second derivative in the first operand; `betainc_1_1` is the mixed one
in the first two. Each is a separate function, defined when a program calls it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from aotensor.passes.scalar_math.parametric import (
    bessel,
    beta,
    gamma_integrals,
    hypergeometric,
    incomplete_beta,
    incomplete_gamma,
    inverses,
    modified_bessel,
    owens_t,
    pochhammer,
)
from aotensor.passes.scalar_math.value import Value


@dataclass(frozen=True, slots=True)
class Family:
    """A function and its derivatives: formula(*operands, *orders), an order for each of the first `parameters`.

    length: a function of the operands from 0 to 1 that grows with the trip counts of the loops, if known: elements on
    one vector should have about the same.
    """

    formula: Callable[..., Value]
    operands: int
    parameters: int = 0
    length: Callable[..., Value] | None = None


FAMILIES: Final[Mapping[str, Family]] = {
    "gammainc": Family(incomplete_gamma.gammainc, 2, 1, incomplete_gamma.length),
    "gammaincc": Family(incomplete_gamma.gammaincc, 2, 1, incomplete_gamma.length),
    "gamma_density": Family(incomplete_gamma.gamma_density, 2, 1),
    "beta": Family(beta.beta, 2, 2),
    "gammal": Family(gamma_integrals.gammal, 2, 1),
    "gammau": Family(gamma_integrals.gammau, 2, 1),
    "gamma_power": Family(gamma_integrals.gamma_power, 2, 1),
    "betainc": Family(incomplete_beta.betainc, 3, 2, incomplete_beta.length),
    "beta_density": Family(incomplete_beta.beta_density, 3, 2),
    "gammaincinv": Family(inverses.gammaincinv, 2),
    "gammainccinv": Family(inverses.gammainccinv, 2),
    "betaincinv": Family(inverses.betaincinv, 3),
    "owens_t": Family(owens_t.owens_t, 2),
    "poch": Family(pochhammer.poch, 2, 2),
    "iv": Family(modified_bessel.iv, 2, 2),
    "ive": Family(modified_bessel.ive, 2, 2),
    "kv": Family(modified_bessel.kv, 2, 2),
    "kve": Family(modified_bessel.kve, 2, 2),
    "jv": Family(bessel.jv, 2, 1, bessel.length),
    "hyp2f1": Family(hypergeometric.hyp2f1, 4, 4),
}


def member(name: str) -> tuple[Callable[..., Value], int] | None:
    """The formula of a function or of one of its derivatives, and its number of operands; None if there is none."""
    family, orders = _parts(name)
    if family is None:
        return None
    if orders and len(orders) != family.parameters:
        return None
    return lambda *operands: family.formula(*operands, *orders), family.operands


def length_of(name: str) -> Callable[..., Value] | None:
    """The `length` of the family of a function or derivative; None if it has none."""
    family, _ = _parts(name)
    return family.length if family is not None else None


def _parts(name: str) -> tuple[Family | None, tuple[int, ...]]:
    """The family of a function or derivative, None if there is none, and the orders of differentiation."""
    parts = re.fullmatch(r"(?P<base>.*?)(?P<orders>(_[0-9]+)*)", name)
    assert parts is not None, "names have one line"
    return FAMILIES.get(parts["base"]), tuple(map(int, parts["orders"].split("_")[1:]))
