"""scan, while and cond."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import aotensor as aot
import aotensor.tensor as at
from aotensor.extension import dtypes
from aotensor.gradient import undefined_grad
from aotensor.importers.lax.table import Context, Equation, Extent, body_of, is_literal, rule
from aotensor.importers.lax.windows import known_value
from aotensor.importers.loops import MANY, looped


@rule("scan", note="a loop", takes_keys=True)
def _scan(context: Context, equation: Equation, *inputs: at.Variable) -> list[at.Variable]:
    params = equation.params
    first, count = int(params["num_consts"]), int(params["num_carry"])
    consts, carry, rows = inputs[:first], list(inputs[first : first + count]), list(inputs[first + count :])
    length, program, is_reversed = context.extent(params["length"]), params["jaxpr"], bool(params["reverse"])
    if isinstance(length, int) and length == 0:
        return [*carry, *(_nothing(context, var) for var in equation.outvars[count:])]

    def step(*values: at.Variable) -> list[at.Variable]:
        seen, last, fixed = values[: len(rows)], values[len(rows) : len(rows) + count], values[len(rows) + count :]
        return context.run(program, [*fixed, *last, *seen])

    found = looped(step, rows, carry, len(equation.outvars) - count, length, constants=consts, backwards=is_reversed)
    return [*found[:count], *(at.flip(x, 0) if is_reversed else x for x in found[count:])]


def _nothing(context: Context, var: Any) -> at.Variable:
    return at.zeros(context.extents(var.aval.shape), dtype=str(var.aval.dtype))


@rule(
    "while", takes_keys=True,
    note="a loop; one that counts (`fori_loop`) has a gradient, of another one `jax.grad` and `aot.grad` have none",
)  # fmt: skip
def _while(context: Context, equation: Equation, *inputs: at.Variable) -> list[at.Variable]:
    """Run steps until the condition fails after one; no step if it fails before the first."""
    params = equation.params
    first, second = int(params["cond_nconsts"]), int(params["body_nconsts"])
    for_condition, for_body = inputs[:first], inputs[first : first + second]
    carry = list(inputs[first + second :])
    if not carry:
        return []

    def pending(state: Sequence[at.Variable]) -> at.Variable:
        (found,) = context.run(params["cond_jaxpr"], [*for_condition, *state])
        return found

    def goes_on(state: Sequence[at.Variable]) -> at.Variable:
        return at.any(found) if (found := pending(state)).ndim else found

    def step(*state: at.Variable) -> list[at.Variable]:
        """The next state; in a batch of loops, finished ones keep their state."""
        after = context.run(params["body_jaxpr"], [*for_body, *state])
        if not body_of(params["cond_jaxpr"]).outvars[0].aval.shape:
            return after
        rest = pending(state)
        return [
            at.switch(at.dimshuffle(rest, [*range(rest.ndim), *[None] * (x.ndim - rest.ndim)]), x, old)
            for x, old in zip(after, state, strict=True)
        ]

    if (counted := _counter_and_bound(equation)) is not None:
        lower, upper = (_operand(x, [*for_condition, *carry], body_of(params["cond_jaxpr"])) for x in counted)
        known = [known_value(x) for x in (lower, upper)]
        if known[0] is not None and known[1] is not None:
            count: Extent = max(int(known[1]) - int(known[0]), 0)
        else:
            count = at.maximum(at.cast(upper, "int64") - at.cast(lower, "int64"), 0)
        return looped(lambda *state: step(*state), [], carry, 0, count)

    def guarded(*state: at.Variable) -> tuple[list[at.Variable], object]:
        after = step(*state)
        return after, aot.until(at.invert(goes_on(after)))

    found = looped(guarded, [], carry, 0, at.switch(goes_on(carry), MANY, 0))
    return [undefined_grad(x) if dtypes.is_inexact(x.dtype) else x for x in found]


def _counter_and_bound(equation: Equation) -> tuple[Any, Any] | None:
    """Counter and bound of a loop `while i < n` over integers whose steps add 1 to i and do not change n; else None."""
    condition, body = (body_of(equation.params[key]) for key in ("cond_jaxpr", "body_jaxpr"))
    consts, state = equation.params["cond_nconsts"], condition.invars[equation.params["cond_nconsts"] :]
    inner = body.invars[equation.params["body_nconsts"] :]
    if len(condition.eqns) != 1 or condition.eqns[0].primitive.name != "lt" or condition.outvars[0].aval.shape:
        return None
    counter, bound = condition.eqns[0].invars
    if is_literal(counter) or counter not in state or counter.aval.dtype.kind not in "iu":
        return None
    if not is_literal(bound) and bound not in condition.invars[:consts]:
        place = state.index(bound)
        if body.outvars[place] is not inner[place]:
            return None
    place = state.index(counter)
    made = [one for one in body.eqns if body.outvars[place] in one.outvars]
    if len(made) != 1 or made[0].primitive.name not in ("add", "add_any"):
        return None
    others = [x for x in made[0].invars if x is not inner[place]]
    is_one = len(others) == 1 and is_literal(others[0]) and int(others[0].val) == 1
    return (counter, bound) if is_one else None


def _operand(x: Any, values: Sequence[at.Variable], program: Any) -> at.Variable:
    return at.constant(np.asarray(x.val, x.aval.dtype)) if is_literal(x) else values[program.invars.index(x)]


def _on_cpu(platforms: Sequence[Sequence[str] | None]) -> int:
    """The index of the branch for CPUs, or of the default branch."""
    return next(k for k, names in enumerate(platforms) if names is None or "cpu" in names)


@rule("platform_index", note="that of a CPU")
def _platform_index(context: Context, equation: Equation) -> at.Variable:
    return at.constant(np.asarray(_on_cpu(equation.params["platforms"]), "int32"))


def _branches(equation: Equation) -> list[Any]:
    """The branches that may run; of branches by platform, only that for CPUs."""
    branches, platforms = equation.params["branches"], equation.params.get("branches_platforms")
    return list(branches) if platforms is None else [branches[_on_cpu(platforms)]]


@rule("cond", note="only the chosen branch is computed", takes_keys=True, inner=_branches)
def _cond(context: Context, equation: Equation, which: at.Variable, *inputs: at.Variable) -> list[at.Variable]:
    branches = [context.run(branch, inputs) for branch in _branches(equation)]
    found = branches[-1]
    if not found:
        return []
    for number in range(len(branches) - 2, -1, -1):
        condition = at.invert(which) if which.dtype == "bool" else at.le(which, number)
        found = list(aot.ifelse(condition, branches[number], found))
    return found
