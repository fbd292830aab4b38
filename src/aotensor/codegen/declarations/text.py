"""Formatting of C declarations, with line breaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

WIDTH: Final = 116


def prototype(result: str, name: str, parameters: Sequence[str]) -> str:
    """The C text of one prototype, with lines broken between parameters."""
    head = f"{result} {name}("
    lines = [head]
    for k, parameter in enumerate(parameters):
        piece = parameter + (", " if k < len(parameters) - 1 else ");")
        if len(lines[-1] + piece) > WIDTH and lines[-1].strip() != head:
            lines.append(" " * len(head))
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)
