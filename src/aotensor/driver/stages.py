"""The stages of a program that can be looked at, in their order, and the files that a compilation can make.

Imports the standard library only: the command line reads this module alone (`aotensor_cli/commands/names.py`).
"""

from __future__ import annotations

from typing import Final

IR_STAGES: Final = ("graph", "graph-opt", "tensor", "tensor-opt", "nest", "loops")
"""Those before LLVM: their texts travel in the library, and know the user's lines."""

REMARKS_SECTION: Final = "remarks"
"""Where what passes decided travels."""

STAGES: Final = (*IR_STAGES, "llvm", "llvm-opt", "asm")

BEFORE: Final = "before "
"""In front of the name of a pass: what that found."""

FORMS: Final = {
    "lib": "lib{}.so",
    "imports": "lib{}.dll.a",
    "static": "lib{}.a",
    "obj": "{}.o",
    "asm": "{}.s",
    "llvm": "{}.ll",
    "llvm-opt": "{}.opt.ll",
    "nest": "{}.nest.mlir",
    "loops": "{}.loops.mlir",
    "tensor-opt": "{}.tensor-opt.mlir",
    "tensor": "{}.tensor.mlir",
    "graph": "{}.graph.txt",
    "graph-opt": "{}.graph-opt.txt",
    "js": "{}.mjs",
    "dts": "{}.d.mts",
    "header": "{}.h",
    "manifest": "{}.json",
}
"""What a compilation can give → its file name."""

ELSEWHERE: Final = frozenset({"imports", "js", "dts"})
"""The forms that only some targets have."""

TEXTS: Final = frozenset(FORMS) - {"lib", "imports", "static", "obj"}
"""The forms that are text."""
