"""Errors of special functions and of their first and second derivatives against mpmath, compiled and by the reference.

    python -m tools.accuracy                       measures all functions; what is there already is kept
    python -m tools.accuracy --only betainc        one function, whose exact values are kept; several, by commas
    python -m tools.accuracy --write               docs/accuracy.md, of what has been measured

Exact values are kept in `build/accuracy`, one file per function, so that a run which was stopped goes on and a change
of a formula is measured again in seconds: remove a file to compute its values again.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tools.accuracy.functions import FUNCTIONS
from tools.accuracy.measure import measured
from tools.accuracy.page import page

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "accuracy.md"
FOLDER = ROOT / "build" / "accuracy"


def main() -> None:
    """Measure, and write the page if that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="functions, by commas")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for one exact value")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(FUNCTIONS)
    if unknown := sorted(set(names) - set(FUNCTIONS)):
        parser.error(f"{', '.join(unknown)}: not among {', '.join(FUNCTIONS)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(names, start=1):
        results = FOLDER / f"{name}.result.json"
        if not (options.write and results.exists()) and (options.only or not results.exists()):
            rows = measured(name, FOLDER / f"{name}.exact.json", options.seconds, f"{number}/{len(names)}")
            results.write_text(json.dumps(rows), encoding="utf-8")
    if options.write:
        found = {name: json.loads(path.read_text()) for name in FUNCTIONS if (path := _result_of(name)).exists()}
        PAGE.write_text(page(found), encoding="utf-8")
        sys.stdout.write(f"{PAGE}: {len(found)} of {len(FUNCTIONS)} functions\n")


def _result_of(name: str) -> Path:
    return FOLDER / f"{name}.result.json"


if __name__ == "__main__":
    main()
