"""The printable stages of a program, in order, and the files that a compilation can write.

Imports the standard library only: the command line imports this module alone (`aotensor_cli/commands/names.py`).
"""

from __future__ import annotations

from typing import Final

IR_STAGES: Final = ("graph", "graph-opt", "tensor", "tensor-opt", "nest", "loops")
"""Stages before LLVM: their texts are stored in the library, with the user's lines."""

REMARKS_SECTION: Final = "remarks"
"""The library section with the remarks."""

STAGES: Final = (*IR_STAGES, "llvm", "llvm-opt", "asm")

BEFORE: Final = "before "
"""Prefix of a pass name that selects the text before that pass."""

FORMS: Final = {
    "lib": "lib{}.so",
    "imports": "lib{}.dll.a",
    "static": "lib{}.a",
    "obj": "{}.o",
    "asm": "{}.s",
    "c": "{}.c",
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
    "ceres": "{}_ceres.h",
    "manifest": "{}.json",
}
"""Form of output → its file name."""

ELSEWHERE: Final = frozenset({"imports", "js", "dts", "ceres"})
"""Forms that exist on some targets, or for some interfaces, only."""

CODE: Final = frozenset({"lib", "static", "obj"})
"""Forms whose code needs the file of weights, if there is one."""

WEIGHTS: Final = "weights"
"""The file of weights among the outputs of a compilation; it cannot be requested without code."""

TEXTS: Final = frozenset(FORMS) - CODE - {"imports"}
"""Forms that are text."""
