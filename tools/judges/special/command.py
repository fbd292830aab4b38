"""Evaluate functions of aotensor and SciPy at the points of the tables, and write the page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import scipy
from tools.judges.origin import write_page
from tools.judges.special.tables import FOLDER, TABLES, Numbers, Table, read

import aotensor as aot
import aotensor.tensor as at

PAGE: Final = Path(__file__).parents[3] / "docs" / "judges" / "special.md"
CLOSE: Final = 1e-12
"""Relative error that is always right."""
TIMES: Final = 4
"""How many times SciPy's largest error at a table is right: where operands are rounded, both have one."""
_LEAST: Final = float(np.finfo("float64").tiny)


@dataclass(frozen=True)
class Row:
    """Errors at a table.   ours, reference, scipys: the largest; worst: operands, result and exact value of ours"""

    table: Table
    points: int
    ours: float
    reference: float
    scipys: float
    worst: tuple[float, ...]

    @property
    def is_wrong(self) -> bool:
        """Is an error larger than allowed?"""
        return not self.ours <= max(CLOSE, TIMES * self.scipys)


def errors(found: Any, wanted: Numbers) -> Numbers:
    """Relative errors; 0 where both are subnormal or zero, inf for another place of nan or an infinity."""
    found = np.asarray(found)
    with np.errstate(all="ignore"):
        apart = np.abs(found - wanted)
        relative = np.where(apart < _LEAST, 0.0, apart / np.maximum(np.abs(wanted), _LEAST))
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    return np.where(same, 0.0, np.where(np.isfinite(relative), relative, np.inf))


def measured(table: Table, data: Path) -> Row:
    """The errors of the compiled function, of its reference, and of SciPy's at a table."""
    numbers = read(data / FOLDER / f"{table.path}.txt", table.operands)
    operands = [np.ascontiguousarray(numbers[:, k]) for k in table.operands]
    symbols = [at.vector(f"x{k}", shape=("n",)) for k in range(len(operands))]
    function = aot.function(symbols, table.ours(*symbols), name="table")
    wanted = numbers[:, table.result]
    with np.errstate(all="ignore"):
        compiled = np.asarray(function(*operands))
        others = function.reference(*operands), table.scipys(*operands)
    ours, (reference, scipys) = errors(compiled, wanted), (errors(x, wanted).max() for x in others)
    k = int(ours.argmax())
    worst = (*(float(x[k]) for x in operands), float(compiled[k]), float(wanted[k]))
    return Row(table, len(numbers), float(ours.max()), float(reference), float(scipys), worst)


def run(options: argparse.Namespace) -> int:
    """Run the tables of the selected functions; returns 1 if one is wrong."""
    names = options.functions.split(",") if options.functions else []
    if unknown := sorted(set(names) - {table.name for table in TABLES}):
        raise SystemExit(f"there is no table of {', '.join(unknown)}")
    rows = []
    for table in TABLES:
        if not names or table.name in names:
            rows.append(measured(table, options.data))
            sys.stdout.write(_line(rows[-1]) + "\n")
            sys.stdout.flush()
    wrong = sum(row.is_wrong for row in rows)
    sys.stdout.write(f"{len(rows) - wrong} of {len(rows)} tables right, {sum(row.points for row in rows)} points\n")
    if options.page:
        write_page(PAGE, page(rows))
    return 1 if wrong else 0


def _line(row: Row) -> str:
    verdict = "WRONG" if row.is_wrong else "right"
    found = f"{row.table.name} {row.table.path}: {verdict}: error {row.ours:.1e}, SciPy {row.scipys:.1e}"
    return found + (f" at {row.worst}" if row.is_wrong else "")


_INTRODUCTION: Final = """# Special functions at the tables of SciPy's tests

Written by `python -m tools.judges special --data FOLDER --page`, where FOLDER is a checkout of
[SciPy](https://github.com/scipy/scipy). Its tests have tables of exact values, most of them Boost's. Columns are the
largest relative errors: of the compiled function, of `f.reference`, and of SciPy {scipy}. Rows with operands that
float64 cannot hold are left out. An error is right up to 1e-12, or four times SciPy's: where a function is
ill-conditioned, both show the rounding of operands. f' is the derivative in the last operand, by `aot.grad`.
More points, with second derivatives, are in [accuracy](../accuracy.md).
"""


def page(rows: Sequence[Row]) -> str:
    """The text of the page."""
    right = sum(not row.is_wrong for row in rows)
    text = _INTRODUCTION.format(scipy=scipy.__version__)
    text += f"\n{right} of {len(rows)} tables are right, {sum(row.points for row in rows)} points in all.\n"
    text += "\n| function | table | points | compiled | reference | SciPy |\n|---|---|---:|---:|---:|---:|\n"
    for row in rows:
        name = f"{row.table.name}{' **wrong**' if row.is_wrong else ''}"
        cells = " | ".join(f"{x:.1e}" for x in (row.ours, row.reference, row.scipys))
        text += f"| {name} | {row.table.path.rpartition('/')[2]} | {row.points} | {cells} |\n"
    return text
