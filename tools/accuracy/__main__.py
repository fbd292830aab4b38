"""Errors of special functions and of their first and second derivatives against mpmath, compiled and by the reference.

    python -m tools.accuracy --only betainc        measures one function; several, by commas
    python -m tools.accuracy --write               measures all functions and writes docs/accuracy.md

Exact values are kept in `build/accuracy`, one file per function, so that a run which was stopped goes on and a change
of a formula is measured again in seconds: remove a file to compute its values again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.accuracy.functions import FUNCTIONS
from tools.accuracy.measure import measured
from tools.accuracy.page import page

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "accuracy.md"
FOLDER = ROOT / "build" / "accuracy"


def main() -> None:
    """Measure the functions; with --write, write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="functions, by commas")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for one exact value")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(FUNCTIONS)
    if unknown := sorted(set(names) - set(FUNCTIONS)):
        parser.error(f"{', '.join(unknown)}: not among {', '.join(FUNCTIONS)}")
    if options.only and options.write:
        parser.error("--write needs all functions: leave out --only")
    FOLDER.mkdir(parents=True, exist_ok=True)
    found = {
        name: measured(name, FOLDER / f"{name}.exact.json", options.seconds, f"{number}/{len(names)}")
        for number, name in enumerate(names, start=1)
    }
    if options.write:
        PAGE.write_text(page(found), encoding="utf-8")
        sys.stdout.write(f"{PAGE}: {len(found)} functions\n")


if __name__ == "__main__":
    main()
