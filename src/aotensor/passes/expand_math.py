"""Give every elementary and special function a body of straight-line arithmetic.

%y = math.exp %x : f64     →    %y = func.call @aot.exp.f64(%x) : (f64) -> f64
                                ...
                                func.func private @aot.exp.f64(%x: f64) -> f64 { arith ops only }
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects import arith, func, math, memref, vector
from xdsl.dialects.builtin import ModuleOp, VectorType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from aotensor.core.dtypes import DTYPES
from aotensor.ir.types import DTYPE_OF_FLOAT
from aotensor.ir.upstream import walk
from aotensor.passes.remarks import applied
from aotensor.passes.scalar_math.table import define, vector_symbol
from aotensor.passes.target import Target

# operations of the math dialect that LLVM has no instruction for; the others stay
_EXPANDED: Final[dict[type[Operation], str]] = {
    math.ExpOp: "exp", math.Exp2Op: "exp2", math.ExpM1Op: "expm1",
    math.LogOp: "log", math.Log2Op: "log2", math.Log10Op: "log10", math.Log1pOp: "log1p",
    math.CbrtOp: "cbrt", math.PowFOp: "pow",
    math.SinOp: "sin", math.CosOp: "cos", math.TanOp: "tan",
    math.AsinOp: "arcsin", math.AcosOp: "arccos", math.AtanOp: "arctan", math.Atan2Op: "arctan2",
    math.SinhOp: "sinh", math.CoshOp: "cosh", math.TanhOp: "tanh",
    math.AsinhOp: "arcsinh", math.AcoshOp: "arccosh", math.AtanhOp: "arctanh",
    math.ErfOp: "erf",
}  # fmt: skip
_PREFIX: Final = "aot."
_PLAIN: Final = Target()


def function_of(op: Operation) -> str | None:
    """The function `@aot.*` that an operation calls, or will call when it is expanded; None if there is none."""
    if isinstance(op, func.CallOp):
        symbol = op.callee.root_reference.data
        return symbol if symbol.startswith(_PREFIX) else None
    name = _EXPANDED.get(type(op))
    if name is None:
        return None
    kind = op.results[0].type
    element = kind.element_type if isinstance(kind, VectorType) else kind
    scalar = f"{_PREFIX}{name}.{DTYPES[DTYPE_OF_FLOAT[element]].ir}"
    return vector_symbol(scalar, kind.get_shape()[0]) if isinstance(kind, VectorType) else scalar


def expand_math(module: ModuleOp, target: Target = _PLAIN) -> None:
    """Replace math operations by calls of `@aot.*` functions, and define all of those that are called.

    The definitions stand at the end of the module, in order of their first call. A declaration gives way to its
    definition, or goes if no call is left: earlier passes drop values of which only the extents are used. sqrt, floor,
    ceil, trunc, roundeven, absf, copysign and fma stay what they are.

    Raises: InternalError if a function is called that the library does not have.
    """
    _share_exponentials(module)
    for op in list(walk(module)):
        if type(op) in _EXPANDED and (symbol := function_of(op)) is not None:
            Rewriter.replace_op(op, func.CallOp(symbol, op.operands, [op.results[0].type]))
    present = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)}
    defined = {symbol for symbol, op in present.items() if op.body.blocks}
    wanted = _called_functions(module)
    for symbol in wanted:  # grows: a definition may call further functions
        if symbol not in defined:
            if symbol in present:
                Rewriter.erase_op(present[symbol])
            definition = define(symbol, target.has_tables)
            module.body.block.add_op(definition)
            wanted += [callee for callee in _called_functions(definition) if callee not in wanted]
    for symbol in present.keys() - defined - set(wanted):
        if symbol.startswith(_PREFIX):
            Rewriter.erase_op(present[symbol])


def _share_exponentials(module: ModuleOp) -> None:
    """Where softplus and sigmoid of one number stand side by side, let both be made of its one exponential.

    LLVM sees that they are equal, once the functions are inlined. Alone, the sigmoid is faster with one of its own.
    """
    calls = [op for op in walk(module) if type(op) is func.CallOp]
    named = [(op, op.callee.root_reference.data.removeprefix(_PREFIX)) for op in calls]
    beside = {(op.parent, _read(op.arguments[0])) for op, name in named if name.startswith("softplus.")}
    for op, name in named:
        if name.startswith("sigmoid.") and (op.parent, _read(op.arguments[0])) in beside:
            applied("softplus and sigmoid of {} share one exponential", op)
            symbol = f"{_PREFIX}sigmoid_shared.{name.removeprefix('sigmoid.')}"
            Rewriter.replace_op(op, func.CallOp(symbol, op.arguments, [op.results[0].type]))


def _read(x: SSAValue) -> object:
    """What a number is read from, as each statement reads it anew; the number itself if it is computed."""
    match x.owner:
        case memref.LoadOp() | vector.LoadOp() | vector.MaskedLoadOp():
            return x.owner.name, *x.owner.operands
        case arith.NegfOp():
            return x.owner.name, _read(x.owner.operand)
        case _:
            return x


def _called_functions(root: Operation) -> list[str]:
    """Symbols that begin with `aot.`, each once, in order of their first call."""
    called = (op.callee.root_reference.data for op in walk(root) if type(op) is func.CallOp)
    return list(dict.fromkeys(symbol for symbol in called if symbol.startswith(_PREFIX)))
