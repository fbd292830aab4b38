"""FMI 3.0: one function, the model, with its directional (forward) and adjoint derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from aotensor.api.function import Function
from aotensor.api.interfaces.checks import refuse_state
from aotensor.api.interfaces.dependencies import dependencies
from aotensor.api.interfaces.derivatives import NO_DERIVATIVE
from aotensor.codegen.abi.fmi.layer import FmiLayer
from aotensor.codegen.abi.fmi.variables import TYPES
from aotensor.core.types import TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient import Lop, Rop
from aotensor.graph.variable import Variable
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.symbols import tensor

_FLOATS = ("float64", "float32")


def for_fmi(functions: Sequence[Function], library: str) -> tuple[list[Function], FmiLayer]:
    """The derivatives of the only function: seeds and sensitivities are float64, of variables that are floats.

    Raises: GraphValueError for several functions or shared variables, GraphTypeError for variables that FMI does not
    have
    """
    if len(functions) != 1:
        names = ", ".join(f.name for f in functions)
        raise GraphValueError(f"abi fmi: an FMU contains one model, found {names}", hint="compile each function alone")
    (f,) = functions
    refuse_state("fmi", f.name, f.state)
    if not f.results:
        raise GraphValueError(f"abi fmi: {f.name} has no outputs", hint="return the values that an importer reads")
    for key, x in (*f.arguments.items(), *f.results.items()):
        _check(f.name, key, x)
    made: list[Function] = []
    for make in (_forward, _adjoint):
        with suppress(*NO_DERIVATIVE):
            made += make(f)
    tunable = [one.data for one in f.declared.values()]
    found = dependencies([*f.results.values()], [*f.arguments.values()], tunable)
    return made, FmiLayer(f.name, tuple(one.start for one in f.declared.values()), tuple(found))


def _check(function: str, key: str, x: Variable) -> None:
    """Raises: GraphTypeError"""
    where = f"abi fmi: {key} of {function} is {x.type}"
    if not isinstance(x.type, TensorType) or x.is_sparse:
        raise GraphTypeError(f"{where}, and variables of FMI are dense", hint="give its entries as a vector")
    if x.type.dtype not in TYPES:
        raise GraphTypeError(f"{where}, and FMI has no {x.type.dtype}", hint=f"cast it to one of {', '.join(TYPES)}")
    if None in x.static_shape:
        raise GraphTypeError(
            f"{where}, and variables of FMI have a static shape",
            hint=f"give the extents of the inputs as numbers: at.vector({key!r}, shape=(3,))",
        )
    if not key.isprintable():
        raise GraphTypeError(
            f"abi fmi: {f'{key!a}':.60} of {function} is not a name of FMI", hint="give it another name"
        )
    if 0 in x.static_shape:
        raise GraphTypeError(f"{where}, and variables of FMI must have at least one element", hint="leave it out")


def _floats(values: Sequence[Variable]) -> list[Variable]:
    return [x for x in values if x.type.dtype in _FLOATS]


def _seeds(f: Function, values: Sequence[Variable]) -> list[Variable]:
    """A float64 input for each value, as its seed."""
    taken = {*f.arguments}
    return [tensor(_free(f"seed_{k}", taken), dtype="float64", shape=[*x.static_shape]) for k, x in enumerate(values)]


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _forward(f: Function) -> list[Function]:
    """The function that computes J v, for all floating-point inputs and outputs."""
    xs, ys = _floats([*f.arguments.values()]), _floats([*f.results.values()])
    if not xs or not ys:
        return []
    seeds = _seeds(f, xs)
    tangents = [cast(v, x.type.dtype) for x, v in zip(xs, seeds, strict=True)]
    found = Rop(ys, xs, tangents, disconnected_outputs="ignore")
    return [_seeded_function(f, "forward", seeds, found, "derivatives along seeds of the inputs")]


def _adjoint(f: Function) -> list[Function]:
    """The function that computes Jᵀ w, for all floating-point inputs and outputs."""
    xs, ys = _floats([*f.arguments.values()]), _floats([*f.results.values()])
    if not xs or not ys:
        return []
    seeds = _seeds(f, ys)
    cotangents = [cast(w, y.type.dtype) for y, w in zip(ys, seeds, strict=True)]
    found = Lop(ys, xs, cotangents, disconnected_inputs="ignore")
    return [_seeded_function(f, "adjoint", seeds, found, "derivatives of the outputs weighted with seeds")]


def _seeded_function(
    f: Function, role: str, seeds: Sequence[Variable], found: Sequence[Variable], doc: str
) -> Function:
    outputs = {f"out_{k}": cast(x, "float64") for k, x in enumerate(found)}
    made = Function([*f.arguments.values(), *seeds], outputs, name=f"{f.name}_{role}", on_unused_input="ignore")
    made.doc = f"{doc}, of {f.name} for FMI"
    return made
