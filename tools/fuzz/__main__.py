"""`python -m tools.fuzz graphs --cases 1000 --seed 0`, from the root of the repository."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

from tools.fuzz import artifacts, graphs, levels, loops, rows, sanitizers, structures
from tools.fuzz.campaign import Campaign

KINDS = {
    "graphs": graphs.run,
    "levels": levels.run,
    "loops": loops.run,
    "rows": rows.run,
    "sanitizers": sanitizers.run,
    "artifacts": artifacts.run,
    "structures": structures.run,
}


def main() -> int:
    """Run a campaign; 1 if it found something."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("what", choices=KINDS, help="see docs/fuzzing.md")
    parser.add_argument("--cases", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at most so long")
    parser.add_argument("--seed", type=int, default=0, help="of the first case; a run says where to go on")
    parser.add_argument("--folder", type=Path, help="where reports go, one text file each")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    campaign = Campaign(given.what, given.cases, given.seconds, given.seed, given.folder)
    KINDS[given.what](campaign)
    return 1 if campaign.found else 0


if __name__ == "__main__":
    sys.exit(main())
