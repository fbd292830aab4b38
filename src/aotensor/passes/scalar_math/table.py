"""The scalar functions that have a body of our own, by name, and the functions of IR made from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.rewriter import InsertPoint

from aotensor.core import dtypes
from aotensor.errors import InternalError
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import element_type
from aotensor.passes.scalar_math import (
    exponential,
    gamma,
    hyperbolic,
    inverse_trigonometric,
    logarithm,
    polygamma,
    power,
    special,
    trigonometric,
)
from aotensor.passes.scalar_math.value import FormulaBuilder, Value


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """A function of one or two floats of one dtype, which is one of `dtypes`."""

    formula: Callable[..., Value]
    operands: int = 1
    dtypes: tuple[str, ...] = dtypes.FLOATS


_ONE_OPERAND: Final[tuple[Callable[[Value], Value], ...]] = (
    exponential.exp, exponential.exp2, exponential.expm1, exponential.tanh, exponential.sigmoid,
    logarithm.log, logarithm.log2, logarithm.log10, logarithm.log1p, logarithm.log1mexp, logarithm.softplus,
    power.cbrt, trigonometric.sin, trigonometric.cos, trigonometric.tan,
    inverse_trigonometric.arcsin, inverse_trigonometric.arccos, inverse_trigonometric.arctan,
    special.erf, special.erfc, gamma.gammaln, gamma.psi, gamma.tri_gamma,
    *(polygamma.function_of_order(order) for order in polygamma.ORDERS),
    hyperbolic.sinh, hyperbolic.cosh, hyperbolic.arcsinh, hyperbolic.arccosh, hyperbolic.arctanh,
)  # fmt: skip
_TWO_OPERANDS: Final[tuple[Callable[[Value, Value], Value], ...]] = (power.pow, inverse_trigonometric.arctan2)

FUNCTIONS: Final[Mapping[str, ScalarFunction]] = {
    **{formula.__name__: ScalarFunction(formula) for formula in _ONE_OPERAND},
    **{formula.__name__: ScalarFunction(formula, operands=2) for formula in _TWO_OPERANDS},
    "far_angle": ScalarFunction(trigonometric.far_angle, dtypes=("float64",)),  # called by sin, cos and tan alone
}

_DTYPES: Final = {"f32": "float32", "f64": "float64"}


def define(symbol: str) -> func.FuncOp:
    """The private function `@aot.<name>.<f32|f64>` with its body.

    Raises: InternalError if there is no such function.
    """
    prefix, _, rest = symbol.partition(".")
    name, _, suffix = rest.rpartition(".")
    function, dtype = FUNCTIONS.get(name), _DTYPES.get(suffix)
    if prefix != "aot" or function is None or dtype not in function.dtypes:
        raise InternalError(f"expand-math: there is no scalar function {symbol}")
    kind = element_type(dtype)
    op = func.FuncOp(symbol, ([kind] * function.operands, [kind]), visibility="private")
    builder = FormulaBuilder(Builder(InsertPoint.at_end(op.body.block)))
    result = function.formula(*(Value(builder, Scalar(argument, dtype)) for argument in op.body.block.args))
    builder.builder.insert(func.ReturnOp(result.scalar.ssa))
    return op
