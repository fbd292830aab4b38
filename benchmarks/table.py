"""The files of a table: the records as JSON, the rows and a summary as Markdown, and a chart."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from cases import Case
from chart import Bar, chart
from contenders import OURS
from harness import machine, microseconds
from targets import ENOUGH, Record, ours_beside, share_of_limit, shown_share, standing, summary

COMPILERS: Final = ("aotensor", "JAX", "CasADi")  # not those that keep what they made in caches of their own
ALONE: Final = ("aotensor", "JAX")  # compiled several times in processes of their own

ABOUT_LIMITS: Final = """\
*of limit* is the part of the time of a bound call that the machine needs at least, and for what, measured beside the
row: *stream*, every input read and every output written once; *gather*, elements read at the row's own places; *FMA*,
its operations as multiply-adds in registers (an elementary function counts what its polynomial does); *GEMM*, those of
products of matrices, at the speed of one of 512 rows if that is faster. Bold: 80 % and more. A limit
that a contender beats by more than 5 % is left out.
"""


@dataclass(frozen=True)
class Table:
    """A table of comparisons. name: of its files. columns: contenders. header: introductory text, with {machine}"""

    name: str
    cases: Mapping[str, Case]
    columns: Sequence[str]
    header: str
    records: dict[tuple[float, int, str], dict[str, Any]] = field(default_factory=dict)

    def load(self, folder: Path) -> None:
        """Load earlier records, except those of removed cases."""
        stored = folder / f"{self.name}.json"
        for record in json.loads(stored.read_text())["cases"] if stored.exists() else []:
            if record["case"] in self.cases:
                self.add(record)

    def add(self, record: dict[str, Any]) -> None:
        """Add a record, replacing that of the same case, scale and number of cores; its compile times are kept."""
        key = record.get("scale", 1.0), record.get("cores", 1), record["case"]
        kept = self.records.get(key, {})
        self.records[key] = ({"compile": kept["compile"]} if "compile" in kept else {}) | record

    def write(self, folder: Path) -> None:
        """NAME.json, NAME.md and NAME.svg, which shows one size: the table's, if that was measured."""
        order = list(self.cases)
        keys = sorted(self.records, key=lambda key: (key[0] != 1.0, key[0], key[1], order.index(key[2])))
        records = [self.records[key] for key in keys]
        folder.mkdir(parents=True, exist_ok=True)
        found = {"machine": machine(), "cases": records}
        (folder / f"{self.name}.json").write_text(json.dumps(found, indent=1) + "\n")
        (folder / f"{self.name}.md").write_text(self._text(records))
        shown = [record for record in records if record.get("scale", 1.0) == records[0].get("scale", 1.0)]
        picture = chart(f"{self.name.capitalize()} cases on {machine()}", _bars(shown), ENOUGH)
        (folder / f"{self.name}.svg").write_text(picture)

    def _text(self, records: Sequence[Record]) -> str:
        parts = [self.header.format(machine=machine()) + ABOUT_LIMITS]
        made = {record["commit"] for record in records if record.get("commit")}
        used = {f"{name} {number}" for record in records for name, number in record.get("versions", {}).items()}
        if made and used:
            parts.append(f"With {', '.join(sorted(used))}. Measured at commit {', '.join(sorted(made))}.")
        for scale in dict.fromkeys(record.get("scale", 1.0) for record in records):
            size = "" if scale == 1.0 else f", {scale:g} times the size"
            chosen = [record for record in records if record.get("scale", 1.0) == scale]
            for cores in sorted({record.get("cores", 1) for record in chosen}):
                some = [record for record in chosen if record.get("cores", 1) == cores]
                parts.append(f"{cores} core{'s' * (cores > 1)}{size}:\n\n{self.rows(some)}")
            parts.append(f"Against the targets{size}:\n\n{summary(chosen)}")
        absent = _absent(records)
        return "\n\n".join([part.rstrip() for part in parts] + ([absent] if absent else [])) + "\n"

    def rows(self, records: Sequence[Record]) -> str:
        """Shortest times; in brackets, how many times as long as aotensor, called in the same way."""
        columns = [name for name in self.columns if any(name in record["best"] for record in records)]
        is_compiled = any("compile" in record for record in records)
        compilers = [f"compile {name}" for name in ("first", *COMPILERS)] + [f"process {name}" for name in ALONE]
        head = [*columns, "of limit", *(compilers if is_compiled else [])]
        lines = ["| case | " + " | ".join(head) + " |", "|---|" + "---:|" * len(head)]
        for record in records:
            cells = [record["title"], *(_cell(record["best"], name) for name in columns)]
            cells.append(shown_share(*(share_of_limit(record) or (None, ""))))
            lines.append("| " + " | ".join(cells + (_compile_cells(record) if is_compiled else [])) + " |")
        return "\n".join(lines)


def _cell(best: Mapping[str, float], name: str) -> str:
    if name not in best:
        return "-"
    ratio = "" if name in OURS else f" ({best[name] / ours_beside(best, name):.2f})"
    return microseconds(best[name]) + ratio


def _compile_cells(record: Record) -> list[str]:
    """Table cells with compile times in seconds."""
    alone: dict[str, tuple[float, float]] = record.get("compile", {})
    compiled = record["seconds"] | {name: pair[0] for name, pair in alone.items()}
    whole = {name: pair[1] for name, pair in alone.items()}
    return [_seconds(compiled, name) for name in ("first", *COMPILERS)] + [_seconds(whole, name) for name in ALONE]


def _seconds(times: Mapping[str, float], name: str) -> str:
    if name not in times or "aotensor" not in times:
        return "-"
    ratio = "" if name in ("aotensor", "first") else f" ({times[name] / times['aotensor']:.2f})"
    return f"{times[name]:.2f}{ratio}"


def _absent(records: Sequence[Record]) -> str:
    """The contenders that are left out of rows, with reasons."""
    found: dict[tuple[str, str], list[str]] = {}
    for record in records:
        for name, why in record["missing"].items():
            found.setdefault((name, why), []).append(record["case"])
    cases = len({record["case"] for record in records})
    lines = []
    for (name, why), where in found.items():
        rows = list(dict.fromkeys(where))
        lines.append(f"- {name} ({'every case' if len(rows) == cases else ', '.join(rows)}): {why}")
    return "Left out:\n\n" + "\n".join(lines) if lines else ""


def _bars(records: Sequence[Record]) -> list[tuple[str, list[Bar]]]:
    rows: dict[str, list[Bar]] = {}
    for record in records:
        found = standing(record)
        if found is not None:
            bar = Bar(record.get("cores", 1), found.ratio, found.peer)
            rows.setdefault(record["title"], []).append(bar)
    return list(rows.items())
