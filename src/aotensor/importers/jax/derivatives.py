"""Ops that keep JAX's derivatives of an equation: custom rules of users, and JAX's conventions at kinks of primitives.

An op of this kind is compiled as what the equation computes. When a derivative is asked for, JAX differentiates the
equation, by whatever rule holds there, and the program that it gives is imported like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Final, TypeAlias

import jax
import numpy as np
from jax.extend.source_info_util import user_context
from jax.interpreters import ad

import aotensor.tensor as at
from aotensor.errors import MissingRuleError
from aotensor.extension import Constant, OpFromGraph, disconnected, is_disconnected, is_zeros, leaves
from aotensor.importers.jax.sites import is_jax, site_of
from aotensor.importers.lax.rules import RULES
from aotensor.importers.lax.table import Equation, Program, body_of, is_literal, programs_in

_USERS: Final = frozenset({"call_hi_primitive", "custom_jvp_call", "custom_vjp_call"})
"""Primitives that carry rules, the user's or those of `jax.nn` and its kin."""

_TRANSPOSED: Final = frozenset({"call_hi_primitive_linearized", "custom_lin"})
"""Linear maps that JAX knows only transposed, by a rule of custom_vjp."""

_PRIMITIVES: Final = frozenset({
    "abs", "cbrt", "clamp", "cummax", "cummin", "custom_linear_solve", "integer_pow", "max", "min", "pow", "reduce_max",
    "reduce_min", "rem", "rsqrt", "scatter-max", "scatter-min", "scatter_max", "scatter_min",
})  # fmt: skip
"""Primitives whose derivatives are JAX's own: ours differ at ties, kinks, or the edge of the domain."""

_AROUND: Final = "its rule reads a variable of the function around it; make that variable an argument, or a NumPy array"

Run: TypeAlias = Callable[[Mapping[str, at.Variable], Any, Sequence[at.Variable]], list[at.Variable]]
"""(extents by name, program, inputs) → the outputs of a program, imported.   Raises: NoCounterpart"""


def keeps_rule(equation: Equation) -> bool:
    """Does this equation need JAX's derivative? True also for primitives without a rule here, such as a user's own,
    which may have any derivative.
    """
    name = equation.primitive.name
    if name == "integer_pow" and equation.params["y"] >= 0:
        return False
    has_derivative = any(_is_inexact(x.aval) for x in equation.outvars) and any(
        _is_inexact(x.aval) for x in equation.invars if not is_literal(x)
    )
    return has_derivative and (name in _USERS or name in _PRIMITIVES or name not in RULES)


def with_rule(
    equation: Any, inputs: Sequence[at.Variable], outputs: Sequence[at.Variable], known: Mapping[str, at.Variable],
    run: Run,
) -> list[at.Variable]:  # fmt: skip
    """The outputs of an equation, computed as `outputs` and differentiated as JAX does.

    known: the extents that have names. run: imports a program of derivatives.
    """
    variables, values = [], []
    for var, x in zip(equation.invars, inputs, strict=True):
        if not is_literal(var) and var not in variables:
            variables.append(var)
            values.append(x)
    names = _names(equation, known)
    slots = list(dict.fromkeys([x for x in (*values, *names.values()) if not isinstance(x, Constant)]))
    behind = [x for x in leaves(outputs, stop=slots) if x not in slots and not isinstance(x, Constant)]
    places = {x: place for place, x in enumerate(slots)}
    rule = _Rule(
        equation,
        variables,
        [x if isinstance(x, Constant) else places[x] for x in values],
        {name: x if isinstance(x, Constant) else places[x] for name, x in names.items()},
        run,
        bool(jax.config.jax_enable_x64),
    )
    return _Differentiated([*slots, *behind], list(outputs), rule).apply(*slots, *behind).outputs  # type: ignore[return-value]


def _names(equation: Any, known: Mapping[str, at.Variable]) -> dict[str, at.Variable]:
    """The named extents if some extent of the equation is symbolic, else nothing."""
    dims = [dim for var in (*equation.invars, *equation.outvars) for dim in getattr(var.aval, "shape", ())]
    return dict(known) if any(not isinstance(dim, int) for dim in dims) else {}


@dataclass(frozen=True, eq=False)
class _Rule:
    """The derivative rule of an equation in JAX.

    variables: its operands, each once. values: of each the position among the inputs of the op, or a constant.
    names: named extents, likewise. is_wide: whether JAX computed with 64 bits when the program was imported.
    """

    equation: Any
    variables: list[Any]
    values: list[int | Constant]
    names: dict[str, int | Constant]
    run: Run
    is_wide: bool
    _traced: dict[tuple[tuple[int, ...] | None, tuple[int, ...]], Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The name of the function with the rule, or of the primitive."""
        return str(getattr(self._described, "func_name", None) or self.equation.primitive.name)

    @property
    def is_users(self) -> bool:
        """Is it a custom rule of the user, which may intentionally differ from the derivative of the value?"""
        primitive = self.equation.primitive
        if primitive.name not in _USERS:
            rule = ad.primitive_jvps.get(primitive) if primitive.name not in RULES else None
            while isinstance(rule, partial):
                rule = rule.func
            return not str(getattr(rule, "__module__", None) or "jax").startswith("jax")
        return not is_jax(str(getattr(self._described, "func_src_info", None) or "").partition(" at ")[2])

    @property
    def _described(self) -> Any:
        """The function with the custom rule: its name, and `name at file:line`; None for primitives."""
        if self.equation.primitive.name not in _USERS:
            return None
        traced = getattr(self.equation.params.get("_prim"), "traced", None)
        inner = self.equation.params.get("call_jaxpr", getattr(traced, "jaxpr", None))
        return getattr(getattr(inner, "jaxpr", None), "debug_info", None)

    @property
    def operand_positions(self) -> dict[int, int]:
        """The operands that have derivatives: position among `variables` → among the inputs of the op."""
        return {
            k: value
            for k, (var, value) in enumerate(zip(self.variables, self.values, strict=True))
            if isinstance(value, int) and _is_inexact(var.aval)
        }

    @property
    def result_positions(self) -> list[int]:
        """Positions of the results that have derivatives."""
        return [k for k, var in enumerate(self.equation.outvars) if _is_inexact(var.aval)]

    def pattern(self, count: int) -> list[list[bool]]:
        """The connection pattern of an op with `count` inputs."""
        sources = set(self.operand_positions.values())
        outputs = range(len(self.equation.outvars))
        return [[place in sources and k in self.result_positions for k in outputs] for place in range(count)]

    def pull_back(self, inputs: Sequence[at.Variable], cotangents: Sequence[at.Variable]) -> list[at.Variable]:
        """Cotangents of the inputs of the op.   Raises: as `_program`"""
        known = [
            k for k in self.result_positions if not is_zeros(cotangents[k])
        ]  # to JAX the others are symbolic zeros
        moved = known or self.result_positions
        program = self._program(None, tuple(moved))
        found = self._run(program, inputs, [cotangents[k] for k in moved])
        terms: dict[int, at.Variable] = {}
        for place, term in zip(self.operand_positions.values(), found, strict=True):
            terms[place] = terms[place] + term if place in terms else term
        return [terms.get(place, disconnected()) for place in range(len(inputs))]

    def push_forward(self, inputs: Sequence[at.Variable], tangents: Sequence[at.Variable]) -> list[at.Variable]:
        """Tangents of the outputs of the op.   Raises: as `_program`"""
        moving = {k: place for k, place in self.operand_positions.items() if not is_disconnected(tangents[place])}
        program = self._program(tuple(moving), tuple(self.result_positions))
        found = iter(self._run(program, inputs, [tangents[place] for place in moving.values()]))
        return [
            next(found) if k in self.result_positions else disconnected() for k in range(len(self.equation.outvars))
        ]

    def _run(self, program: Any, inputs: Sequence[at.Variable], others: Sequence[at.Variable]) -> list[at.Variable]:
        values, names = ([_input_or_constant(x, inputs) for x in found] for found in (self.values, self.names.values()))
        try:
            return self.run(dict(zip(self.names, names, strict=True)), program, [*values, *others])
        except (jax.errors.TracerArrayConversionError, jax.errors.UnexpectedTracerError) as error:
            raise self._refusal(_AROUND) from error

    def _program(self, moving: tuple[int, ...] | None, moved: tuple[int, ...]) -> Any:
        """The derivative as a program of the operands and of their tangents, or of the cotangents of the results.

        moving: the operands with tangents, None for cotangents. moved: the results that are differentiated.

        Raises: MissingRuleError with the function and its line where JAX has none
        """
        if (moving, moved) not in self._traced:
            specs = [_spec(x) for x in self.variables]
            with _width(self.is_wide):
                try:
                    if moving is None:
                        cotangents = [_spec(self.equation.outvars[k]) for k in moved]
                        made = jax.make_jaxpr(self._backward(moved))(specs, cotangents)
                    else:
                        made = jax.make_jaxpr(self._forward(moving, moved))(specs, [specs[k] for k in moving])
                except jax.errors.UnexpectedTracerError as error:
                    raise self._refusal(_AROUND) from error
                except Exception as error:  # what a rule of the user's raises, and what JAX says of it
                    said = str(error).strip().partition("\n")[0][:200]
                    raise self._refusal(f"{type(error).__name__}: {said}") from error
            if moving and _is_reverse_alone(made):
                raise self._refusal("a custom_vjp rule has reverse mode only, and this derivative needs forward mode")
            self._traced[moving, moved] = made
        return self._traced[moving, moved]

    def _outputs(self, values: Sequence[Any]) -> list[Any]:
        """Evaluate the equation in JAX, with its line.   values: of `variables`"""
        primitive, known = self.equation.primitive, dict(zip(self.variables, values, strict=True))
        given = [x.val if is_literal(x) else known[x] for x in self.equation.invars]
        params = primitive.get_bind_params(self.equation.params)
        functions, params = params if isinstance(params, tuple) else ((), params)  # JAX before 0.10 has both apart
        with user_context(self.equation.source_info.traceback), self.equation.ctx.manager:
            found = primitive.bind(*functions, *given, **params)
        return list(found) if primitive.multiple_results else [found]

    def _restricted(self, values: Sequence[Any], moving: Sequence[int], moved: Sequence[int]) -> Callable[..., Any]:
        """The selected floating-point results as a function of the differentiated operands."""

        def function(*xs: Any) -> list[Any]:
            given = dict(zip(moving, xs, strict=True))
            found = self._outputs([given.get(k, x) for k, x in enumerate(values)])
            return [found[k] for k in moved]

        return function

    def _backward(self, moved: Sequence[int]) -> Callable[..., Any]:
        def backward(values: Sequence[Any], cotangents: Sequence[Any]) -> Any:
            function = self._restricted(values, tuple(self.operand_positions), moved)
            _, pull = jax.vjp(function, *(values[k] for k in self.operand_positions))
            return pull(list(cotangents))

        return backward

    def _forward(self, moving: Sequence[int], moved: Sequence[int]) -> Callable[..., Any]:
        def forward(values: Sequence[Any], tangents: Sequence[Any]) -> Any:
            function = self._restricted(values, moving, moved)
            return jax.jvp(function, [values[k] for k in moving], list(tangents))[1]

        return forward

    def _refusal(self, reason: str) -> MissingRuleError:
        place = site_of(self.equation)
        return MissingRuleError(
            f"JAX has no derivative of {self.title}: {reason}",
            lines=[f"{self.title}   made at {place}"] if place is not None else (),
        )


class _Differentiated(OpFromGraph):
    """An op with the values of an equation and JAX's derivatives."""

    takes_sparse: ClassVar[bool] = False

    def __init__(self, inputs: list[at.Variable], outputs: list[at.Variable], rule: _Rule) -> None:
        self._rule = rule
        super().__init__(
            inputs,
            outputs,
            pullback=lambda xs, ys, cotangents: rule.pull_back(xs, cotangents),
            pushforward=lambda xs, ys, tangents: rule.push_forward(xs, tangents),
            connection_pattern=rule.pattern(len(inputs)),
            name=rule.title,
        )

    def convert_inputs(self, inputs: Sequence[Any]) -> list[at.Variable]:
        """The inputs unchanged, since JAX has typed the program."""
        return list(inputs)

    def is_faithful(self) -> bool:
        return not self._rule.is_users

    def is_dual(self) -> bool:
        return self._rule.equation.primitive.name not in ("call_hi_primitive", "custom_vjp_call")


def _input_or_constant(found: int | Constant, inputs: Sequence[at.Variable]) -> at.Variable:
    return inputs[found] if isinstance(found, int) else found


def _spec(var: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(var.aval.shape, var.aval.dtype)


def _is_inexact(aval: Any) -> bool:
    return bool(jax.dtypes.issubdtype(aval.dtype, np.inexact))


def _is_reverse_alone(program: Program) -> bool:
    """Does a forward derivative contain linear maps of which JAX only has the transpose?"""
    found = [one.primitive.name in _TRANSPOSED or any(map(_is_reverse_alone, programs_in(one)))
             for one in body_of(program).eqns]  # fmt: skip
    return any(found)


def _width(is_wide: bool) -> Any:
    """A context that enables or disables JAX's 64-bit types."""
    scoped = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
    return scoped(is_wide)
