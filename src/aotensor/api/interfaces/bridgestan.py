"""BridgeStan: derive the functions of a log density that its symbols call."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

import numpy as np

from aotensor.api.function import Function
from aotensor.api.interfaces.checks import refuse_state
from aotensor.api.interfaces.derivatives import second_derivatives
from aotensor.codegen.abi.bridgestan import READABLE, DensityModel, ReadValue
from aotensor.core.types import TensorType
from aotensor.densities.density import Density, concatenate_vectors, density_of, raveled
from aotensor.driver.common import package_version
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.gradient import grad
from aotensor.graph.variable import Variable
from aotensor.ops.symbols import vector

_HINT: Final = (
    'aot.function([x], logp, parameters={"mu": aot.Parameter()}), or logp of aotensor.importers.pymc.logp_functions'
)


def for_bridgestan(functions: Sequence[Function], library: str) -> tuple[list[Function], DensityModel]:
    """Derive log density, gradient, Hessian, Hessian-vector product, and both transforms of the parameters.

    Raises: GraphValueError unless exactly one function has parameters; GraphTypeError for data that JSON cannot hold;
    what differentiating raises.
    """
    found = [f for f in functions if f.density is not None or f.parameters]
    if len(found) != 1:
        names = ", ".join(f.name for f in found) or "none"
        raise GraphValueError(f"abi bridgestan: expected one log density with parameters, found {names}", hint=_HINT)
    f = found[0]
    refuse_state("bridgestan", f.name, f.state, "make them inputs, as data")
    density = f.density() if f.density is not None else _function_density(f)
    data = [_data_value(f.name, name, x, density) for name, x in density.data.items()]
    roles = _functions(f.name, density)
    starts = [0, *accumulate(part.free for part in density.parts)]
    firsts = [0, *accumulate(part.size for part in density.parts)]
    parameters = [
        ReadValue(part.name, "float64", part.shape, first=first, start=start, count=part.free)
        for part, first, start in zip(density.parts, firsts, starts, strict=False)
    ]
    model = DensityModel(
        library,
        _about(),
        tuple(data),
        tuple(parameters),
        tuple(label for part in density.parts for label in part.labels),
        tuple(density.transformed_labels),
        tuple(label for part in density.parts for label in part.free_labels),
        {role: made.name for role, made in roles.items()},
    )
    return list(roles.values()), model


def _function_density(f: Function) -> Density:
    if f.output_kind != "single":
        raise GraphValueError(
            f"abi bridgestan: {f.name} has {len(f.results)} outputs", hint="give the log density as the only output"
        )
    (value,) = f.results.values()
    return density_of(f.name, f.arguments, value, f.parameters)


def _data_value(name: str, key: str, x: Variable, density: Density) -> ReadValue:
    kind = x.type
    if not isinstance(kind, TensorType) or x.is_sparse or kind.dtype not in READABLE:
        raise GraphTypeError(
            f"abi bridgestan: {key} of {name} is {kind}, which cannot be read from JSON data",
            hint=f"data are dense arrays of {', '.join(READABLE)}",
        )
    shape = tuple(n if isinstance(n, int) else None for n in kind.shape)
    value = density.defaults.get(key)
    if value is None:
        return ReadValue(key, kind.dtype, shape)
    array = np.ascontiguousarray(value, dtype=kind.dtype)
    return ReadValue(key, kind.dtype, shape, (array.shape, array.tobytes()))


def _functions(name: str, density: Density) -> dict[str, Function]:
    q, jacobian, value = density.q, density.jacobian, density.value
    data = list(density.data.values())
    first = grad(value, q, disconnected_inputs="ignore")
    v = vector("v", dtype="float64", shape=q.type.shape)
    second = second_derivatives(value, first, q, v)
    theta = concatenate_vectors([raveled(x) for x in density.constrained])
    transformed = concatenate_vectors([raveled(x) for x in density.transformed.values()])

    def made(role: str, inputs: Sequence[Variable], outputs: dict[str, Variable], doc: str) -> Function:
        f = Function(inputs, outputs, name=f"{name}_{role}", on_unused_input="ignore")
        f.doc = doc
        return f

    found = {
        "log_density": made("log_density", [q, jacobian, *data], {"lp": value}, "log density"),
        "gradient": made("gradient", [q, jacobian, *data], {"lp": value, "grad": first}, "log density and gradient"),
    }
    if second is not None:
        hessian, product = second
        outputs = {"lp": value, "grad": first, "hessian": hessian}
        found["hessian"] = made("hessian", [q, jacobian, *data], outputs, "log density, gradient and Hessian")
        outputs = {"lp": value, "hvp": product}
        found["product"] = made("hvp", [q, v, jacobian, *data], outputs, "log density, and its Hessian times v")
    outputs = {"theta": theta, "transformed": transformed}
    found["constrain"] = made("constrained", [q, *data], outputs, "parameters, and values computed from them")
    outputs = {"theta_unc": density.unconstrained}
    found["unconstrain"] = made("unconstrained", [density.theta, *data], outputs, "the unconstrained vector")
    return found


def _about() -> str:
    """The model info that BridgeStan's clients read: thread-safe, with exact second derivatives."""
    return (
        f"BridgeStan version: {DensityModel.version}\naotensor version: {package_version()}\n"
        "Stan C++ Defines:\n\tSTAN_THREADS=true\n\tSTAN_MPI=false\n\tSTAN_OPENCL=false\n"
        "\tSTAN_NO_RANGE_CHECKS=false\n\tBRIDGESTAN_AD_HESSIAN=true\n"
    )
