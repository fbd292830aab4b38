"""The command-line options that the tables of all frameworks share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path


def parsed(framework: str, page: Path, description: str | None, arguments: Sequence[str]) -> argparse.Namespace:
    """`only`: part of the names of cases, `write`: whether the page is to be written. A page has all cases."""
    parser = argparse.ArgumentParser(prog=f"python -m tools.derivatives {framework}", description=description)
    parser.add_argument("--only", default="", metavar="WORD", help="only cases whose names contain this")
    parser.add_argument("--write", action="store_true", help=f"write docs/{page.name}")
    options = parser.parse_args(arguments)
    if options.only and options.write:
        parser.error("--write needs all cases: leave out --only")
    return options
