"""Make each change of `changes.toml` in a copy of the repository, and compare a wide run with the selection.

    python -m tools.selection                 the changes that the table lacks, into docs/affected.md
    python -m tools.selection --again fuse    one of them, again

The wide run is `pytest` of the folders that a change names, at the default level: tests of other folders may fail too.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
CHANGES: Final = Path(__file__).with_name("changes.toml")
PAGE: Final = ROOT / "docs" / "affected.md"
HEAD: Final = "| change | wide run | fail | of these selected | selected | left out |"
RECORD: Final = Path("tests", "reach.xz")
SHOWN: Final = 3
"""Tests that are left out are named up to this number."""


@dataclass(frozen=True)
class Change:
    """One text in one file instead of another; `wide`: folders or files of tests that may fail."""

    name: str
    file: str
    old: str
    new: str
    wide: list[str]

    def make(self, root: Path) -> None:
        """Change the file below a root.   Raises: SystemExit if the old text is not there once"""
        path = root / self.file
        text = path.read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise SystemExit(
                f"{self.name}: {self.file} has the text {text.count(self.old)} times, not once: {self.old}"
            )
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")


def main() -> int:
    """Measure the changes that the table lacks, or the given ones."""
    parser = argparse.ArgumentParser(prog="python -m tools.selection", description=__doc__.splitlines()[0])
    parser.add_argument("--again", metavar="NAME", action="append", default=[], help="a change that the table has")
    again = parser.parse_args().again
    known = {row.split("|")[1].strip().partition(":")[0]: row for row in _rows()}
    changes = [Change(**row) for row in tomllib.loads(CHANGES.read_text(encoding="utf-8"))["change"]]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        _run(["git", "worktree", "add", "--detach", str(copy), "HEAD"], ROOT)
        try:
            for change in changes:
                if change.name not in known or change.name in again:
                    known[change.name] = _measure(change, copy)
                    _write([known[one.name] for one in changes if one.name in known])
                    sys.stdout.write(known[change.name] + "\n")
        finally:
            _run(["git", "worktree", "remove", "--force", str(copy)], ROOT)
    return 0


def _measure(change: Change, copy: Path) -> str:
    """A row of the table."""
    _run(["git", "checkout", "--quiet", "--", "."], copy)
    shutil.copy(ROOT / RECORD, copy / RECORD)  # as it is here, committed or not
    change.make(copy)
    listed = _pytest(copy, "--affected-by", "HEAD", "--collect-only", "-q")
    selected = {*re.findall(r"^(tests/\S+::.*)$", listed, re.M)}
    wide = _pytest(copy, *change.wide, "-v", "--tb=no")
    failed = {*re.findall(r"^(tests/\S+::.*) (?:FAILED|ERROR) ", wide, re.M)}
    counts = re.search(r"(?:(\d+) failed)?,? ?(\d+) passed", wide)
    if not failed and not counts:
        raise SystemExit(f"{change.name}: the wide run did not end:\n{wide[-2000:]}")
    missed = sorted(failed - selected)
    ran = len(failed) + int(counts.group(2) if counts else 0)
    names = ", ".join(one.rpartition("/")[2] for one in missed[:SHOWN]) + ", …" * (len(missed) > SHOWN)
    cells: list[Any] = [
        f"{change.name}: `{change.file.rpartition('/')[2]}`",
        f"{', '.join(part.removeprefix('tests/') for part in change.wide)}: {ran}",
        len(failed),
        len(failed & selected),
        len(selected),
        names,
    ]
    return "| " + " | ".join(map(str, cells)).rstrip() + " |"


def _pytest(copy: Path, *options: str) -> str:
    paths = ":".join(str(copy / part) for part in (".", "src", "cli", "runtime"))
    command = ["env", f"PYTHONPATH={paths}", sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, *options], cwd=copy, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def _rows() -> list[str]:
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    return [line for line in text.partition(HEAD)[2].splitlines()[2:] if line.startswith("| ")]


def _write(rows: list[str]) -> None:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(HEAD)
    after = rest.partition("\n\n")[2]
    PAGE.write_text(
        "\n".join([before + HEAD, "|---|---|---|---|---|---|", *rows, *([""] if after.strip() else []), after]).rstrip()
        + "\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    sys.exit(main())
