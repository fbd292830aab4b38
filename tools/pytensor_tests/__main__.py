"""PyTensor's own tests under the mode AOTENSOR.

    git clone --depth 1 --branch rel-3.0.7 https://github.com/pymc-devs/pytensor FOLDER
    python -m tools.pytensor_tests FOLDER                       all files: counts, and what is wrong
    python -m tools.pytensor_tests FOLDER --only scan           files whose names contain this, beside what is kept
    python -m tools.pytensor_tests FOLDER --resume              only what has no result at this commit yet
    python -m tools.pytensor_tests FOLDER --write               docs/pytensor_tests.md

Each file runs in a process of its own. Results are kept in FOLDER/aotensor, a file of lines for each: first what it ran
with, then a line per test, last how it ended. What takes the time is compiling here, half a second a function on a free
core; PyTensor's rewrites take a tenth of it, and its C linker has next to nothing to do.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from tools.judges.origin import commit
from tools.pytensor_tests.files import FILES
from tools.pytensor_tests.table import File, Result, page
from tools.pytensor_tests.verdict import verdict

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "pytensor_tests.md"


def run(folder: Path, name: str, seconds: float, test_seconds: float, resumes: bool) -> None:
    """Run one file within time limits for the file and per test: all tests, or those without result at this commit."""
    record = _record(folder, name)
    record.parent.mkdir(exist_ok=True)
    begun = load(folder, name)
    here = commit("src", "runtime", "tools/pytensor_tests")
    if not (resumes and begun and (begun.commit, begun.llvmlite) == (here, version("llvmlite"))):
        _write(record, {"commit": here, "llvmlite": version("llvmlite")}, "w")
    elif begun.end == "done":
        return
    environment = os.environ | {
        "AOTENSOR_TESTS_RECORD": str(record),
        "AOTENSOR_TESTS_SECONDS": str(test_seconds),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    plugins = ["-p", "tools.pytensor_tests.plugin", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *plugins, "-q", "-n", "0", "--tb=no", f"tests/{name}"]
    try:
        made = subprocess.run(
            command, cwd=folder, env=environment, timeout=seconds, check=False, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        # 0 and 1: all pass, or some fail; 5: none is left or collected
        _write(record, {"end": "done" if made.returncode in (0, 1, 5) else "crashed", "status": made.returncode}, "a")
    except subprocess.TimeoutExpired:
        _write(record, {"end": "cut", "seconds": seconds}, "a")


def load(folder: Path, name: str) -> File | None:
    """The recorded results of a file."""
    record = _record(folder, name)
    if not record.exists():
        return None
    head, *lines = (json.loads(text) for text in record.read_text(encoding="utf-8").splitlines())
    found = [Result(line["test"], *verdict(line), line["compiled"]) for line in lines if "test" in line]
    end = lines[-1].get("end", "") if lines else ""
    return File(found, head["commit"], head["llvmlite"], end)


def _record(folder: Path, name: str) -> Path:
    return folder / "aotensor" / (name.replace("/", "+") + "l")


def _write(record: Path, line: Mapping[str, Any], mode: Literal["w", "a"]) -> None:
    with record.open(mode, encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")


def main() -> None:
    """Run the tests, print what is wrong, and write the page if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a checkout of pymc-devs/pytensor")
    parser.add_argument("--only", default="", help="files whose names contain this; the results of others are kept")
    parser.add_argument("--kept", action="store_true", help="run nothing: only what is kept of earlier runs")
    parser.add_argument("--resume", action="store_true", help="leave out tests that have a result at this commit")
    parser.add_argument("--seconds", type=float, default=600, help="how long a file may take (default: 600)")
    parser.add_argument("--test-seconds", type=float, default=60, help="how long a test may compute (default: 60)")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}; rows of files not run here are kept")
    options = parser.parse_args()
    folder = options.folder.resolve()
    for name in FILES:
        if options.only in name and not options.kept:
            run(folder, name, options.seconds, options.test_seconds, options.resume)
    found = {name: made for name in FILES if (made := load(folder, name))}
    everything = [x for made in found.values() for x in made.results]
    wrong = [f"{x.test}: {x.reason}" for x in everything if x.verdict == "wrong"]
    sys.stdout.write("\n".join([str(dict(Counter(x.verdict for x in everything))), *wrong, ""]))
    if options.write:
        PAGE.write_text(page(found, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
