"""Texts of an editor for a line of a model: an inlay hint at its end, and a hover with all details.

m = X @ w        43 % · loop n, with 5 · several cores · 8 at a time · 1 missed
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aotensor_cli.exploring.child import Problem
from aotensor_cli.exploring.session import Document, Place, Remark, Step
from aotensor_cli.terminal.render import time_text

_SHOWN: Final = 3
"""Lines and statements that are named; of more, how many there are."""
_MARKS: Final = {"applied": "+", "missed": "-", "analysis": "="}
_CORES: Final = "on several cores"


def words_of(document: Document, place: Place) -> str:
    """The inlay hint of a line; "" if only its position is known."""
    statements, remarks = document.statements_at(place), document.remarks_at(place)
    shares = [share for _, share in document.seconds_at(place).values()]
    if not statements and not remarks:
        return ""
    words = [_percent(max(shares))] if shares and max(shares) >= 0.005 else []
    if statements:
        words += _loop_words(document, place, max(statements, key=lambda x: float(x.node["seconds"])))
    else:
        words.append("no loop of its own")
    missed = sum(x.kind == "missed" for x in remarks)
    return " · ".join([*words, *([f"{missed} missed"] if missed else [])])


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else "under 1 %"


def _loop_words(document: Document, place: Place, step: Step) -> list[str]:
    """The loop that a statement shares with others, or the innermost one, and how iterations run."""
    if not step.above:
        return ["product" if step.node["kind"] == "product" else "outside of loops"]
    others = {id(loop): [x for x in document.lines_in(loop) if x != place] for loop in step.above}
    loop = next((x for x in reversed(step.above) if others[id(x)]), step.above[-1])
    words = [f"loop {loop['name']}" if loop["name"] else loop["text"][0]]
    if others[id(loop)]:
        words[0] += f", with {_listed(others[id(loop)], place.file)}"
    how = [word for x in step.above for word in x["how"]]
    words += ["several cores"] if _CORES in how else []
    words += [x.partition(",")[0] for x in how if x.startswith("vectors") or "at a time" in x]
    return list(dict.fromkeys(words))


def _listed(places: Sequence[Place], file: str) -> str:
    """Join lines as text; lines of the same file are given by number only."""
    names = [str(x.line) if x.file == file else str(x) for x in places]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def hover_of(document: Document, place: Place) -> str:
    """The hover of a line as Markdown; "" if nothing is known."""
    parts: list[str] = []
    for f in document.tree["functions"]:
        statements = [x for x in document.statements_at(place) if x.function == f["name"]]
        remarks = [x for x in document.remarks_at(place) if x.function == f["name"]]
        if statements or remarks:
            parts.append(_about(document, place, f, statements, remarks))
    return "\n\n---\n\n".join(parts)


def _about(
    document: Document, place: Place, f: Mapping[str, Any], statements: Sequence[Step], remarks: Sequence[Remark]
) -> str:
    seconds, share = document.seconds_at(place).get(f["name"], (0.0, 0.0))
    sizes = ", ".join(f"{name}={n}" for name, n in f["sizes"].items()) or "known sizes"
    time = f"{_percent(share)} of the estimated time, {time_text(seconds)} at {sizes}" if seconds else ""
    lines = [f"**{f['name']}**, {place}" + (f": {time}" if time else "")]
    if statements:
        lines += ["", "```text", *_loops(statements[:_SHOWN]), "```"]
        lines += [f"and {len(statements) - _SHOWN} more statements"] if len(statements) > _SHOWN else []
    order = list(dict.fromkeys(x.topic for x in remarks))
    rows = sorted(remarks, key=lambda x: (order.index(x.topic), list(_MARKS).index(x.kind)))
    lines += ["", *(_remark(x) for x in rows)] if rows else []
    return "\n".join(lines)


def _loops(statements: Sequence[Step]) -> list[str]:
    """Lines of Markdown for statements and the loops around them."""
    found: list[str] = []
    former: tuple[Mapping[str, Any], ...] = ()
    for step in statements:
        for depth, loop in enumerate(step.above):
            if depth >= len(former) or former[depth] is not loop:
                former = ()
                how = f"  ({'; '.join(loop['how'])})" if loop["how"] else ""
                name = f"{loop['name']}: " if loop["name"] else ""
                found.append(f"{'  ' * depth}{name}{loop['text'][0]}{how}")
        found += [f"{'  ' * len(step.above)}{text}" for text in step.node["text"]]
        former = step.above
    return found


def _remark(x: Remark) -> str:
    hint = f" To allow it: {x.hint}." if x.hint else ""
    return f"- `{_MARKS[x.kind]}` {x.topic}: {x.text} [{x.pass_name}]{hint}"


def message_of(problem: Problem, path: str) -> str:
    """The message of a diagnostic.   path: of the model, which the editor names itself"""
    prefix, title = f"{path}:{problem.line}: ", problem.title
    title = title.removeprefix(prefix if title.startswith(prefix) else f"{path}: ")
    hint = [f"hint: {problem.hint}"] if problem.hint else []
    return "\n".join([title, *problem.lines, *hint])


def map_lines(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Line of the compiled text → the same line in the current text, both from 1; deleted lines are left out."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    found = {row + 1: row + 1 for row in range(start)}
    found |= {len(old) - k: len(new) - k for k in range(end)}
    middle = difflib.SequenceMatcher(None, old[start : len(old) - end], new[start : len(new) - end], autojunk=False)
    for a, b, size in middle.get_matching_blocks():
        found |= {start + a + k + 1: start + b + k + 1 for k in range(size)}
    return found
