"""The machine properties that passes get from the options of a compilation, and the passes that it omits."""

from __future__ import annotations

from dataclasses import replace

from aotensor.codegen.machine import Machine
from aotensor.codegen.parts import NEVER
from aotensor.codegen.targets.systems import OTHER_32, system_of
from aotensor.passes.pipeline import MATH, NEST
from aotensor.passes.registry import declaration
from aotensor.passes.target import Target


def passes_left_out(machine: Machine, checks: bool, allocates: bool, scalar: bool) -> frozenset[str]:
    """The names of passes that a compilation omits. checks, allocates, scalar: as in `recipe.Options`."""
    is_small = system_of(machine.triple) is OTHER_32
    kinds = {
        "checks": checks,
        "no-vectors": is_small,
        "no-heap": not allocates,
        "scalar": scalar,
        "unoptimised": machine.opt_level == 0,
    }
    declared = (declaration(function) for function in (*NEST, *MATH))
    return frozenset(x.step.name for x in declared if any(kinds[kind] for kind in x.unless))


def math_facts(machine: Machine, fp: str, scalar: bool) -> Target:
    """Machine properties for expanding math functions, whatever options say; no tables for `strict` or scalar code."""
    return replace(machine.facts, has_tables=False) if fp == "strict" or scalar else machine.facts


def product_facts(machine: Machine, fp: str, allocates: bool, facts: Target | None) -> Target | None:
    """Properties for product kernels, None for the machine's; without a heap, kernels do not pack operands."""
    if allocates:
        return facts
    usual = Target(blas_work=NEVER) if fp == "strict" else machine.facts
    return replace(facts or usual, packs_products=False)
