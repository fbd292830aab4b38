"""The passes of the checking build, `--check`: fill outputs and buffers, check accesses against extents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp

from aotensor.ir.build import BuiltFunction
from aotensor.ir.forms import LOOP_FORM
from aotensor.passes.checking.check_bounds import IN_KERNEL, MESSAGE, Line, check_bounds, lines_with_accesses
from aotensor.passes.checking.poison_buffers import poison_buffers
from aotensor.passes.registry import Pass


def with_poison(passes: Sequence[Pass], outputs: Mapping[str, int]) -> list[Pass]:
    """Insert the pass `poison-buffers` before `plan-memory` into the list of passes.

    outputs: number of outputs by function name.
    """
    poison = Pass("poison-buffers", lambda module: poison_buffers(module, outputs), LOOP_FORM, LOOP_FORM)
    where = [step.name for step in passes].index("plan-memory")
    return [*passes[:where], poison, *passes[where:]]


def with_bounds_check(module: ModuleOp, built: Sequence[BuiltFunction]) -> tuple[list[BuiltFunction], Pass]:
    """Add checks to each function; also return the pass that makes one of them fail for an access out of bounds.

    One is for the compiler's accesses, and one for each line of a user's kernel that has accesses.
    """
    lines = lines_with_accesses(module)
    checked, numbers = [], dict[str, dict[Line, int]]()
    for x in built:
        name, own = x.program.name, lines[x.program.name]
        texts = [MESSAGE, *(f"{file}:{line}: {IN_KERNEL}" for file, line in own)]
        checked.append(replace(x, checks=(*x.checks, *(("index", f"{name}: {text}") for text in texts))))
        numbers[name] = {line: len(x.checks) + k for k, line in enumerate([None, *own], 1)}
    return checked, Pass("check-bounds", lambda module: check_bounds(module, numbers), LOOP_FORM, LOOP_FORM)
