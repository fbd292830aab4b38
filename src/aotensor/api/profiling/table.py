"""Columns of a profile as text: time, its forward and derivative parts, rates, and the limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aotensor.api.profiling.rows import Row

COLUMNS: Final = ("time", "forward", "derivative", "GB/s", "GFLOP/s", "bound by")
LEAST: Final = 0.003
"""Least share of the time of a row that is shown."""


def shown_rows(rows: Sequence[Row]) -> list[Row]:
    """The rows large enough to be shown."""
    return [row for row in rows if row.share >= LEAST]


def cells(row: Row) -> tuple[str, ...]:
    """The texts of a row, one for each of `COLUMNS`."""
    percents = [f"{100 * x:.1f} %" if x else "" for x in (row.share, row.forward, row.derivative)]
    rates = ["" if x is None else f"{x / 1e9:.2f}" for x in row.rates]
    bound = row.bound if row.of_limit is None else f"{row.bound}, {100 * row.of_limit:.0f} % of a limit"
    return (*percents, *rates, bound)


def kernels_text(row: Row) -> str:
    """`aot_gemm 20 %, ...`: kernels and libraries that a line calls, "" for none."""
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in row.kernels.items() if share >= LEAST)
