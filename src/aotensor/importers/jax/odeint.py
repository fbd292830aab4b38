"""`jax.experimental.ode.odeint` as `at.integrate.solve_ivp`, instead of JAX's loop and its continuous adjoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax
import numpy as np

import aotensor.tensor as at
from aotensor.importers.lax.table import Equation, Program

_MOST_STEPS: Final = 1_000_000
"""Attempts of an integration where mxstep has no bound."""

_ROUNDINGS: Final = 100
"""rtol is not below so many roundings of the dtype, as in `scipy.integrate`."""

_WRAPPED: Final = ["_flatten_bwd", "_prepend_static_args"]
"""What JAX puts around the reverse rule of a call; under `vmap` there is more."""


@dataclass(frozen=True)
class Integration:
    """A call of `odeint`.   first: the position of y0 among the operands of its equation; the times and args follow"""

    function: Callable[..., Any]
    rtol: float
    atol: float
    mxstep: float
    hmax: float
    first: int

    def rates(self, equation: Equation) -> Program:
        """The right-hand side as a program of (y, t, *args)."""
        y, times, *args = (jax.ShapeDtypeStruct(x.aval.shape, x.aval.dtype) for x in equation.invars[self.first :])
        program: Program = jax.make_jaxpr(self.function)(y, jax.ShapeDtypeStruct((), times.dtype), *args)
        return program

    def solved(self, rates: Callable[..., at.Variable], y0: at.Variable, times: at.Variable) -> at.Variable:
        """The states at the times.   rates: of symbols (y, t); y0: (n,); times: (m,) → (m, n)"""
        least = _ROUNDINGS * float(np.finfo(y0.dtype).eps)
        bound = self.mxstep * max((times.static_shape[0] or 2) - 1, 1)
        found = at.integrate.solve_ivp(
            lambda t, y: rates(y, t),
            (times[0], times[-1]),
            y0,
            t_eval=times,
            rtol=max(self.rtol, least),
            atol=self.atol,
            max_step=self.hmax,
            max_steps=int(min(max(bound, 1), _MOST_STEPS)),
        )
        return found.y.T


def integration_of(equation: Equation) -> Integration | None:
    """The arguments of a call of `odeint`; None for other equations, and for calls that `solve_ivp` does not support:
    those with complex states, and those under `vmap`, which JAX integrates with common steps.
    """
    rule = equation.params.get("bwd") if equation.primitive.name == "custom_vjp_call" else None
    own = getattr(rule, "f", None)
    if (getattr(own, "__module__", None), getattr(own, "__name__", None)) != ("jax.experimental.ode", "_odeint_rev"):
        return None
    transforms = list(getattr(rule, "transforms", ()))
    if [getattr(one[0], "__name__", None) for one in transforms] != _WRAPPED:
        return None
    function, *numbers = (x.val for x in transforms[1][1][0])
    first = int(equation.params["num_consts"])
    y0, times = (x.aval for x in equation.invars[first : first + 2])
    shapes = [len(x.shape) for x in (y0, times)]
    is_real = all(np.issubdtype(x.dtype, np.floating) for x in (y0, times))
    if shapes != [1, 1] or not is_real or not all(isinstance(x, int | float | np.number) for x in numbers):
        return None
    rtol, atol, mxstep, hmax = map(float, numbers)
    return Integration(function, rtol, atol, mxstep, hmax, first)


def integrated(
    equation: Equation, call: Integration, inputs: Sequence[at.Variable],
    run: Callable[[Program, Sequence[at.Variable]], list[at.Variable]],
) -> list[at.Variable]:  # fmt: skip
    """The states of a call at its times.   run: imports a program"""
    y0, times, *args = inputs[call.first :]
    program = call.rates(equation)
    return [call.solved(lambda y, t: run(program, [y, t, *args])[0], y0, times)]
