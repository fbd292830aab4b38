"""Read the user's source files, and note those that are missing or changed since the compilation."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

_MOST: Final = 1 << 24  # bytes, as of a model


@dataclass
class Source:
    """A source file: its lines, and a problem such as a change since the compilation.

    functions: [first line, last line, name] of each `def`
    """

    name: str
    lines: list[str] = field(default_factory=list)
    problem: str = ""
    functions: list[tuple[int, int, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "name": self.name, "text": "\n".join(self.lines), "problem": self.problem, "functions": self.functions,
            "known": bool(self.lines),
        }  # fmt: skip


def read_sources(files: Mapping[str, Sequence[str]], loaded: float) -> list[Source]:
    """Name → source file.   files: name → paths. loaded: when the program was read, in seconds of the clock of files"""
    return [_read(name, paths, loaded) for name, paths in files.items()]


def _read(name: str, paths: Sequence[str], loaded: float) -> Source:
    path, problems = Path(paths[0]), []
    if len(paths) > 1:
        problems.append(f"{len(paths)} files have this name; lines are shown in {path}")
    try:
        changed = path.stat().st_mtime
        data = path.read_bytes()
    except (OSError, ValueError):
        return Source(name, problem=f"{name} is gone, or is not a file: its lines are known by number only")
    if len(data) > _MOST:
        return Source(name, problem=f"{name} is too long to be shown")
    if changed > loaded:
        problems.append(f"{name} has changed since it was compiled: lines may be others now")
    return Source(name, _lines(data), "; ".join(problems), functions_of(data))


def named_source(path: Path, made: float) -> Source:
    """Read a source file that the user gave for a library.   made: when.   Raises: OSError"""
    data = path.read_bytes()[:_MOST]
    is_newer = path.stat().st_mtime > made
    problem = f"{path.name} has changed since the library was made: lines may be others now" if is_newer else ""
    return Source(path.name, _lines(data), problem, functions_of(data))


def _lines(data: bytes) -> list[str]:
    return data.decode(errors="replace").expandtabs(4).splitlines()


def functions_of(data: bytes) -> list[tuple[int, int, str]]:
    """Every `def` of a Python file, the outer ones first; none for other files."""
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = [
        (node.lineno, node.end_lineno or node.lineno, node.name)
        for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]  # fmt: skip
    return sorted(found, key=lambda row: (row[0], -row[1]))
