"""The page: a row per file, from this run, and from earlier runs for other files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from tools.pytensor_tests.files import FILES
from tools.pytensor_tests.verdict import VERDICTS

_EARLIER: Final = "earlier"
"""The commit of rows that were written before commits were."""
_ROW: Final = re.compile(r"^\| `(?P<name>[\w/.]+)`(?P<star>\*?) \| (?P<cells>.*) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Result:
    """The result of a test. compiled: number of functions compiled in it"""

    test: str
    verdict: str
    reason: str
    compiled: int


@dataclass(frozen=True)
class File:
    """A file of tests: its results, and the versions that it ran with."""

    results: Sequence[Result]
    commit: str
    llvmlite: str
    end: str
    """`done`, `cut`: the time that a file may take was over; `crashed`, or empty while it runs."""


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    name: str
    is_whole: bool
    counts: Sequence[int]
    """Of each verdict."""
    compiled: int | None
    """None: not known."""
    commit: str
    llvmlite: str
    why: str

    @property
    def total(self) -> int:
        return sum(self.counts)

    def __str__(self) -> str:
        numbers = " | ".join(map(str, self.counts))
        compiled = "" if self.compiled is None else self.compiled
        star = "" if self.is_whole else "*"
        return f"| `{self.name}`{star} | {numbers} | {compiled} | {self.commit} | {self.llvmlite} | {self.why} |"


def page(found: Mapping[str, File], before: str) -> str:
    """The page with the table of files; rows of the previous page are kept for files of which more tests had run."""
    rows, parts = {row.name: row for row in _kept(before)}, []
    for name, file in found.items():
        row = _row(name, file)
        old = rows.get(name)
        if old is None or row.is_whole or row.total >= old.total or row.counts[VERDICTS.index("wrong")]:
            rows[name] = row
        elif row.total:
            parts.append(row)
    shown = [rows[name] for name in FILES if name in rows]
    total = dict(zip(VERDICTS, map(sum, zip(*(row.counts for row in shown), strict=True)), strict=True))
    compiled = sum(row.compiled or 0 for row in shown)
    earlier = sum(row.commit == _EARLIER for row in shown)
    commits = Counter(row.commit for row in shown if row.commit != _EARLIER and row.is_whole)
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
        *(f"{n} of {len(FILES)} files ran to their end at commit {commit}." for commit, n in commits.most_common()),
        *([f"{earlier} rows are from earlier runs in pieces, at several commits."] if earlier else []),
        *_of_parts(parts),
        "Functions are compiled at level 0, and counted where a commit is named. Of files with a star those tests are",
        "counted that have run in the time that a file is given.",
        "",
        "| file | pass | skipped | refused | internals | others | late | wrong | functions | commit | llvmlite | why |",
        f"|{'---|' * 12}",
        *map(str, shown),
    ]
    return "\n".join(lines) + "\n"


def _of_parts(rows: Sequence[Row]) -> Iterator[str]:
    """The results of files whose rows are kept from an earlier run."""
    for commit in dict.fromkeys(row.commit for row in rows):
        of_commit = [row for row in rows if row.commit == commit]
        yield f"Of {len(of_commit)} of these files {sum(row.total for row in of_commit)} tests have run again at commit"
        yield f"{commit}, until their time was over, without a wrong value."


def _row(name: str, file: File) -> Row:
    counts = Counter(x.verdict for x in file.results)
    reasons = Counter(x.reason for x in file.results if x.verdict in ("refused", "others") and x.reason)
    why = "; ".join(reason for reason, _ in reasons.most_common(4)).replace("|", "\\|").replace("[", "\\[")
    why = why.replace("\n", " ")
    numbers = [counts[v] for v in VERDICTS]
    compiled = sum(x.compiled for x in file.results)
    return Row(name, file.end == "done", numbers, compiled, file.commit, file.llvmlite, why)


def _kept(before: str) -> Iterator[Row]:
    """Parse the rows of a page; rows of old pages lack the column of commits."""
    for found in _ROW.finditer(before):
        cells = re.split(r"(?<!\\) \| ?", found["cells"])
        counts, rest = [int(x) for x in cells[: len(VERDICTS)]], cells[len(VERDICTS) :]
        compiled, commit, llvmlite, why = rest if len(rest) == 4 else ("", _EARLIER, "", *rest)
        yield Row(found["name"], not found["star"], counts, int(compiled) if compiled else None, commit, llvmlite, why)
