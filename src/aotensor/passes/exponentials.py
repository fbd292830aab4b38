"""The math library function of each operation, and families of functions that share one exponential."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import func, math
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Operation

from aotensor.core.dtypes import DTYPES
from aotensor.ir.types import DTYPE_OF_FLOAT, lane_type
from aotensor.passes.scalar_math.table import is_vector_symbol, vector_symbol

# operations of the math dialect that LLVM has no instruction for; the others stay
EXPANDED: Final[dict[type[Operation], str]] = {
    math.ExpOp: "exp", math.Exp2Op: "exp2", math.ExpM1Op: "expm1",
    math.LogOp: "log", math.Log2Op: "log2", math.Log10Op: "log10", math.Log1pOp: "log1p",
    math.CbrtOp: "cbrt", math.PowFOp: "pow",
    math.SinOp: "sin", math.CosOp: "cos", math.TanOp: "tan",
    math.AsinOp: "arcsin", math.AcosOp: "arccos", math.AtanOp: "arctan", math.Atan2Op: "arctan2",
    math.SinhOp: "sinh", math.CoshOp: "cosh", math.TanhOp: "tanh",
    math.AsinhOp: "arcsinh", math.AcoshOp: "arccosh", math.AtanhOp: "arctanh",
    math.ErfOp: "erf",
}  # fmt: skip
PREFIX: Final = "aot."


@dataclass(frozen=True)
class Family:
    """Functions that can be computed from one exponential.

    members: names of the functions. replaced: names of functions with a variant `<name>_shared` that uses the
    exponential. is_even: is it an exponential of |x|, so that f(x) and g(−x) share it too?
    """

    members: frozenset[str]
    replaced: frozenset[str]
    is_even: bool


_FAMILIES: Final = (
    Family(frozenset({"softplus", "sigmoid", "logistic_density", "tanh_half"}), frozenset({"sigmoid"}), is_even=True),
    Family(frozenset({"tanh", "sech_squared"}), frozenset({"tanh"}), is_even=True),
    Family(frozenset({"exp", "expm1"}), frozenset({"exp", "expm1"}), is_even=False),
)
_FAMILY_OF: Final = {name: family for family in _FAMILIES for name in family.members}


def function_of(op: Operation) -> str | None:
    """The function `@aot.*` that an operation calls, or will call once expanded; None if there is none."""
    if isinstance(op, func.CallOp):
        symbol = op.callee.root_reference.data
        return symbol if symbol.startswith(PREFIX) else None
    name = EXPANDED.get(type(op))
    if name is None:
        return None
    kind = op.results[0].type
    element = lane_type(kind)
    scalar = f"{PREFIX}{name}.{DTYPES[DTYPE_OF_FLOAT[element]].ir}"
    return vector_symbol(scalar, kind.get_shape()[0]) if isinstance(kind, VectorType) else scalar


def family_of(op: Operation) -> Iterator[tuple[Family, str]]:
    """Yield the family of the function that an operation calls, and its name there; nothing without a family."""
    symbol = function_of(op)
    if symbol is not None and not is_vector_symbol(symbol):
        name = symbol.removeprefix(PREFIX).rpartition(".")[0]
        if name in _FAMILY_OF:
            yield _FAMILY_OF[name], name
