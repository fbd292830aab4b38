"""Reuse results of `@f.extents` in the function, instead of computing them again.

    @f.extents   %t = aot.pattern product_count %a, %b          %t = aot.pattern product_count %a, %b {nest.kept = [0]}
                 … return %t[%n]                          →     … return %t[%n]
    @f           %t = aot.pattern product_count %a, %b          %t = aot.pattern product_count %a, %b {nest.kept = [0]}

An extent that depends on values, such as the number of entries of a sparse product, costs about as much as the result.
An operation's results are kept if it reads only arguments and other kept values, and nothing in `@f.extents` overwrites
their memory; also results that only the function uses, such as the indices of a pattern whose entries are counted:
computing both at once is less work than one after the other. `emit-loops` puts them into memory that both functions
receive.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, TensorType
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue, Use

from aotensor.ir.context import functions_of
from aotensor.ir.dialect import LinesOp
from aotensor.ir.dialect_sparse import NonzeroOp, PatternOp
from aotensor.ir.forms import NEST_FORM
from aotensor.ir.nest.ops import STORAGE, DoOp, OverAttr
from aotensor.passes.emit.shape_cache import CACHED, set_kept
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied

_COSTLY = (PatternOp, NonzeroOp, LinesOp)
"""Operations that become loops over all elements of an operand."""
_NOT_COMPARED = {CACHED, STORAGE, "nest.cores"}
"""Attributes that are ignored in comparisons: they say how an operation runs."""


@ir_pass("reuse-shape-results", level="loops", topic="memory", former="hand-over", needs=NEST_FORM, gives=NEST_FORM)
def reuse_shape_results(module: ModuleOp) -> None:
    """Keeps values that `.extents` computes from arguments alone for the kernel (the number of entries of a sparse
    product), instead of computing them twice.
    """
    functions = {op.sym_name.data: op for op in functions_of(module)}
    for name, function in functions.items():
        extents = functions.get(f"{name}.extents")
        if extents is not None:
            _pair(function, extents)


def _pair(function: func.FuncOp, extents: func.FuncOp) -> None:
    twins: dict[SSAValue, SSAValue] = {}
    candidates = [op for op in extents.body.block.ops if isinstance(op, _COSTLY)]
    count = 0
    for op in [op for op in function.body.block.ops if isinstance(op, _COSTLY)]:
        twin = next((x for x in candidates if _is_same(op, x, twins)), None)
        if twin is None or not all(_is_known(x, twins) for x in op.operands):
            continue
        used = [bool(x.uses) for x in op.results]
        if not all(
            isinstance(x.type, TensorType) and not any(map(_may_overwrite, y.uses))
            for x, y, is_used in zip(op.results, twin.results, used, strict=True)
            if is_used
        ):
            continue
        numbers = [-1] * len(used)
        for k in (k for k, is_used in enumerate(used) if is_used):
            numbers[k], count = count, count + 1
        op.attributes.pop(STORAGE, None)
        for one in (op, twin):
            set_kept(one, numbers)
        twins.update(zip(op.results, twin.results, strict=True))
        candidates.remove(twin)
        applied("reused {} of the shape function: computed once per call", op, size=[x for x in op.results if x.uses])


def _is_known(x: SSAValue, twins: dict[SSAValue, SSAValue]) -> bool:
    """Does a value exist in both functions: is it an argument, a scalar, or the result of a paired operation?"""
    return isinstance(x, BlockArgument) or x in twins or not isinstance(x.type, TensorType)


def _is_same(op: Operation, twin: Operation, twins: dict[SSAValue, SSAValue]) -> bool:
    """Do an operation of the function and one of its `.extents` compute the same results? twins: paired values."""
    if type(op) is not type(twin) or op.name != twin.name or op.properties != twin.properties or op.regions:
        return False
    if any(op.attributes.get(x) != twin.attributes.get(x) for x in {*op.attributes, *twin.attributes} - _NOT_COMPARED):
        return False
    if [x.type for x in op.results] != [x.type for x in twin.results] or len(op.operands) != len(twin.operands):
        return False
    return all(_is_same_value(x, y, twins) for x, y in zip(op.operands, twin.operands, strict=True))


def _is_same_value(x: SSAValue, y: SSAValue, twins: dict[SSAValue, SSAValue]) -> bool:
    if isinstance(x, BlockArgument) or isinstance(y, BlockArgument):
        return isinstance(x, BlockArgument) and isinstance(y, BlockArgument) and x.index == y.index
    if x not in twins:
        assert isinstance(x, OpResult) and isinstance(y, OpResult)
        if isinstance(x.type, TensorType) or x.index != y.index or not _is_same(x.op, y.op, twins):
            return False
        twins[x] = y
    return twins[x] is y or _is_same(x.owner, y.owner, twins)  # type: ignore[arg-type]


def _may_overwrite(use: Use) -> bool:
    """Does this use permit another value to overwrite the memory?"""
    op = use.operation
    storages = op.attributes.get(STORAGE)
    if isinstance(storages, ArrayAttr):
        return any(isinstance(x, OverAttr) and x.operand.data == use.index for x in storages.data)
    return not isinstance(op, (*_COSTLY, DoOp)) and any(isinstance(x.type, TensorType) for x in op.results)
