"""Values and derivatives of one function at its points, compared with exact ones."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any, Final

import mpmath as mp
import numpy as np
from tools.accuracy.functions import FUNCTIONS, Function
from tools.accuracy.oracle import exact

import aotensor as aot
import aotensor.tensor as at

_EPSILON: Final = 2.0**-52
_LARGEST: Final = mp.mpf(sys.float_info.max)
_SMALLEST: Final = mp.mpf(sys.float_info.min)


def orders_of(function: Function) -> list[tuple[int, ...]]:
    """The orders of derivatives to measure: of the value, and first and second ones by each operand."""
    count = len(function.operands.split())
    axes: list[tuple[int, ...]] = [(), *((i,) for i in range(count))]
    if function.seconds:
        axes += combinations_with_replacement(range(count), 2)
    return [tuple(sum(a == i for a in some) for i in range(count)) for some in axes]


def compiled(function: Function, orders: Sequence[tuple[int, ...]]) -> aot.Function:
    """A Function of vectors with one output per order."""
    xs = [at.vector(name, shape=("n",)) for name in function.operands.split()]
    outputs = {}
    for order in orders:
        y = function.ours(*xs)
        for x, count in zip(xs, order, strict=True):
            for _ in range(count):
                y = aot.grad(y.sum(), x)
        outputs[member(order)] = y
    return aot.function(xs, outputs, name="accuracy")


def member(order: tuple[int, ...]) -> str:
    """The name of the output for some orders of derivatives."""
    return "d" + "".join(f"_{k}" for k in order)


def measured(name: str, store: Path, seconds: float, progress: str) -> list[dict[str, Any]]:
    """One row per order and region with the worst errors, compiled and by the reference; `store` has exact values."""
    function = FUNCTIONS[name]
    orders = orders_of(function)
    known = json.loads(store.read_text()) if store.exists() else {}
    rows = []
    for k, order in enumerate(orders):
        for i, point in enumerate(function.points):
            key = f"{member(order)} {' '.join(map(repr, point))}"
            if key not in known:
                known[key] = exact(function.exact, order, point, seconds)
                if sys.stderr.isatty() or not i % 40:
                    done = f"{progress} {name}: derivative {k + 1}/{len(orders)}, point {i + 1}/{len(function.points)}"
                    sys.stderr.write(f"\r{done} " if sys.stderr.isatty() else f"{done}\n")
        store.write_text(json.dumps(known), encoding="utf-8")
    f = compiled(function, orders)
    arrays = [np.array(column) for column in zip(*function.points, strict=True)]
    with np.errstate(all="ignore"):
        found = {"compiled": f(*arrays), "reference": f.reference(*arrays)}
    for order in orders:
        regions: dict[str, list[int]] = {}
        for i, point in enumerate(function.points):
            regions.setdefault(region(point), []).append(i)
        for where, places in regions.items():
            row: dict[str, Any] = {"orders": order, "region": where, "points": 0}
            for by, results in found.items():
                row[by] = _worst(function, order, places, known, np.asarray(results[member(order)]), row)
            if row["points"]:
                rows.append(row)
    worst = max((row["compiled"]["share"] for row in rows), default=0.0)
    sys.stderr.write(f"\r{progress} {name}: {len(rows)} rows, at most {worst:.3g} of the bound\n")
    return rows


def _worst(
    function: Function, order: tuple[int, ...], places: list[int], known: dict[str, str | None], found: Any, row: Any
) -> dict[str, Any]:
    """The point with the largest error relative to its bound."""
    worst: dict[str, Any] = {"share": -1.0, "ulp": 0.0, "at": [], "found": 0.0, "exact": "0"}
    count = 0
    for i in places:
        text = known[f"{member(order)} {' '.join(map(repr, function.points[i]))}"]
        if text is None:
            continue
        count += 1
        relative, size = _relative(float(found[i]), mp.mpf(text), function, function.points[i])
        share = relative / (function.bounds[sum(order)] * size)
        if share > worst["share"]:
            worst = {
                "share": min(share, 1e300), "ulp": min(relative / _EPSILON, 1e300), "at": list(function.points[i]),
                "found": repr(float(found[i])), "exact": mp.nstr(mp.mpf(text), 17),
            }  # fmt: skip
    row["points"] = count
    return worst


def _relative(found: float, wanted: Any, function: Function, point: tuple[float, ...]) -> tuple[float, float]:
    """The relative error, and 1 + |ln y|; a result beyond the range of float64 is ±∞ or below the least normal one."""
    if abs(wanted) > _LARGEST * mp.mpf("0.999"):
        return (0.0 if math.isinf(found) and (found > 0) == (wanted > 0) else math.inf), 1.0
    if math.isnan(found) or math.isinf(found):
        return math.inf, 1.0
    error = abs(mp.mpf(found) - wanted)
    if error < _SMALLEST:
        return 0.0, 1.0
    size = abs(wanted)
    return float(error / function.size(size, *point)), float(1 + abs(mp.log(max(size, _SMALLEST))))


def region(point: tuple[float, ...]) -> str:
    """Which kinds of operands a point has: below 1e-3, above 1e3, negative."""
    kinds = {
        "negative": any(x < 0 for x in point),
        "tiny": any(0 < abs(x) < 1e-30 for x in point),
        "small": any(1e-30 <= abs(x) < 1e-3 for x in point),
        "large": any(1e3 < abs(x) <= 1e30 for x in point),
        "huge": any(abs(x) > 1e30 for x in point),
    }
    return ", ".join(kind for kind, holds in kinds.items() if holds) or "usual"
