"""The command line of a table: selects rows, cores and scales, and keeps earlier records.

A run may be cut: records are written after each row, `--minutes` ends a run in time, and `--resume` leaves out what is
there already of this commit.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from harness import RESULTS, Failed, revision, run_program, versions
from native import SHARED
from table import Table
from targets import summary


@dataclass(frozen=True)
class Row:
    """One measurement."""

    scale: float
    cores: int
    case: str

    def __str__(self) -> str:
        size = "" if self.scale == 1.0 else f" x{self.scale:g}"
        return f"{self.case}{size} on {self.cores} core{'s' * (self.cores > 1)}"


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """The options that all tables have."""
    available = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", help="comma-separated; all of them if not given")
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2] if available > 1 else [1])
    parser.add_argument("--scale", type=float, nargs="+", default=[1.0], help="sizes: 0.1 1 10; scale 1 is the table's")
    parser.add_argument("--seconds", type=float, default=1.0, help="per contender and row")
    parser.add_argument("--without", default="", help="contenders that are left out, comma-separated")
    parser.add_argument("--resume", action="store_true", help="leave out rows that this commit has already")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no row after so many")
    parser.add_argument("--prepare", action="store_true", help="compile and compare all, but measure nothing")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder of the files")
    return parser


def run(
    table: Table, arguments: argparse.Namespace, more: Callable[[Row, list[int], dict[str, Any]], None] | None = None
) -> int:
    """Measure and write the table; return the exit code. more: adds fields to a record"""
    cases = arguments.cases.split(",") if arguments.cases else list(table.cases)
    unknown = [name for name in cases if name not in table.cases]
    if unknown:
        raise SystemExit(f"no case is called {unknown[0]}; there are {', '.join(table.cases)}")
    available = sorted(os.sched_getaffinity(0), reverse=True)
    if max(arguments.cores) > len(available):
        raise SystemExit(f"{max(arguments.cores)} cores were asked for, {len(available)} are there")
    table.load(arguments.results)
    commit = revision()
    wanted = [
        Row(scale, cores, case)
        for scale in arguments.scale
        for cores in arguments.cores
        for case in cases
        if scale == 1.0 or table.cases[case].has_sizes
    ]
    done = {Row(*key) for key, record in table.records.items() if commit and record.get("commit") == commit}
    rows = [row for row in wanted if not (arguments.resume and row in done)]
    failed, left, begin = [], 0, perf_counter()
    with tempfile.TemporaryDirectory() as shared:
        os.environ[SHARED] = shared
        for number, row in enumerate(rows):
            spent = perf_counter() - begin
            if spent > 60 * arguments.minutes:
                left = len(rows) - number
                break
            rest = f", about {spent / number * (len(rows) - number) / 60:.0f} min left" if number else ""
            _say(f"[{number + 1}/{len(rows)}{rest}] {row} ...")
            try:
                record = _measured(row, available[: row.cores], arguments)
                if more is not None:
                    more(row, available[: row.cores], record)
            except Failed as error:
                failed.append(str(row))
                _say(f"    {error}")
                continue
            if arguments.prepare:
                longest = max(record["seconds"], key=lambda name: record["seconds"][name], default="nobody")
                _say(f"    compiled longest: {longest}, {record['seconds'].get(longest, 0.0):.1f} s")
            else:
                table.add(record | {"commit": commit, "versions": versions()})
                table.write(arguments.results)
                _say(f"    {table.rows([record]).splitlines()[-1]}")
            for name, why in record["missing"].items():
                _say(f"    without {name}: {why}")
    measured = {key: record for key, record in table.records.items() if Row(*key) in wanted}
    if not arguments.prepare:
        print(summary(measured.values()))
    if left:
        _say(f"{left} rows are left: the same command with --resume goes on")
    if failed:
        _say(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def _measured(row: Row, cores: list[int], arguments: argparse.Namespace) -> dict[str, Any]:
    """The record that measure.py prints."""
    seconds = 0.0 if arguments.prepare else arguments.seconds
    command = "measure.py", row.case, str(seconds), str(row.scale), arguments.without
    return dict(json.loads(run_program(*command, cores=cores)))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
