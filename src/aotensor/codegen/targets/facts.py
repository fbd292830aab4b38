"""The machine properties that passes get from the options of a compilation, and the passes that it omits."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from aotensor.codegen.machine import Machine
from aotensor.codegen.parts import NEVER
from aotensor.codegen.targets.systems import OTHER_32, system_of
from aotensor.passes.pipeline import VECTOR_PASSES
from aotensor.passes.report.bounds import ON_SEVERAL_CORES
from aotensor.passes.target import Target

_SCALAR: Final = (
    *(name for name in VECTOR_PASSES if name != "small-matrices"), "unroll-and-jam", "prefetch", "outline-math",
)  # fmt: skip
"""Passes that C source does without; small matrices stay, as LAPACK would round otherwise."""


def passes_left_out(machine: Machine, checks: bool, allocates: bool, scalar: bool) -> frozenset[str]:
    """The names of passes that a compilation omits. checks, allocates, scalar: as in `recipe.Options`."""
    return frozenset({
        # checks look at one element at a time, and small processors have no vector instructions
        *(VECTOR_PASSES if checks or system_of(machine.triple) is OTHER_32 else ()),
        *(() if allocates and not scalar else ON_SEVERAL_CORES),
        *(_SCALAR if scalar else ()),
    })  # fmt: skip


def math_facts(machine: Machine, fp: str, scalar: bool) -> Target:
    """Machine properties for expanding math functions, whatever options say; no tables for `strict` or scalar code."""
    return replace(machine.facts, has_tables=False) if fp == "strict" or scalar else machine.facts


def product_facts(machine: Machine, fp: str, allocates: bool, facts: Target | None) -> Target | None:
    """Properties for product kernels, None for the machine's; without a heap, kernels do not pack operands."""
    if allocates:
        return facts
    usual = Target(blas_work=NEVER) if fp == "strict" else machine.facts
    return replace(facts or usual, packs_products=False)
