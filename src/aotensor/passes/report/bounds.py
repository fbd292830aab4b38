"""Libraries without allocation: check that their functions need no heap, and give the bound of their workspace."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from aotensor.errors import UnsupportedError
from aotensor.graph.op import Apply
from aotensor.graph.passes.remarks import Note
from aotensor.ir.location import Locations, is_located
from aotensor.ir.upstream import walk
from aotensor.ops.scan.op import Scan
from aotensor.passes.formulas import slice_of
from aotensor.passes.remark_texts import render_remarks

if TYPE_CHECKING:
    from aotensor.graph.variable import Variable

_FIXED_STEPS: Final = (
    "a scan with a number of steps that is a constant or an extent, instead of an argument, or until with all rows read"
)


def refuse_heap(
    module: ModuleOp,
    sites: Locations,
    names: Mapping[str, Mapping[Variable, str]],
    reason: str = "but the library is to allocate none",
    remedy: str = "leave out --no-malloc (malloc=False)",
) -> None:
    """Check that no function of a loop-level module allocates.   names: function → its arguments

    reason: why an allocation is an error. remedy: the option that the user can leave out instead.

    Raises: UnsupportedError that names the first operation that needs memory outside the workspace, and its line.
    """
    for op in walk(module):
        if isinstance(op, memref.AllocOp):
            function = _function_of(op).partition(".")[0]
            location = op.location if is_located(op) else next(
                (use.operation.location for use in op.memref.uses if is_located(use.operation)), op.location
            )  # fmt: skip
            note = Note("plan-memory", "missed", function, "{}", (location,))
            (remark,) = render_remarks([note], sites, names)
            where = f" at {remark.file}:{remark.line}" if remark.line else ""
            node = sites.node(location)
            if node is not None and _has_steps(node):
                raise UnsupportedError(
                    f"{function}: {remark.message}{where} needs memory for values of each step of a loop, and "
                    f"the number of steps depends on values, {reason}",
                    hint=f"{_FIXED_STEPS}; or {remedy}",
                )
            raise UnsupportedError(
                f"{function}: {remark.message}{where} needs memory whose size depends on values, {reason}",
                hint="extents that follow from those of the inputs, such as where(mask, x, 0) instead of x[mask]; "
                f"or {remedy}",
            )


def _has_steps(node: Apply) -> bool:
    """Is a node a loop, or does it read what a loop stores?"""
    return any(isinstance(one.op, Scan) for one in (node, *(x.owner for x in node.inputs if x.owner is not None)))


def _function_of(op: Operation) -> str:
    parent: Operation | None = op
    while parent is not None and not isinstance(parent, func.FuncOp):
        parent = parent.parent_op()
    return parent.sym_name.data if parent is not None else ""


# --- the size of the workspace ---------------------------------------------------------------------------------------


def workspace_bound(module: ModuleOp, function: str, dims: Sequence[str], extra: int) -> int | str | None:
    """The bytes of workspace of a function, as a number or a Python expression of its dims.

    None if the expression is too long, or contains operations that this syntax does not cover, such as a remainder's
    sign.

    module: a module at loop level. extra: bytes to add if the kernel needs a workspace.
    """
    found = _workspace_function(module, function)
    last = found.body.block.last_op
    assert isinstance(last, func.ReturnOp)
    size = _formula(last.arguments[0], dict(zip(found.body.block.args, dims, strict=True)))
    if size is None or isinstance(size, int):
        return size + extra if size else size
    return text if len(text := f"{size} + {extra}") <= _LONGEST else None


def _workspace_function(module: ModuleOp, function: str) -> func.FuncOp:
    symbol = f"{function}.workspace_bytes"
    return next(op for op in module.body.block.ops if isinstance(op, func.FuncOp) and op.sym_name.data == symbol)


def workspace_at(module: ModuleOp, function: str, sizes: Mapping[str, int], extra: int) -> int:
    """The bytes of workspace of a function for given extents of its dims.

    module, extra: as for `workspace_bound`. sizes: dim → extent.

    Raises: KeyError with the name of a dim that has no size
    """
    found = _workspace_function(module, function)
    values: dict[SSAValue, Any] = {}
    for argument in found.body.block.args:
        if any(True for _ in argument.uses):
            values[argument] = sizes[str(argument.name_hint)]
    run = {**{name: compute for name, (_, compute) in _OPERATORS.items()}, **_NUMBERS}
    for op in found.body.block.ops:
        if isinstance(op, func.ReturnOp):
            break
        operands = [values[x] for x in op.operands]
        match op:
            case arith.ConstantOp():
                values[op.result] = op.value.value.data  # type: ignore[union-attr]
            case arith.CmpiOp():
                values[op.result] = _COMPARE[_COMPARISONS[op.predicate.value.data]](*operands)
            case arith.CmpfOp():  # no overflow
                values[op.result] = True
            case _:
                values[op.results[0]] = run[op.name](*operands)
    size = int(values[op.operands[0]])
    return size + extra if size else size


_LONGEST: Final = 1000
"""Maximum length of a formula in characters, as in the schema of manifests."""
_Size: TypeAlias = "int | str"
_OPERATORS: Final[Mapping[str, tuple[str, Callable[[int, int], int]]]] = {
    "arith.addi": ("+", operator.add),
    "arith.subi": ("-", operator.sub),
    "arith.muli": ("*", operator.mul),
    "arith.divsi": ("//", operator.floordiv),
    "arith.divui": ("//", operator.floordiv),
    "arith.floordivsi": ("//", operator.floordiv),
    "arith.maxsi": ("max", max),
    "arith.minsi": ("min", min),
}
_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_NUMBERS: Final[Mapping[str, Callable[..., Any]]] = {
    "arith.addf": operator.add,
    "arith.mulf": operator.mul,
    "arith.sitofp": float,
    "arith.uitofp": float,
    "arith.index_cast": int,
    "arith.extui": int,
    "arith.extsi": int,
    "arith.trunci": int,
    "arith.xori": operator.xor,
    "arith.ceildivsi": lambda x, y: -(-x // y),
    "arith.remsi": lambda x, y: x % y,
    "arith.remui": lambda x, y: x % y,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.select": lambda condition, x, y: x if condition else y,
}
"""Further operations of sizes, on numbers that are not negative."""
_COMPARISONS: Final = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")


def _formula(value: SSAValue, names: Mapping[SSAValue, str]) -> _Size | None:
    """The formula of an index value in Python syntax, with constants folded. None if it cannot be expressed."""
    sizes: dict[SSAValue, _Size] = dict(names)
    for op in slice_of([value]):
        found = _expression(op, [sizes.get(x) for x in op.operands])
        if found is not None:
            sizes[op.results[0]] = found
    size = sizes.get(value)
    return _bare(size) if isinstance(size, str) else size


def _expression(op: Operation, operands: Sequence[_Size | None]) -> _Size | None:
    """The formula of one operation; None for floating-point ones, which only check that the size fits 63 bits."""
    match op, operands:
        case arith.ConstantOp(value=IntegerAttr(value=number)), _:
            return number.data
        case arith.IndexCastOp(), [x]:
            return x
        case arith.SelectOp(), [None, x, _]:
            return x
        case arith.SelectOp(), [condition, x, y]:
            return f"({x} if {condition} else {y})"
        case arith.CmpiOp(), [x, y] if x is not None:
            return f"{x} {_COMPARISONS[op.predicate.value.data]} {y}"
        case _, [x, y] if op.name in _OPERATORS and x is not None and y is not None:
            return _fold_symbol(*_OPERATORS[op.name], x, y)
    return None


def _fold_symbol(symbol: str, compute: Callable[[int, int], int], x: _Size, y: _Size) -> _Size:
    if isinstance(x, int) and isinstance(y, int):
        return compute(x, y)
    if symbol.isalpha():
        return f"{symbol}({x}, {y})"
    if (y, symbol) in ((0, "+"), (0, "-"), (1, "*"), (1, "//")):
        return x
    return y if (x, symbol) in ((0, "+"), (1, "*")) else f"({x} {symbol} {y})"


def _bare(text: str) -> str:
    """The text of a formula without parentheses that enclose all of it."""
    depths = list(accumulate({"(": 1, ")": -1}.get(character, 0) for character in text))
    return text[1:-1] if text.startswith("(") and min(depths[:-1], default=0) > 0 else text
