"""Rewrite links of the pages from paths in the repository to paths on the site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_LINK: Final = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)((?:#[^)\s]*)?\))")
_PLACES: Final = {
    "README.md": "overview.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "docs/decisions": "decisions/index.md",
    "docs/cli": "cli/index.md",
    "docs/surface": "surface/tensor.md",
}
"""Where something of the repository is on the site, if no rule below says it."""


def place(path: str) -> str:
    """The path on the site of a path of the repository: a page, a picture, or the text of a source."""
    path = posixpath.normpath(path)
    if path in _PLACES:
        return _PLACES[path]
    folder, _, rest = path.partition("/")
    if folder == "docs" and (path.endswith((".md", ".svg", ".js")) or "." not in rest):
        return rest
    if folder == "benchmarks" and path.endswith((".md", ".svg")):
        return f"benchmarks/{posixpath.basename(path)}"
    if folder == "examples" and rest.count("/") == 0 and path.endswith(".py"):
        return f"gallery/{posixpath.basename(path)[:-3]}.md"
    return f"source/{path}" if path.endswith(".md") else f"source/{path}.txt"


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    """Apply a change to each line outside of fenced blocks."""
    return "\n".join(line if is_code else change(line) for line, is_code in lines(text))


def lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it belongs to a fenced block."""
    fence = ""
    for line in text.split("\n"):
        mark = re.match(r" *(`{3,}|~{3,})", line)
        if mark and (not fence or line.strip() == fence):
            fence = "" if fence else mark[1]
            yield line, True
        else:
            yield line, bool(fence)


def rewritten(text: str, origin: str, page: str) -> str:
    """The Markdown of a page with its links as the site needs them.

    origin: where the text is in the repository; page: where it is on the site
    """
    return outside_fences(
        text,
        lambda line: _LINK.sub(
            lambda m: m[1] + posixpath.relpath(_target(origin, m[2]), posixpath.dirname(page) or ".") + m[3], line
        ),
    )


def targets(text: str, origin: str) -> set[str]:
    """Paths in the repository that a text links to."""
    found = (m[2] for line, is_code in lines(text) if not is_code for m in _LINK.finditer(line))
    return {posixpath.normpath(posixpath.join(posixpath.dirname(origin), target)) for target in found}


def _target(origin: str, target: str) -> str:
    return place(posixpath.join(posixpath.dirname(origin), target))
