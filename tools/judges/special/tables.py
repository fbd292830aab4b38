"""The list of tables: function or derivative, and columns of operands and result; the reader of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import scipy.special

import aotensor as aot
import aotensor.tensor as at

Numbers = np.ndarray[Any, Any]
FOLDER: Final = Path("scipy", "special", "tests", "data")


@dataclass(frozen=True)
class Table:
    """A function at the points of a table.

    path: of the file, below FOLDER, without .txt. operands: columns of the operands. result: column of the result.
    """

    name: str
    path: str
    operands: tuple[int, ...]
    result: int
    ours: Callable[..., Any]
    scipys: Callable[..., Any]


def read(path: Path, operands: Sequence[int]) -> Numbers:
    """The rows of a table whose operands float64 can hold; results may become 0 or ∞.   → (rows, columns)"""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.partition("#")[0].replace(",", " ").split()
        numbers = [float(word) for word in words]
        if numbers and all(_is_held(words[k], numbers[k]) for k in operands):
            rows.append(numbers)
    return np.array(rows)


def _is_held(word: str, x: float) -> bool:
    """Is a written number neither too small nor too large for a float?"""
    digits = word.lower().partition("e")[0].strip("-+0.")
    return bool(np.isfinite(x)) and (x != 0.0 or not digits)


def _slope(function: Callable[..., Any]) -> Callable[..., Any]:
    """The derivative in the last operand."""

    def derivative(*operands: Any) -> Any:
        return aot.grad(function(*operands).sum(), operands[-1])

    return derivative


def _boost(name: str) -> str:
    return f"boost/{name}_ipp/{name}"


def _rows(name: str, paths: Sequence[str], operands: tuple[int, ...], result: int, *functions: Any) -> list[Table]:
    """A function at the points of several tables; by default ours and SciPy's of that name."""
    ours, scipys = functions or (getattr(at, name), getattr(scipy.special, name))
    return [Table(name, path, operands, result, ours, scipys) for path in paths]


def _part(of: Callable[..., Any], part: Callable[..., Any], z: Callable[..., Any]) -> Callable[..., Any]:
    """The real or imaginary part of a function of x + iy, of x and y."""
    return lambda x, y: part(of(z(x, y)))


_ERF = [_boost(f"erf{size}_data") for size in ("", "_large", "_small")]
_GAMMA = [
    f"boost/test_gamma_data_ipp/{part}" for part in ("near_0", "near_1", "near_2", "near_m10", "near_m55", "factorials")
]
_BETA = [_boost(f"ibeta{size}_data") for size in ("", "_small", "_int", "_large")]
_INCOMPLETE = [_boost(f"igamma_{size}_data") for size in ("small", "med", "int", "big")]
_INVERSE = [_boost(f"gamma_inv{size}_data") for size in ("", "_small", "_big")]
_RATIO = [_boost(f"tgamma_delta_ratio{kind}") for kind in ("_data", "_int", "_int2")]

TABLES: Final = (
    *_rows("log1p", [_boost("log1p_expm1_data")], (0,), 1),
    *_rows("expm1", [_boost("log1p_expm1_data")], (0,), 2),
    *(
        Table(f"{name}, {label} part", "local/log1p_expm1_complex", (0, 1), first + k,
              _part(getattr(at, name), getattr(at, label), at.complex),
              _part(getattr(scipy.special, name), getattr(np, label), lambda x, y: x + 1j * y))
        for name, first in (("log1p", 2), ("expm1", 4))
        for k, label in enumerate(("real", "imag"))
    ),
    *_rows("cbrt", [_boost("cbrt_data")], (1,), 0),
    *_rows("erf", _ERF, (0,), 1),
    *_rows("erfc", _ERF, (0,), 2),
    *_rows("erfinv", [_boost("erf_inv_data")], (0,), 1),
    *_rows("erfcinv", [_boost("erfc_inv_data"), _boost("erfc_inv_big_data")], (0,), 1),
    *_rows("gamma", _GAMMA, (0,), 1),
    *_rows("gammaln", _GAMMA, (0,), 2),
    *_rows("digamma", [_boost(f"digamma{kind}_data") for kind in ("", "_neg", "_root", "_small")], (0,), 1),
    *_rows("1 / poch", _RATIO, (0, 1), 2, lambda x, d: 1 / at.poch(x, d), lambda x, d: 1 / scipy.special.poch(x, d)),
    *_rows(
        "1 / poch of -d", _RATIO, (0, 1), 3, lambda x, d: 1 / at.poch(x, -d), lambda x, d: 1 / scipy.special.poch(x, -d)
    ),
    *_rows("beta", [_boost("beta_exp_data"), _boost("beta_med_data")], (0, 1), 2),
    *_rows("betainc", _BETA, (0, 1, 2), 5),
    *_rows("betaincinv", [_boost("ibeta_inv_data")], (0, 1, 2), 3),
    *_rows("gammainc", _INCOMPLETE, (0, 1), 5),
    *_rows("gammainc", ["local/gammainc"], (0, 1), 2),
    *_rows("gammaincc", _INCOMPLETE, (0, 1), 3),
    *_rows("gammaincc", ["local/gammaincc"], (0, 1), 2),
    *_rows("gammaincinv", _INVERSE, (0, 1), 2),
    *_rows("gammainccinv", _INVERSE, (0, 1), 3),
    *_rows("jv", [_boost(f"bessel_j{kind}_data") for kind in ("", "_int", "_large")], (0, 1), 2),
    *_rows("iv", [_boost(f"bessel_i{kind}_data") for kind in ("", "_int")], (0, 1), 2),
    *_rows("kv", [_boost(f"bessel_k{kind}_data") for kind in ("", "_int")], (0, 1), 2),
    *_rows("jv'", [_boost(f"bessel_j_prime{kind}_data") for kind in ("_int", "_large")], (0, 1), 2,
           _slope(at.jv), scipy.special.jvp),
    *_rows("iv'", [_boost("bessel_i_prime_int_data")], (0, 1), 2, _slope(at.iv), scipy.special.ivp),
    *_rows("kv'", [_boost(f"bessel_k_prime{kind}_data") for kind in ("", "_int")], (0, 1), 2,
           _slope(at.kv), scipy.special.kvp),
    *_rows("owens_t", [_boost("owens_t"), _boost("owens_t_large_data")], (0, 1), 2),
)  # fmt: skip
"""All tables of functions that we have."""
