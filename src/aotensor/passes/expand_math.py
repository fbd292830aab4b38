"""Expand every elementary and special function to a body of straight-line arithmetic.

%y = math.exp %x : f64     →    %y = func.call @aot.exp.f64(%x) : (f64) -> f64
                                ...
                                func.func private @aot.exp.f64(%x: f64) -> f64 { arith ops only }
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects import arith, func, memref, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from aotensor.core.dtypes import DTYPES
from aotensor.ir.types import DTYPE_OF_FLOAT
from aotensor.ir.upstream import walk
from aotensor.passes.exponentials import EXPANDED, PREFIX, Family, family_of, function_of
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied
from aotensor.passes.scalar_math.table import RARE_FUNCTIONS, define, split_symbol
from aotensor.passes.target import Target

_PLAIN: Final = Target()


@ir_pass("expand-math", level="loops", topic="arithmetic", needed="it gives elementary functions their bodies")
def expand_math(module: ModuleOp, target: Target = _PLAIN) -> None:
    """Replaces each elementary function by a call of a straight-line function at the end of the module; LLVM
    inlines it and vectorizes the loop. Functions with parameters (`gammainc`, `jv`, …) have loops and branches
    (`scf`) and are called (`aot.apart`). Sigmoid shares softplus's exponential of the same number. Exponentials of
    float64 use a table in registers where the target has one.

    Definitions are appended to the module, in order of their first call. A declaration is replaced by its definition,
    or erased if no call is left: earlier passes drop values whose extents alone are used. sqrt, floor, ceil, trunc,
    roundeven, absf, copysign and fma are not expanded.

    Raises: InternalError if a called function is missing in the library.
    """
    _share_exponentials(module)
    for op in list(walk(module)):
        if type(op) in EXPANDED and (symbol := function_of(op)) is not None:
            _replace(op, symbol)
    declared = {op.sym_name.data for op in _functions(module) if not op.body.blocks}
    wanted = add_definitions(module, _called_functions(module), target)
    for op in _functions(module):
        if op.sym_name.data in declared - set(wanted) and op.sym_name.data.startswith(PREFIX):
            Rewriter.erase_op(op)


def add_definitions(module: ModuleOp, symbols: Sequence[str], target: Target) -> list[str]:
    """Append missing definitions of `@aot.*` functions and their callees to a module; return all their names.

    Raises: InternalError if there is no function with a given symbol.
    """
    present = {op.sym_name.data: op for op in _functions(module)}
    wanted = list(symbols)
    for symbol in wanted:  # grows: a definition may call further functions
        if symbol not in present or not present[symbol].body.blocks:
            if symbol in present:
                Rewriter.erase_op(present[symbol])
            present[symbol] = define(symbol, target.has_tables)
            module.body.block.add_op(present[symbol])
            scalar = split_symbol(symbol)[0]
            called = [*([scalar] if scalar in RARE_FUNCTIONS else []), *_called_functions(present[symbol])]
            wanted += [callee for callee in called if callee not in wanted]
    return wanted


def _replace(op: Operation, symbol: str) -> None:
    """Replace an operation by a call at the same source location."""
    call = func.CallOp(symbol, op.operands, [op.results[0].type])
    call.location = op.location
    Rewriter.replace_op(op, call)


def _functions(module: ModuleOp) -> list[func.FuncOp]:
    return [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]


def _share_exponentials(module: ModuleOp) -> None:
    """Let functions of equal arguments in one block use a common exponential.

    LLVM merges the equal exponentials after inlining. A function without a partner is faster in its own form.
    """
    found = [(op, family, name, *_argument(op, family)) for op in walk(module) for family, name in family_of(op)]
    beside: dict[object, set[tuple[str, bool]]] = {}
    for _, _, name, argument, is_negated in found:
        beside.setdefault(argument, set()).add((name, is_negated))
    for op, family, name, argument, _ in found:
        if name in family.replaced and len(others := beside[argument]) > 1:
            names = " and ".join(sorted({other for other, _ in others}))
            applied("{} of {} share one exponential", names, op)
            kind = DTYPES[DTYPE_OF_FLOAT[op.results[0].type]].ir
            _replace(op, f"{PREFIX}{name}_shared.{kind}")


def _argument(op: Operation, family: Family) -> tuple[object, bool]:
    """A key that is equal for functions of one family with the same argument, and whether that is negated."""
    argument = _read(op.operands[0])
    if family.is_even and isinstance(argument, tuple) and argument[0] == arith.NegfOp.name:
        return (op.parent, family, argument[1]), True
    return (op.parent, family, argument), False


def _read(x: SSAValue) -> object:
    """A key of an operand: equal for repeated loads of one element; the value itself if it is computed."""
    match x.owner:
        case memref.LoadOp() | vector.LoadOp() | vector.MaskedLoadOp():
            return x.owner.name, *x.owner.operands
        case arith.NegfOp():
            return x.owner.name, _read(x.owner.operand)
        case _:
            return x


def _called_functions(root: Operation) -> list[str]:
    """The called symbols that begin with `aot.`, each once, in order of their first call."""
    called = (op.callee.root_reference.data for op in walk(root) if type(op) is func.CallOp)
    return list(dict.fromkeys(symbol for symbol in called if symbol.startswith(PREFIX)))
