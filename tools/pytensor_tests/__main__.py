"""PyTensor's own tests under the mode AOTENSOR.

    git clone --depth 1 --branch rel-3.0.7 https://github.com/pymc-devs/pytensor FOLDER
    python -m tools.pytensor_tests FOLDER                       all files: counts, and what is wrong
    python -m tools.pytensor_tests FOLDER --only scan           files whose names contain this, beside what is kept
    python -m tools.pytensor_tests FOLDER --write               docs/pytensor_tests.md

Each file runs in a process of its own. Results are kept in FOLDER/aotensor, a file of lines for each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tools.pytensor_tests.files import FILES
from tools.pytensor_tests.verdict import VERDICTS, verdict

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "pytensor_tests.md"


@dataclass(frozen=True)
class Result:
    """A test of a file, with what came out.   compiled: how many functions this compiler has made in it"""

    test: str
    verdict: str
    reason: str
    compiled: int


def run(folder: Path, name: str, seconds: float, test_seconds: float) -> None:
    """Run a file anew, for so long in all and per test."""
    record = _record(folder, name)
    record.parent.mkdir(exist_ok=True)
    record.unlink(missing_ok=True)
    environment = os.environ | {
        "AOTENSOR_TESTS_RECORD": str(record),
        "AOTENSOR_TESTS_SECONDS": str(test_seconds),
        "PYTHONPATH": str(ROOT),
    }
    plugins = ["-p", "tools.pytensor_tests.plugin", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *plugins, "-q", "-n", "0", "--tb=no", f"tests/{name}"]
    try:
        subprocess.run(
            command, cwd=folder, env=environment, timeout=seconds, check=False, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        with record.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"cut": seconds}) + "\n")


def results(folder: Path, name: str) -> list[Result]:
    """What is kept of a file."""
    record = _record(folder, name)
    if not record.exists():
        return []
    lines: list[dict[str, Any]] = [json.loads(text) for text in record.read_text(encoding="utf-8").splitlines()]
    return [Result(line["test"], *verdict(line), line["compiled"]) for line in lines if "test" in line]


def is_cut(folder: Path, name: str) -> bool:
    """Has the file taken longer than it may, and the rest is left out?"""
    record = _record(folder, name)
    return record.exists() and '{"cut"' in record.read_text(encoding="utf-8")


def _record(folder: Path, name: str) -> Path:
    return folder / "aotensor" / (name.replace("/", "+") + "l")


def page(found: dict[str, Sequence[Result]], cut: Sequence[str]) -> str:
    """The table of files as a page."""
    total = Counter(x.verdict for file in found.values() for x in file)
    compiled = sum(x.compiled for file in found.values() for x in file)
    lines = [
        "# PyTensor's own tests",
        "",
        "Written by `python -m tools.pytensor_tests FOLDER --write` from a checkout of pymc-devs/pytensor",
        f"at rel-{version('pytensor')}, with the mode `AOTENSOR` for everything that names no mode of its own. Files",
        "about rewrites, other linkers, printing and types are left out: nothing in them is computed here.",
        "",
        f"{total['passed']} tests pass, {total['wrong']} give a wrong value; {compiled} functions were compiled here.",
        f"{total['skipped']} skip themselves or are expected to fail, {total['refused']} are refused by name,",
        f"{total['internals']} look at PyTensor's own graph, at work in place or at what its linkers do,",
        f"{total['others']} fail for a reason that the table gives, {total['late']} take longer than a test may take.",
        "Functions are compiled at level 0. Of files with a star those are counted that have run in the time that a",
        "file is given.",
        "",
        "| file | pass | skipped | refused | internals | others | late | wrong | why |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, tests in found.items():
        if not tests:
            continue
        counts = Counter(x.verdict for x in tests)
        reasons = Counter(x.reason for x in tests if x.verdict in ("refused", "others") and x.reason)
        why = "; ".join(reason for reason, _ in reasons.most_common(4)).replace("|", "\\|").replace("[", "\\[")
        numbers = " | ".join(str(counts[v]) for v in VERDICTS)
        lines.append(f"| `{name}`{'*' * (name in cut)} | {numbers} | {why} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run, print what is wrong, and write the page if that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a checkout of pymc-devs/pytensor")
    parser.add_argument("--only", default="", help="files whose names contain this; the results of others are kept")
    parser.add_argument("--kept", action="store_true", help="run nothing: only what is kept of earlier runs")
    parser.add_argument("--seconds", type=float, default=600, help="how long a file may take (default: 600)")
    parser.add_argument("--test-seconds", type=float, default=60, help="how long a test may take (default: 60)")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args()
    folder = options.folder.resolve()
    for name in FILES:
        if options.only in name and not options.kept:
            run(folder, name, options.seconds, options.test_seconds)
    found = {name: results(folder, name) for name in FILES}
    everything = [x for tests in found.values() for x in tests]
    wrong = [f"{x.test}: {x.reason}" for x in everything if x.verdict == "wrong"]
    sys.stdout.write("\n".join([str(dict(Counter(x.verdict for x in everything))), *wrong, ""]))
    if options.write:
        PAGE.write_text(page(found, [name for name in FILES if is_cut(folder, name)]), encoding="utf-8")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
