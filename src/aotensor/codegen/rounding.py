"""Every operation rounds for itself: what `strict` asks for, so that all machines give the same bits.

Formulas of elementary functions and matrix products let a product and a sum be one instruction where a machine has it
(`ScalarBuilder.fma`). That changes the last bit between machines with and without it, so `strict` takes it back.
"""

from __future__ import annotations

from aotensor.codegen.llvm import Module

_CONTRACT = "contract"


def round_each(module: Module) -> None:
    """Take the permission to be fused with others from all instructions of a module."""
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                if _CONTRACT in instruction.flags:
                    instruction.flags = [flag for flag in instruction.flags if flag != _CONTRACT]
