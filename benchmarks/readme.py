"""Writes the tables and medians of the results into docs/speed.md and README.md: `python benchmarks/readme.py`.

They replace what is between marks: <!-- speed --> ... <!-- end of speed -->, and the same of sparse and medians.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from harness import HERE, RESULTS
from targets import Record, standing, summary

README: Final = HERE.parent / "README.md"
PAGE: Final = HERE.parent / "docs" / "speed.md"
TABLES: Final = {"speed": "dense", "sparse": "sparse"}
"""Table → its programs."""
_CORES: Final = {1: "one core", 2: "two cores"}


@dataclass(frozen=True)
class Medians:
    """Ratios of our time to that of the fastest peer, of one table on some cores.

    wins: rows with a ratio of at most 1.00. slowest: title of the row with the largest ratio, against `peer`.
    """

    rows: int
    ratio: float
    wins: int
    largest: float
    slowest: str
    peer: str

    @property
    def row(self) -> str:
        """The name of the slowest row, in a table."""
        return f"{self.largest:.2f}: {self.slowest.replace('|', chr(92) + '|')} ({self.peer})"


def medians(records: Sequence[Record], cores: int) -> Medians:
    """The medians of a table on one or two cores; rows without peers do not count."""
    found = [(x, record["title"]) for record in records if record.get("cores", 1) == cores and (x := standing(record))]
    ratios = [x.ratio for x, _ in found]
    slowest, title = max(found, key=lambda pair: pair[0].ratio)
    wins = sum(round(ratio, 2) <= 1.0 for ratio in ratios)
    return Medians(len(found), median(ratios), wins, slowest.ratio, title, slowest.peer)


def of_own_size(results: Path) -> Mapping[str, list[Record]]:
    """The rows of each table at the table's own size."""
    return {
        name: [x for x in json.loads((results / f"{name}.json").read_text())["cases"] if x.get("scale", 1.0) == 1.0]
        for name in TABLES
    }


def updated(text: str, results: Path) -> str:
    """The page of speeds, with the results.   Raises: ValueError without the marks"""
    found = of_own_size(results)
    text = _between("medians", text, _table(found))
    for name, records in found.items():
        text = _between(name, text, summary(records))
    return text


def updated_readme(text: str, results: Path) -> str:
    """README, with the medians on one core.   Raises: ValueError without the marks"""
    dense, sparse = (medians(records, 1) for records in of_own_size(results).values())
    return _between("medians", text, (
        f"On one core, the median of {dense.rows} dense programs takes {dense.ratio:.2f} of the time of the fastest "
        "of C, JAX, PyTorch, onnxruntime, PyTensor, CasADi, SciPy and NumPy;\n"
        f"the slowest row, {dense.slowest}, takes {dense.largest:.2f} times as long as {dense.peer}.\n"
        f"The median of {sparse.rows} sparse programs is {sparse.ratio:.2f}, the slowest {sparse.largest:.2f} "
        f"({sparse.peer})."
    ))  # fmt: skip


def _table(found: Mapping[str, Sequence[Record]]) -> str:
    lines = [
        "| programs | rows | median ratio to the fastest peer | rows at most 1.00 | slowest row |",
        "|---|---|---|---|---|",
    ]
    for name, records in found.items():
        for cores in sorted({record.get("cores", 1) for record in records}):
            x = medians(records, cores)
            lines.append(f"| {TABLES[name]}, {_CORES[cores]} | {x.rows} | {x.ratio:.2f} | {x.wins} | {x.row} |")
    return "\n".join(lines)


def _between(name: str, text: str, inside: str) -> str:
    """Replace the lines between the marks of a name."""
    lines = f"<!-- {name} -->\n{inside}\n<!-- end of {name} -->"
    text, count = re.subn(f"<!-- {name} -->.*?<!-- end of {name} -->", lambda _: lines, text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"there is no place for the table {name}")
    return text


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text(), RESULTS))
    README.write_text(updated_readme(README.read_text(), RESULTS))
