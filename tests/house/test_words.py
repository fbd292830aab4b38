"""Plain words: phrases that a reader trips over may only become fewer; commit subjects and fragments of changes."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tools.commit_subject import LONGEST, fault

ROOT: Final = Path(__file__).parents[2]
PHRASES: Final = (
    r"(?<![Tt]here )\b(?:is|are|was|were) no (?!longer|more|less|larger|longer|other)\w+",  # "x is not a function"
    r"(?:^|[.:;,] )[Ww]hat (?:is|it|they|one|was|has|reads|follows|goes|stands|comes|cannot|can|remains|belongs)\b",
    r"\b(?:that|those) which\b",
    r"\bof which\b",
    r"\bso (?:many|much|few|long) (?:as|in|at)?\b",
    r"\b(?:stands?|lies|lie|goes|go|comes|come|runs) (?:behind|beside|in front|by|with|along|through)\b",
    r"\bin front of\b",
    r"\bbeside\b",
    r"\bof one's own\b",
    r"\bit takes\b",
)
"""What ../CONTRIBUTING.md asks to avoid: noun clauses as names, metaphors of space for logic, 'is no'."""

CEILINGS: Final = {"README.md": 0.1, "docs": 0.4, "docstrings": 0.14, "help and messages": 0.14}
"""Phrases per 1,000 words. Lower a number when yours is lower; none is raised."""
_DOCUMENTED: Final = (ast.Module, ast.ClassDef, ast.FunctionDef)
SINCE: Final = "fd7bce6d3f9c05fa0ef222ace4c9775267dcb99d"
"""The last commit whose subject is not checked."""


def _pages() -> Iterator[str]:
    skipped = {"changes_archive.md"}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        if not {"decisions", "surface", "cli"} & {*path.parts} and path.name not in skipped:
            yield re.sub(r"```.*?```|`[^`]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def _docstrings() -> Iterator[str]:
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node)):
                yield text


def _messages() -> Iterator[str]:
    """Help texts and messages of the command line: texts of some words that are not docstrings."""
    for path in sorted((ROOT / "cli").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = [*ast.walk(tree)]
        alone = [x.value for x in nodes if isinstance(x, ast.Expr)]
        documented = {x.value for x in alone if isinstance(x, ast.Constant)}
        texts = [x.value for x in nodes if isinstance(x, ast.Constant) and isinstance(x.value, str)]
        yield from (text for text in texts if text.count(" ") > 2 and text not in documented)


TEXTS: Final = {
    "README.md": lambda: [(ROOT / "README.md").read_text(encoding="utf-8")],
    "docs": lambda: [*_pages()],
    "docstrings": lambda: [*_docstrings()],
    "help and messages": lambda: [*_messages()],
}


def rate(texts: list[str]) -> float:
    """Phrases per 1,000 words."""
    words = sum(len(text.split()) for text in texts)
    found = sum(len(re.findall(phrase, text, re.MULTILINE)) for text in texts for phrase in PHRASES)
    return 1000 * found / max(words, 1)


@pytest.mark.parametrize("kind", TEXTS)
def test_phrases_become_fewer(kind: str) -> None:
    found = rate(TEXTS[kind]())
    assert found <= CEILINGS[kind], f"{kind}: {found:.2f} phrases per 1,000 words, {CEILINGS[kind]} before"


def test_new_commits_have_plain_subjects() -> None:
    done = subprocess.run(
        ["git", "log", "--no-merges", "--format=%h %s", f"{SINCE}..HEAD"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip("the history does not reach back to the first commit that is checked")
    found = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    assert {commit: reason for commit, subject in found if (reason := fault(subject))} == {}


@pytest.mark.parametrize(
    ("subject", "is_right"),
    [
        ("fuse: join loops of equal extent", True),
        ("Join loops", False),
        ("fuse: Join loops", False),
        ("fuse: joined loops", False),
        ("fuse: join loops.", False),
        ("fuse: " + "x" * LONGEST, False),
        ("Merge branch 'x'", True),
    ],
)
def test_subjects(subject: str, is_right: bool) -> None:
    assert (fault(subject) is None) == is_right


def test_fragments_of_changes_have_a_kind_and_a_sentence() -> None:
    for path in (ROOT / "changes").iterdir():
        if path.name != "README.md":
            assert re.fullmatch(r"\+?[\w-]+\.(added|changed|fixed|removed)\.md", path.name), path.name
            assert path.read_text(encoding="utf-8").strip().endswith((".", ")")), path.name
