"""`--grad` and `--hvp`: add derivatives of a model's functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from aotensor import Function, function, grad
from aotensor.core.dtypes import is_float
from aotensor.gradient import hessian_vector_product
from aotensor.graph.site import variables_at
from aotensor.graph.variable import Variable
from aotensor_cli.options import Exit, Refusal


def with_gradients(functions: Sequence[Function], wrt: Sequence[str]) -> list[Function]:
    """`<name>_grad` for every function that has the inputs `wrt`: its first output, and `grad_<input>` of each.

    Functions whose first output is not a floating scalar are skipped.

    Raises: Refusal if no function is left.
    """
    return _derived(functions, wrt, "--grad", _gradient)


def with_hessian_products(functions: Sequence[Function], wrt: Sequence[str]) -> list[Function]:
    """`<name>_hvp` for every function that has the inputs `wrt`: value, gradients, and `hvp_<input>` = H·tangent.

    Each input in `wrt` brings one more input `tangent_<input>`, of its type, behind all others.

    Raises: as `with_gradients`.
    """
    return _derived(functions, wrt, "--hvp", _hessian_product)


_Derive: TypeAlias = Callable[[Function, Sequence[str]], Function]


def _derived(functions: Sequence[Function], wrt: Sequence[str], option: str, derive: _Derive) -> list[Function]:
    candidates = [f for f in functions if all(name in f.arguments for name in wrt)]
    if not candidates:
        missing = next(name for name in wrt if any(name not in f.arguments for f in functions))
        known = "; ".join(f"{f.name} has {', '.join(f.arguments)}" for f in functions)
        raise Refusal(f"{option}: no function has an input {missing}", known)
    chosen = [f for f in candidates if _has_cost(f)]
    if not chosen:
        key, x = next(iter(candidates[0].results.items()))
        found = f"{key} is {x.type}"
        raise Refusal(
            f"{option}: the first output of {candidates[0].name} must be a floating scalar, {found}", code=Exit.PROGRAM
        )
    made = []
    for f in chosen:
        with variables_at(_cost(f)[1].site):  # no line of the user's asks for a derivative
            made.append(derive(f, wrt))
    return made


def _gradient(f: Function, wrt: Sequence[str]) -> Function:
    key, cost = _cost(f)
    inputs, outputs = list(f.declared.values()), _value_and_derivatives(f, key, cost, wrt)
    return function(inputs, outputs, name=f"{f.name}_grad", on_unused_input="ignore")


def _hessian_product(f: Function, wrt: Sequence[str]) -> Function:
    key, cost = _cost(f)
    points = [f.arguments[name] for name in wrt]
    tangents = [Variable(x.type, name=f"tangent_{name}") for name, x in zip(wrt, points, strict=True)]
    outputs = _value_and_derivatives(f, key, cost, wrt)
    for name, product in zip(wrt, hessian_vector_product(cost, points, tangents), strict=True):
        outputs[f"hvp_{name}"] = product
    return function([*f.declared.values(), *tangents], outputs, name=f"{f.name}_hvp", on_unused_input="ignore")


def _value_and_derivatives(f: Function, key: str, cost: Variable, wrt: Sequence[str]) -> dict[str, Variable]:
    derivatives = grad(cost, [f.arguments[name] for name in wrt])
    return {key: cost} | {f"grad_{name}": derivative for name, derivative in zip(wrt, derivatives, strict=True)}


def _has_cost(f: Function) -> bool:
    """Is the first output a floating scalar?"""
    cost = next(iter(f.results.values()))
    return cost.ndim == 0 and is_float(cost.dtype)


def _cost(f: Function) -> tuple[str, Variable]:
    """The first output with its name."""
    key, cost = next(iter(f.results.items()))
    return f.keys.get(key, key), cost
