"""The scalar functions that the compiler defines itself, by name, and the IR functions built from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from xdsl.builder import Builder
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import UnitAttr, VectorType
from xdsl.ir import Attribute
from xdsl.rewriter import InsertPoint

from aotensor.core import dtypes
from aotensor.core.dtypes import DTYPES
from aotensor.errors import InternalError
from aotensor.ir.types import element_type, f64, i1, i64
from aotensor.ir.upstream import walk
from aotensor.passes.scalar_math import (
    bessel,
    beta,
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
from aotensor.passes.scalar_math.parametric import families
from aotensor.passes.scalar_math.value import FormulaBuilder, Value, where
from aotensor.passes.scalar_math.widening import Callees, widen


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """A function of floats of one dtype, which is one of `dtypes`.

    is_called: is it long, with loops and branches? Then it is called instead of inlined, and float32 uses the float64
    code.
    """

    formula: Callable[..., Value]
    operands: int = 1
    dtypes: tuple[str, ...] = dtypes.FLOATS
    is_called: bool = False


_ONE_OPERAND: Final[tuple[Callable[[Value], Value], ...]] = (
    exponential.exp, exponential.exp2, exponential.expm1, exponential.tanh, exponential.sigmoid,
    exponential.sigmoid_shared, exponential.logistic_density, exponential.tanh_half, exponential.tanh_shared,
    exponential.sech_squared, exponential.exp_shared, exponential.expm1_shared, exponential.gauss,
    exponential.half_gauss,
    logarithm.log, logarithm.log2, logarithm.log10, logarithm.log1p, logarithm.log1mexp, logarithm.softplus,
    power.cbrt, trigonometric.sin, trigonometric.cos, trigonometric.tan,
    inverse_trigonometric.arcsin, inverse_trigonometric.arccos, inverse_trigonometric.arctan,
    special.erf, special.erfc, gamma.gammaln, gamma.psi, gamma.tri_gamma,
    *(polygamma.function_of_order(order) for order in polygamma.ORDERS),
    bessel.i0, bessel.i1, bessel.j0, bessel.j1,
    hyperbolic.sinh, hyperbolic.cosh, hyperbolic.arcsinh, hyperbolic.arccosh, hyperbolic.arctanh,
)  # fmt: skip
_TWO_OPERANDS: Final[tuple[Callable[[Value, Value], Value], ...]] = (
    power.pow, inverse_trigonometric.arctan2, beta.betaln, beta.psi_growth, beta.tri_gamma_fall,
)  # fmt: skip

FUNCTIONS: Final[Mapping[str, ScalarFunction]] = {
    **{formula.__name__: ScalarFunction(formula) for formula in _ONE_OPERAND},
    **{formula.__name__: ScalarFunction(formula, operands=2) for formula in _TWO_OPERANDS},
    **{name: ScalarFunction(x.formula, x.operands, is_called=True) for name, x in families.FAMILIES.items()},
    "far_angle": ScalarFunction(trigonometric.far_angle, dtypes=("float64",)),  # called only by sin, cos and tan
}

LANE_FUNCTIONS: Final[Mapping[str, Sequence[Attribute]]] = {
    "aot.sixteenth_power.f64": [i64],
    "aot.rest_of_sixteenth_power.f64": [i64],
    "aot.scaled.f64": [f64, f64],
}
"""Functions to f64 that some machines have instructions for, defined in `codegen/calls/lanes.py` → their operand
types."""


RARE_FUNCTIONS: Final = ("aot.far_angle.f64",)
"""Functions for rare arguments: `codegen/calls/rare.py` defines them for vectors, with masks."""


def is_lane_function(symbol: str) -> bool:
    """Does a symbol name one of `LANE_FUNCTIONS`, for scalars or vectors?"""
    return split_symbol(symbol)[0] in LANE_FUNCTIONS


CALLED: Final = "aot.apart"
"""The attribute of a definition that is called instead of inlined."""
_DTYPES: Final = {DTYPES[dtype].ir: dtype for dtype in dtypes.FLOATS}


def define(symbol: str, has_tables: bool = False) -> func.FuncOp:
    """Build the private function `@aot.<name>.<f32|f64>` with its body, or `@aot.<name>.<f32|f64>.x<lanes>` on vectors.

    has_tables: does the machine have the functions of `LANE_FUNCTIONS`, which are then only declared?

    Raises: InternalError if there is no such function.
    """
    scalar, lanes = split_symbol(symbol)
    if scalar in RARE_FUNCTIONS and lanes is not None:
        wide = VectorType(f64, [lanes])
        return func.FuncOp.external(symbol, [wide, VectorType(i1, [lanes])], [wide])
    if lanes is not None:
        return widen(define(scalar, has_tables), symbol, lanes, CALLEES)
    if has_tables and scalar in LANE_FUNCTIONS:
        return func.FuncOp.external(symbol, LANE_FUNCTIONS[scalar], [f64])
    prefix, _, rest = symbol.partition(".")
    name, _, suffix = rest.rpartition(".")
    function, dtype = function_named(name), _DTYPES.get(suffix)
    if prefix != "aot" or function is None or dtype not in function.dtypes:
        raise InternalError(f"expand-math: there is no scalar function {symbol}")

    def of_float64(first: Value, *others: Value) -> Value:
        return first.cast("float64").call(name, *(x.cast("float64") for x in others)).cast(dtype)

    is_narrow = function.is_called and dtype != "float64"
    formula = of_float64 if is_narrow else function.formula
    op = _defined(symbol, formula, function.operands, dtype, has_tables)
    if function.is_called and not is_narrow:
        op.attributes[CALLED] = UnitAttr()
    return op


def _defined(
    symbol: str, formula: Callable[..., Value], operands: int, dtype: str, has_tables: bool = False
) -> func.FuncOp:
    """Build a private function of a formula."""
    kind = element_type(dtype)
    op = func.FuncOp(symbol, ([kind] * operands, [kind]), visibility="private")
    builder = FormulaBuilder(Builder(InsertPoint.at_end(op.body.block)), has_tables)
    result = formula(*(Value(argument, dtype, builder) for argument in op.body.block.args))
    builder.builder.insert(func.ReturnOp(result.ssa))
    return op


def define_length(symbol: str, most: int) -> func.FuncOp | None:
    """Build a function from 0 to below `most` that grows with the trip counts of a function of float64, if known."""
    name = symbol.removeprefix("aot.").rpartition(".")[0]
    function, length = function_named(name), families.length_of(name)
    if function is None or length is None:
        return None

    def scaled(*operands: Value) -> Value:
        found, largest = length(*operands), 1.0 - 0.5 / most
        return where(found < largest, where(found > 0.0, found, 0.0), largest) * float(most)

    return _defined(f"{symbol}.length", scaled, function.operands, "float64")


def function_named(name: str) -> ScalarFunction | None:
    """Look up a scalar function: a plain one, a member of a family, or `<name>_apart`; None if there is none."""
    plain = FUNCTIONS.get(name.removesuffix("_apart"))
    if plain is not None:
        return plain if name in FUNCTIONS else ScalarFunction(plain.formula, plain.operands, is_called=True)
    found = families.member(name)
    return None if found is None else ScalarFunction(*found, is_called=True)


def is_called(symbol: str) -> bool:
    """Is a function called instead of inlined?"""
    function = function_named(split_symbol(symbol)[0].removeprefix("aot.").rpartition(".")[0])
    return function is not None and function.is_called


@cache
def has_loops(symbol: str) -> bool:
    """Has a function loops, its own or of functions that it calls? Then its vector form has a mask as last operand."""
    if symbol in RARE_FUNCTIONS or symbol in LANE_FUNCTIONS:
        return False
    ops = list(walk(define(symbol)))
    called = {op.callee.root_reference.data for op in ops if isinstance(op, func.CallOp)}
    return any(isinstance(op, scf.WhileOp) for op in ops) or any(map(has_loops, called))


@cache
def is_straight(symbol: str) -> bool:
    """Is a function straight-line arithmetic, so that it also has a vector form?"""
    if is_called(symbol):
        return False
    return all(op.name.startswith(("arith.", "math.", "func.return")) for op in define(symbol).body.block.ops)


def vector_symbol(symbol: str, lanes: int) -> str:
    """The symbol of a function's vector form: `aot.exp.f64.x8`."""
    return f"{symbol}.x{lanes}"


def is_vector_symbol(symbol: str) -> bool:
    """Does a symbol name a vector form?"""
    return split_symbol(symbol)[1] is not None


OUTLINED: Final = ".outlined"


def outlined_symbol(symbol: str) -> str:
    """The symbol of the variant that is called instead of inlined: `aot.exp.f64.outlined`."""
    return f"{symbol}{OUTLINED}"


def split_symbol(symbol: str) -> tuple[str, int | None]:
    """Split a symbol into the name of the scalar function and the number of lanes, None for a scalar form."""
    scalar, _, count = symbol.rpartition(".x")
    return (scalar, int(count)) if scalar and count.isdigit() else (symbol, None)


CALLEES: Final = Callees(
    vector_symbol, lambda symbol: symbol in RARE_FUNCTIONS or has_loops(symbol), lambda symbol: symbol in RARE_FUNCTIONS
)
"""How vector forms call the functions of this module."""
