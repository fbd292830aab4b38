"""Compare numbers of two implementations; the record that a plugin writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

CLOSE: Final = {"float64": 1e-8, "float32": 2e-3, "float16": 3e-2, "bfloat16": 2e-1}
"""Relative to the largest number of a result, by the narrowest dtype of the program: both round differently."""


@dataclass(frozen=True)
class Comparison:
    """One program at one point.

    what: how the test differentiates it, such as `check_grads`. verdict: `same`, `refused`, `wrong`, or `nothing`
    where no result depends on an operand that has derivatives. orders: which derivatives were compared.
    undefined: how many numbers are nan in the framework alone.
    """

    what: str
    verdict: str
    reason: str = ""
    orders: str = ""
    undefined: int = 0

    def line(self) -> dict[str, Any]:
        """The comparison as JSON values."""
        return asdict(self)


def compared_orders(
    what: str,
    wanted: Mapping[str, Sequence[Any]],
    found: Mapping[str, Sequence[Any]],
    why: str,
    refused: Mapping[str, str],
    close: float,
) -> Comparison:
    """The verdict on results by order.

    wanted: of the framework; why: the reason for its missing orders. found: ours; refused: reasons for missing ones.
    """
    undefined, orders = 0, []
    for order in wanted:
        if order not in found:
            continue
        orders.append(order)
        for theirs, ours in zip(wanted[order], found[order], strict=True):
            text, missing = difference(theirs, ours, close)
            undefined += missing
            if text:
                return Comparison(what, "wrong", f"{order}: {text}", ", ".join(orders), undefined)
    if missing_orders := [order for order in wanted if order not in found]:
        first = refused.get(missing_orders[0], "")
        return Comparison(what, "refused", f"{missing_orders[0]}: {first}", ", ".join(orders), undefined)
    return Comparison(what, "same", why, ", ".join(orders), undefined)


def narrowest(dtypes: Sequence[Any]) -> float:
    """The tolerance of programs on these dtypes; integers do not count."""
    return max((CLOSE[str(one)] for one in dtypes if str(one) in CLOSE), default=CLOSE["float64"])


def difference(wanted: Any, found: Any, close: float) -> tuple[str, int]:
    """The first difference ("" if there is none), and the number of values that are nan in `wanted` only."""
    wanted, found = np.asarray(wanted, "float64"), np.asarray(found, "float64")
    if wanted.shape != found.shape:
        return f"shape {list(found.shape)} instead of {list(wanted.shape)}", 0
    scale = np.max(np.abs(wanted), where=np.isfinite(wanted), initial=1.0)
    with np.errstate(all="ignore"):
        is_other = ~np.isclose(found, wanted, rtol=close, atol=close * scale, equal_nan=True)
    undefined = is_other & np.isnan(wanted)
    is_other &= ~undefined
    if not is_other.any():
        return "", int(undefined.sum())
    place = tuple(int(k) for k in np.argwhere(is_other)[0])
    text = f"{found[place]:.8g} instead of {wanted[place]:.8g} at {list(place)}"
    return f"{text}, {int(is_other.sum())} of {is_other.size}", int(undefined.sum())
