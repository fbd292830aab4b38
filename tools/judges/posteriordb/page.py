"""The page docs/judges/posteriordb.md: a row for each model."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from tools.judges.posteriordb.models import LOOSE

if TYPE_CHECKING:
    from tools.judges.posteriordb.command import Row

PAGE: Final = Path(__file__).parents[3] / "docs" / "judges" / "posteriordb.md"
_HEAD: Final = (
    "| model | parameters | gradient | elsewhere | values | µs | stanli µs | ratio "
    "| compile s | cold s | stanli cold s | KiB |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
)
_ABSENT: Final = "not measured"


def page(rows: Sequence[Row], left_out: Sequence[str]) -> str:
    """The text of the page.   left_out: models of posteriordb that nobody has written yet"""
    text = _INTRODUCTION.format(stanli=_version("stanli")) + "\n" + _summary(rows)
    for kind, group in groupby(rows, key=lambda row: row.kind):
        text += f"\n## {kind[0].upper()}{kind[1:]}\n\n" + _HEAD + "".join(_row(row) for row in group)
    notes = [f"- {row.name}: {LOOSE[row.name].reason}.\n" for row in rows if row.name in LOOSE]
    notes += [f"- {row.name}: {row.failed}.\n" for row in rows if row.failed]
    notes += [
        f"- {row.name}: stanli fails: {row.theirs['failed']}.\n" for row in rows if "failed" in row.theirs
    ]  # fmt: skip
    notes += [f"- {name}: not written; its data set is not in the folder of judges.\n" for name in left_out]
    return text + "\n## Notes\n\n" + "".join(notes)


_INTRODUCTION: Final = """# posteriordb, compared with CmdStan

Written by `python -m tools.judges posteriordb --data FOLDER --stan FOLDER --page`. The models of
[posteriordb](https://github.com/stan-dev/posteriordb), rewritten with `aotensor.tensor`. Gradients are compared with
those of CmdStan, which [stanli](https://github.com/seantalts/stanli) publishes; all other columns compare with the
interpreter of stanli {stanli}.

- gradient: the largest difference to CmdStan at the recorded point, relative to the largest element; 1e-9 is allowed.
- elsewhere: the same at a random point, to stanli; values: the error of the difference of the log densities at both
  points, to stanli.
- µs: value and gradient on fixed buffers, one core, the shortest of many averages; ratio: stanli's time divided by
  aotensor's.
- compile s: processor seconds from symbols to a library. cold s: the same from the start of Python to the first
  gradient, with no part of the model cached.
- KiB: size of the library, with its manifest, its IR and the data set, which is a constant of the program.
"""


def _summary(rows: Sequence[Row]) -> str:
    right = sum(not row.is_wrong and not row.failed for row in rows)
    loose = sum(row.name in LOOSE for row in rows)
    lines = [f"{right} of {len(rows)} models are right, {loose} of them to a looser tolerance (notes)."]
    timed = [row.theirs["call"] / row.ours["call"] for row in rows if "call" in row.theirs and "call" in row.ours]
    if timed:
        faster = sum(ratio > 1 for ratio in timed)
        lines.append(
            f"{faster} of {len(timed)} are faster than stanli's interpreter; the median ratio is {median(timed):.1f}."
        )
    made = [row.ours["compile"] for row in rows if "compile" in row.ours]
    if made:
        lines.append(f"The median compile time is {median(made):.2f} s, the longest {max(made):.1f} s.")
    return " ".join(lines) + "\n"


def _row(row: Row) -> str:
    if row.failed:
        return f"| {row.name} | {row.size} | failed |{' |' * 9}\n"
    ours, theirs = row.ours, row.theirs
    ratio = theirs["call"] / ours["call"] if "call" in theirs else None
    cells = [
        *(_number(x, ".1e") for x in (row.error, row.drift, row.change)),
        _number(1e6 * ours["call"], ".2f"),
        _number(1e6 * theirs["call"] if "call" in theirs else None, ".2f"),
        _number(ratio, ".2f"),
        *(_number(x, ".2f") for x in (ours["compile"], ours["cold"], theirs.get("cold"))),
        f"{ours['bytes'] / 1024:.0f}",
    ]
    return f"| {row.name}{' (notes)' if row.name in LOOSE else ''} | {row.size} | {' | '.join(cells)} |\n"


def _number(x: Any, form: str) -> str:
    return _ABSENT if x is None else format(x, form)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return _ABSENT
