"""Relative errors where a function is small: around its zeros and in its tails, of the reference and of the library.

The zeros are those of real analysis, the values mpmath's. A bound in ulp of the small value itself: an absolute error
near a zero would be no error bound at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import aotensor as aot
import aotensor.tensor as at
from aotensor.core.types import Array

DIGITS = 50


@dataclass(frozen=True)
class Small:
    """exact: in mpmath. places: zeros, or points in a tail, as text or functions of nothing, exact to all digits.

    domain: of the points around them. bound: in ulp, of both; own: of the reference where that is worse.
    """

    exact: Callable[[Any], Any]
    places: Sequence[Any]
    domain: tuple[float, float] = (-np.inf, np.inf)
    bound: float = 4.0
    own: float = 4.0


def _multiples(offset: float, *counts: int) -> list[Callable[[], Any]]:
    return [lambda k=k: (k + mp.mpf(offset)) * mp.pi for k in counts]


ABOVE_0, INSIDE, BELOW_0 = (0.0, np.inf), (-1.0, 1.0), (-np.inf, 0.0)
TABLE: dict[str, Small] = {
    "log": Small(mp.log, ["1"], ABOVE_0),
    "log2": Small(lambda x: mp.log(x) / mp.log(2), ["1"], ABOVE_0),
    "log10": Small(mp.log10, ["1"], ABOVE_0),
    "log1p": Small(mp.log1p, ["0"], (-1.0, np.inf)),
    "xlogx": Small(lambda x: x * mp.log(x), ["1", "1e-300"], ABOVE_0),
    "expm1": Small(mp.expm1, ["0"]),
    "sin": Small(mp.sin, _multiples(0, -3, -1, 0, 1, 2, 7, 100, 10**5)),
    "cos": Small(mp.cos, _multiples(0.5, -2, -1, 0, 1, 5, 100, 10**5)),
    "tan": Small(mp.tan, _multiples(0, -1, 0, 1, 2, 100, 10**5)),
    "arcsin": Small(mp.asin, ["0"], INSIDE),
    "arccos": Small(mp.acos, ["1"], INSIDE),
    "arctan": Small(mp.atan, ["0"]),
    "sinh": Small(mp.sinh, ["0"]),
    "tanh": Small(mp.tanh, ["0"]),
    "arcsinh": Small(mp.asinh, ["0"]),
    "arctanh": Small(mp.atanh, ["0"], INSIDE),
    "arccosh": Small(mp.acosh, ["1"], (1.0, np.inf)),
    "cbrt": Small(lambda x: mp.sign(x) * mp.cbrt(abs(x)), ["0"]),
    "deg2rad": Small(lambda x: x * mp.pi / 180, ["0"]),
    "rad2deg": Small(lambda x: x * 180 / mp.pi, ["0"]),
    "sigmoid": Small(lambda x: 1 / (1 + mp.exp(-x)), ["-30", "-80"]),
    "softplus": Small(lambda x: mp.log1p(mp.exp(x)), ["-30", "-80"]),
    "log1mexp": Small(lambda x: mp.log1p(-mp.exp(x)), ["-30", "-80"], BELOW_0),
    "logit": Small(lambda x: mp.log(x) - mp.log1p(-x), ["0.5"], (0.0, 1.0)),
    "erf": Small(mp.erf, ["0"]),
    "erfc": Small(mp.erfc, ["5", "9"], own=64.0),  # SciPy rounds x² before the exponential
    "erfinv": Small(mp.erfinv, ["0"], INSIDE),
    "erfcinv": Small(lambda x: mp.erfinv(1 - x), ["1"], (0.0, 2.0)),
    "ndtri": Small(lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), ["0.5"], (0.0, 1.0), own=8.0),
    "log_ndtr": Small(lambda x: mp.log(mp.ncdf(x)), ["-3", "-30", "3"], bound=16.0, own=32.0),
    "gammaln": Small(mp.loggamma, ["1", "2"], ABOVE_0, own=8.0),
    "psi": Small(mp.digamma, [lambda: mp.findroot(mp.digamma, mp.mpf("1.4616"))], ABOVE_0),
}  # fmt: skip
DTYPES = ("float32", "float64")


def points(row: Small, dtype: str) -> Array:
    """At each place the nearest numbers, and others at distances from 1 down to the spacing."""
    found: list[Any] = []
    bits = np.finfo(dtype).nmant
    with mp.workdps(DIGITS):
        for place in row.places:
            centre = place() if callable(place) else mp.mpf(place)
            near = np.array(float(centre), dtype)
            for _ in range(4):
                found += [near, 2 * np.array(float(centre), dtype) - near]
                near = np.nextafter(near, np.array(np.inf, dtype))
            steps = [mp.mpf("0.7311") * mp.mpf(2) ** -k for k in range(0, bits + 4, 2)]
            found += [np.array(float(centre + sign * step), dtype) for step in steps for sign in (-1, 1)]
    values = np.unique(np.array(found, dtype))
    return values[(values > row.domain[0]) & (values < row.domain[1])]


def errors(row: Small, x: Array, found: Array) -> Array:
    """In ulp of the exact value, which may be far from all numbers of the dtype."""
    result = []
    with mp.workdps(DIGITS):
        for number, value in zip(x, found, strict=True):
            exact = row.exact(mp.mpf(float(number)))
            size = np.abs(np.array(float(exact), x.dtype))
            result.append(float(abs(mp.mpf(float(value)) - exact) / mp.mpf(float(np.spacing(size)))))
    return np.array(result)


def _program(name: str, dtype: str) -> Any:
    x = at.vector("x", dtype)
    return aot.function([x], getattr(at, name)(x), name=f"small_{name}_{dtype}")


def _check(name: str, dtype: str, run: Callable[[Array], Array], bound: float) -> None:
    x = points(TABLE[name], dtype)
    found = errors(TABLE[name], x, run(x))
    worst = int(found.argmax())
    assert found[worst] <= bound, f"{found[worst]:.2f} ulp at {x[worst]!r}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TABLE)
def test_reference_is_exact_where_it_is_small(name: str, dtype: str) -> None:
    _check(name, dtype, _program(name, dtype).reference, TABLE[name].own)


def test_library_is_exact_where_it_is_small(tmp_path: Path) -> None:
    functions = [_program(name, dtype) for name in TABLE for dtype in DTYPES]
    library = aot.compile(functions, tmp_path, name="small").load()
    for name in TABLE:
        for dtype in DTYPES:
            _check(name, dtype, getattr(library, f"small_{name}_{dtype}"), TABLE[name].bound)
