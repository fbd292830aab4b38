"""The lines of a C function, and the removal of lines that set unused variables.

double x_2 = X[i];      declares x_2      removed if no remaining line reads x_2
x_2 = x_2 + 1.0;        assigns x_2       removed likewise
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

WIDTH: Final = 110
_WORD: Final = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_STEP: Final = "  "
_TIGHT: Final = "\x01"
"""A space at which no line ends."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of C. depth: number of enclosing blocks. sets: variable that it declares or assigns without other effects.

    ignored: the text to use if nothing reads the variable, for a call with side effects; for a comment, its second
    form.
    is_comment: is it a comment? It is removed before another comment and at the end of a block.
    """

    text: str
    depth: int
    sets: str = ""
    is_comment: bool = False
    ignored: str = ""

    @property
    def words(self) -> list[str]:
        """The identifiers in the line."""
        return [] if self.is_comment else _WORD.findall(self.text)


def kept_lines(lines: Sequence[Line]) -> list[Line]:
    """Remove lines that set variables which nothing reads, and comments that precede no statement."""
    setters: dict[str, list[Line]] = {}
    for line in lines:
        if line.sets and not line.ignored:
            setters.setdefault(line.sets, []).append(line)
    used: set[str] = set()
    pending = [
        word for line in lines if not line.sets or line.ignored for word in line.words[bool(line.ignored) and 3 :]
    ]
    while pending:
        word = pending.pop()
        if word not in used:
            used.add(word)
            pending += [other for line in setters.get(word, ()) for other in line.words if other != word]
    kept = [
        line if line.sets in used or not line.ignored or line.is_comment else Line(line.ignored, line.depth)
        for line in lines
        if not line.sets or line.ignored or line.sets in used
    ]
    return _without_idle_comments(kept)


def _without_idle_comments(lines: Sequence[Line]) -> list[Line]:
    found: list[Line] = []
    said, quoted = "", set[str]()
    for k, line in enumerate(lines):
        following = lines[k + 1] if k + 1 < len(lines) else None
        if line.is_comment:
            is_idle = following is None or following.is_comment or following.text.startswith("}")
            if is_idle or line.text == said:
                continue
            said = line.text
            if said in quoted:
                line = replace(line, text=line.ignored)
            quoted.add(said)
        elif line.text.startswith("}"):
            said = ""
        found.append(line)
    return found


def words_of(lines: Iterable[Line]) -> set[str]:
    """The set of all identifiers in some lines."""
    return {word for line in lines for word in line.words}


def words_in(texts: Iterable[str]) -> set[str]:
    """The set of all identifiers in some texts."""
    return {word for text in texts for word in _WORD.findall(text)}


def printed(lines: Iterable[Line]) -> str:
    """The C text of the lines, wrapped between words."""
    return "".join(f"{_wrapped(line)}\n" for line in lines)


def _wrapped(line: Line) -> str:
    start = _STEP * line.depth
    text = start + line.text
    if len(text) <= WIDTH or line.is_comment or '"' in text:
        return text
    wrapped = "\n".join(
        textwrap.wrap(
            line.text.replace("const ", f"const{_TIGHT}").replace(" *", f"{_TIGHT}*"),
            WIDTH,
            initial_indent=start,
            subsequent_indent=start + 2 * _STEP,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )
    return wrapped.replace(_TIGHT, " ")
