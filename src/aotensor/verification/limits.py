"""Limits of checks: read by the command line without importing the compiler."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Final

MOST_SAMPLES: Final = 1_000_000
"""Largest number of random arguments per comparison: small functions need about a millisecond for each."""


@dataclass(frozen=True)
class Limits:
    """The largest amount of work for a check; reports name what is left out for more.

    sample, samples: operations that the loops of the reference evaluate for one sample, and for all samples of a check.
    interpreted: the same for a sample on which tensor IR is interpreted. point: the same for one value of the function,
    where gradients of the reference are checked. derivatives: operations of the program of all derivatives. verified:
    the same for one whose IR is verified after every pass.
    """

    sample: float = 300_000
    samples: float = 900_000
    interpreted: float = 30_000
    point: float = 10_000
    derivatives: float = 25_000
    verified: float = 2_000


LIMITS: Final = Limits()
NO_LIMITS: Final = Limits(inf, inf, inf, inf, inf, inf)
