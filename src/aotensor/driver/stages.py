"""The stages of a program that can be looked at, in their order."""

from __future__ import annotations

from typing import Final

IR_STAGES: Final = ("graph", "graph-opt", "tensor", "tensor-opt", "nest", "loops")
"""Those before LLVM: their texts travel in the library, and know the user's lines."""

REMARKS_SECTION: Final = "remarks"
"""Where what passes decided travels."""

STAGES: Final = (*IR_STAGES, "llvm", "llvm-opt", "asm")

BEFORE: Final = "before "
"""In front of the name of a pass: what that found."""
