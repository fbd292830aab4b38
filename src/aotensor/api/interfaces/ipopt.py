"""Ipopt: nonlinear programs, and the functions that its callbacks evaluate."""

from __future__ import annotations

from collections.abc import Sequence

from aotensor.api.function import Function
from aotensor.api.interfaces.checks import is_static_float64, refuse_state, static_shape
from aotensor.api.nlp import NLP, StoredEntries
from aotensor.codegen.abi.ipopt.layer import IpoptLayer, Program
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.variable import Variable
from aotensor.sparse.construct.create import csm_data


def for_ipopt(functions: Sequence[Function], library: str) -> tuple[list[Function], IpoptLayer]:
    """For each nonlinear program, derive a function of f and g, and a function of grad_f and the values of jac_g.

    Raises: GraphValueError if there is no program, or one with shared variables, of a size that is not a number or
    without variables; GraphTypeError for numbers other than float64
    """
    programs = [f.program for f in functions if isinstance(f.program, NLP)]
    programs = list(dict.fromkeys(programs))
    if not programs:
        names = ", ".join(f.name for f in functions)
        raise GraphValueError(
            f"abi ipopt: there is no nonlinear program among {names}", hint="make one with aotensor.nlp(x, f, g)"
        )
    made: list[Function] = []
    layers = []
    for program in programs:
        _check(program)
        chosen = {f.name for f in functions if f.program is program}
        values = {name: program.graphs[name] for name in ("f", "g")}
        point = _function(program, "point", values, "objective and constraints")
        values = {"grad_f": program.gradient, "jac_g": csm_data(program.jacobian)}
        slopes = _function(program, "slopes", values, "gradient of the objective, values of the Jacobian")
        made += [point, slopes]
        curvature = f"{program.name}_hess_l"
        has_curvature = curvature in chosen
        layers.append(
            Program(
                program.name,
                program.n,
                program.m,
                tuple(map(static_shape, program.p)),
                _coordinates(program.jac_g_pattern),
                _coordinates(program.hess_l_pattern) if has_curvature else ((), ()),
                point.name,
                slopes.name,
                curvature if has_curvature else None,
            )
        )
    return made, IpoptLayer(tuple(layers))


def _function(program: NLP, name: str, outputs: dict[str, Variable], doc: str) -> Function:
    x = program.graphs["x"]
    made = Function([x, *program.p], outputs, name=f"{program.name}_{name}", on_unused_input="ignore")
    made.doc = f"{doc} of the nonlinear program {program.name}, for Ipopt"
    return made


def _coordinates(pattern: StoredEntries) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(pattern.rows.tolist()), tuple(pattern.indices.tolist())


def _check(program: NLP) -> None:
    """Raises: as `for_ipopt`"""
    refuse_state("ipopt", program.label, [*program.f.state, *program.g.state], "make them parameters")
    if program.n == 0:
        raise GraphValueError(
            f"abi ipopt: x of {program.label} has 0 elements", lines=[x.describe() for x in program.x]
        )
    for what, x in (*(("x", x) for x in program.x), *(("p", x) for x in program.p)):
        if not is_static_float64(x):
            raise GraphTypeError(
                f"abi ipopt: {x} in {what} of {program.label} is {x.type}, not a dense float64 array of static shape",
                lines=[x.describe()],
                hint="Ipopt computes with double: give dtype='float64' and shape=(numbers)",
            )
