"""Programs that every stage must carry: small, each with one thing that a compiler may get wrong."""

from __future__ import annotations

from corpus import draws, elements, loops, matrices, models, patterns, reductions, shapes
from corpus.program import CORPUS, EMPTY, EXTENTS, NEEDS_ELEMENTS, draw, expected, program, texts_of

__all__ = [
    "CORPUS", "EMPTY", "EXTENTS", "NEEDS_ELEMENTS", "draw", "draws", "elements", "expected", "loops",
    "matrices", "models", "patterns", "program", "reductions", "shapes", "texts_of",
]  # fmt: skip
