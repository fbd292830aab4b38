"""Map each line of a stage's text to the line of the model that it comes from.

    %3 = arith.addf %1, %2 : f64 loc("model.py":8:0)      →      %3 = arith.addf %1, %2 : f64        model.py:8

IR says it behind an operation; of one with regions, behind the brace that closes it. Graphs say it in a comment, LLVM
IR in `!dbg` and assembly in `.loc`, where the code has line tables.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from aotensor.driver.text.kernel_text import LOC, file_names, unescaped

Place = tuple[str, int]
"""A file without its folder, and a line."""

_STRING: Final = r'"(?:[^"\\]|\\.)*"'
_LOC: Final = re.compile(rf" ?loc\((?:unknown|({_STRING}):(\d+):\d+)\)")
_GRAPH: Final = re.compile(r"   # (.+):(\d+)$")
_NAME: Final = re.compile(r'\s*(?:%[^=]*? = )?"?([A-Za-z_]\w*(?:\.\w+)+)"?')
_DBG: Final = re.compile(r",? !dbg !(\d+)")
_NODE: Final = re.compile(r"^!(\d+) = (?:distinct )?!(\w+)\((.*)\)$")
_ASM_SILENT: Final = re.compile(r"^\s*\.(?:loc|cfi_\w+|file)\b|^\.L(?:tmp|func_begin|func_end)\d+:$")


@dataclass
class StageLines:
    """Lines of a text, the place of each or None, and the lines at which operations of a name begin."""

    lines: list[str]
    places: list[Place | None]
    begins: dict[str, list[int]] = field(default_factory=dict)

    @property
    def has_places(self) -> bool:
        """Is the place of at least one line known?"""
        return any(place is not None for place in self.places)

    def to_json(self, numbers: dict[Place, int]) -> dict[str, Any]:
        """Its text, and [lines, number of their place, …], -1 where none is known.   numbers: of places, grows"""
        runs: list[int] = []
        for place in self.places:
            number = -1 if place is None else numbers.setdefault(place, len(numbers))
            if runs and runs[-1] == number:
                runs[-2] += 1
            else:
                runs += [1, number]
        return {"text": "\n".join(self.lines), "at": runs}


def split_lines(stage: str, text: str) -> StageLines:
    """Split the text of a stage into lines with places."""
    lines = text.splitlines()
    if stage in ("graph", "graph-opt"):
        return _graph(lines)
    if stage in ("llvm", "llvm-opt"):
        return _llvm(lines)
    return _assembly(lines) if stage == "asm" else _ir(lines)


def _graph(lines: Iterable[str]) -> StageLines:
    shown, places = [], list[Place | None]()
    for line in lines:
        found = _GRAPH.search(line)
        shown.append(line if found is None else line[: found.start()])
        places.append(None if found is None else (found[1], int(found[2])))
    return StageLines(shown, places)


def _ir(lines: Iterable[str]) -> StageLines:
    """Locate lines of MLIR: the line that opens a region has the place of the line that closes it."""
    result, open_lines = StageLines([], []), list[list[int]]()
    for number, line in enumerate(lines):
        end = _LOC.search(line, max(line.rfind(" loc("), 0))
        place = (
            (unescaped(end[1][1:-1], 16), int(end[2]))
            if end is not None and end.end() == len(line) and end[1]
            else None
        )
        text = _LOC.sub("", line)
        result.lines.append(text)
        result.places.append(place)
        name = _NAME.match(text)
        if name is not None:
            result.begins.setdefault(name[1], []).append(number)
        bare = text.strip()
        closed = open_lines.pop() if bare.startswith("}") and open_lines else []
        if bare.endswith("{"):
            open_lines.append([*closed, number])
        elif closed and place is not None:
            for opener in closed:
                result.places[opener] = place
    return result


def _llvm(lines: list[str]) -> StageLines:
    """Locate lines of LLVM IR by `!dbg !7`; the metadata at the end is removed."""
    nodes = {found[1]: (found[2], found[3]) for line in lines if line.startswith("!") and (found := _NODE.match(line))}
    files: dict[str, str | None] = {}

    def file_of(number: str | None) -> str | None:
        """The file of a metadata node, found through its scopes."""
        seen = set[str]()
        while number is not None and number not in seen:
            seen.add(number)
            kind, fields = nodes.get(number, ("", ""))
            if kind == "DIFile":
                name = re.search(rf"filename: ({_STRING})", fields)
                return None if name is None else os.path.basename(unescaped(name[1][1:-1], 16))
            above = re.search(r"\bfile: !(\d+)", fields) or re.search(r"\bscope: !(\d+)", fields)
            number = above[1] if above is not None else None
        return None

    def place_of(number: str) -> Place | None:
        kind, fields = nodes.get(number, ("", ""))
        line, scope = re.search(r"\bline: (\d+)", fields), re.search(r"\bscope: !(\d+)", fields)
        if kind not in ("DILocation", "DISubprogram") or line is None or scope is None or line[1] == "0":
            return None
        if scope[1] not in files:
            files[scope[1]] = file_of(scope[1])
        file = files[scope[1]]
        return None if file is None else (file, int(line[1]))

    known: dict[str, Place | None] = {}
    shown, places = [], list[Place | None]()
    for line in lines:
        if re.match(r"^!(?:\d+|llvm\.dbg\.cu|llvm\.module\.flags) = ", line) and "!DI" in line:
            continue
        found = _DBG.search(line)
        place = None
        if found is not None:
            if found[1] not in known:
                known[found[1]] = place_of(found[1])
            place = known[found[1]]
        shown.append(_DBG.sub("", line))
        places.append(place)
    return StageLines(shown, places)


def _assembly(lines: Sequence[str]) -> StageLines:
    """Locate lines of assembly: `.loc` is valid until the next one or `.size`. Debug sections are removed."""
    files = file_names(lines)
    shown, places = [], list[Place | None]()
    place: Place | None = None
    is_debug = False
    for line in lines:
        bare = line.strip()
        if bare.startswith((".section", ".text", ".data", ".bss", ".rodata")):
            is_debug = bare.startswith((".section\t.debug", ".section .debug"))
        loc = LOC.match(line)
        if loc is not None:
            name = files.get(int(loc[1]))
            place = (name, int(loc[2])) if name is not None and loc[2] != "0" else None
        if bare.startswith((".size", ".section", ".Lfunc_end")):
            place = None
        if is_debug or _ASM_SILENT.match(line):
            continue
        shown.append(line.expandtabs(8))
        is_code = bool(bare) and not bare.startswith((".", "#")) and not bare.endswith(":")
        places.append(place if is_code else None)
    return StageLines(shown, places)
