"""Calls of inner programs, and primitives that return their operands."""

from __future__ import annotations

from typing import Any

import aotensor.tensor as at
from aotensor.extension import dtypes
from aotensor.gradient import zero_grad
from aotensor.importers.lax.table import Context, Equation, rule

_INLINED = "its program, in place"


@rule("jit", "closed_call", "call", "composite", "eval_jaxpr", "custom_vmap_call", note=_INLINED, takes_keys=True)
def _call(context: Context, equation: Equation, *inputs: at.Variable) -> list[at.Variable]:
    return context.run(_program(equation, "jaxpr", "call_jaxpr", "call"), inputs)


@rule("remat2", "checkpoint", note="its program; what is stored is the compiler's decision", takes_keys=True)
def _remat(context: Context, equation: Equation, *inputs: at.Variable) -> list[at.Variable]:
    return context.run(equation.params["jaxpr"], inputs)


@rule("custom_jvp_call", "custom_vjp_call", note="its program, differentiated by its rule", takes_keys=True)
def _custom(context: Context, equation: Equation, *inputs: at.Variable) -> list[at.Variable]:
    return context.run(_program(equation, "call_jaxpr", "fun_jaxpr"), inputs)


def _program(equation: Equation, *keys: str) -> Any:
    return next(equation.params[key] for key in keys if key in equation.params)


@rule(
    "custom_linear_solve", note="its `solve`, differentiated by its `transpose_solve`",
    inner=lambda equation: [equation.params["jaxprs"].solve],
)  # fmt: skip
def _linear_solve(context: Context, equation: Equation, *inputs: at.Variable) -> list[at.Variable]:
    counts, start, consts = equation.params["const_lengths"], 0, {}
    for name, count in zip(counts._fields, counts, strict=True):
        consts[name] = inputs[start : start + count]
        start += count
    return context.run(equation.params["jaxprs"].solve, [*consts["solve"], *inputs[start:]])


@rule("stop_gradient", takes_keys=True)
def _stop_gradient(context: Context, equation: Equation, x: at.Variable) -> at.Variable:
    return zero_grad(x) if dtypes.is_inexact(x.dtype) else x


@rule(
    "copy", "name", "device_put", "sharding_constraint", "optimization_barrier", "layout_constraint", "random_clone",
    note="hands on its operands", takes_keys=True,
)  # fmt: skip
def _same(context: Context, equation: Equation, *inputs: at.Variable) -> list[at.Variable]:
    return list(inputs)
