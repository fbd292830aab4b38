"""The stages of a program that can be looked at, in their order."""

from __future__ import annotations

from typing import Final

from aotensor_runtime.container import MAX_SECTION_BYTES

IR_STAGES: Final = ("graph", "graph-opt", "tensor", "tensor-opt", "nest", "loops")
"""Those before LLVM: their texts travel in the library, and know the user's lines."""

REMARKS_SECTION: Final = "remarks"
"""Where what passes decided travels."""

STAGES: Final = (*IR_STAGES, "llvm", "llvm-opt", "asm")

BEFORE: Final = "before "
"""In front of the name of a pass: what that found."""


def kept_text(stage: str, text: bytes) -> bytes:
    """The text of a stage as a library has it; a line that says why it has none, where it is too long."""
    if len(text) <= MAX_SECTION_BYTES:
        return text
    limit = f"{len(text)} bytes of text are more than the {MAX_SECTION_BYTES} that a library keeps of a stage"
    return f"// {stage} is left out: {limit}; `aotensor compile --emit {stage}` writes it to a file\n".encode()
