"""Remove contraction, so that every operation rounds separately and `strict` gives the same bits on all machines.

Formulas of elementary functions and matrix products allow a multiplication and an addition to be fused where a machine
has the instruction (`ScalarBuilder.fma`). That changes the last bit between machines with and without it, so `strict`
removes the permission.
"""

from __future__ import annotations

from aotensor.codegen.llvm import Module

_CONTRACT = "contract"


def round_each(module: Module) -> None:
    """Remove the `contract` flag from all instructions of a module."""
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                if _CONTRACT in instruction.flags:
                    instruction.flags = [flag for flag in instruction.flags if flag != _CONTRACT]
