"""The passes of the checking build, `--check`: fill outputs and buffers, check accesses against extents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from aotensor.ir.build import BuiltFunction
from aotensor.ir.forms import LOOP_FORM
from aotensor.passes.checking.check_bounds import MESSAGE, check_bounds
from aotensor.passes.checking.poison_buffers import poison_buffers
from aotensor.passes.registry import Pass


def with_poison(passes: Sequence[Pass], outputs: Mapping[str, int]) -> list[Pass]:
    """Insert the pass `poison-buffers` before `plan-memory` into the list of passes.

    outputs: number of outputs by function name.
    """
    poison = Pass("poison-buffers", lambda module: poison_buffers(module, outputs), LOOP_FORM, LOOP_FORM)
    where = [step.name for step in passes].index("plan-memory")
    return [*passes[:where], poison, *passes[where:]]


def with_bounds_check(built: Sequence[BuiltFunction]) -> tuple[list[BuiltFunction], Pass]:
    """Add one check to each function; also return the pass that makes this check fail for an access out of bounds."""
    checked = [replace(x, checks=(*x.checks, ("index", f"{x.program.name}: {MESSAGE}"))) for x in built]
    numbers = {x.program.name: len(x.checks) for x in checked}
    return checked, Pass("check-bounds", lambda module: check_bounds(module, numbers), LOOP_FORM, LOOP_FORM)
