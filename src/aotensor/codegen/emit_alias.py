"""Alias analysis of a function's body: buffers that are only read, views that do not overlap."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from typing import Final

from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from aotensor.codegen import llvm
from aotensor.codegen.llvm import Module, Node
from aotensor.ir.upstream import GatherOp, ParallelOp, PrefetchOp, walk
from aotensor.passes.memory.plan_memory import SCOPE

_VIEWS: Final = (
    memref.ViewOp, memref.SubviewOp, memref.ReinterpretCastOp, memref.ExpandShapeOp, memref.CollapseShapeOp,
    memref.CastOp, memref.AssumeAlignmentOp,
)  # fmt: skip
_READS: Final = (
    memref.LoadOp, memref.DimOp, PrefetchOp, vector.LoadOp, vector.TransferReadOp, vector.MaskedLoadOp, GatherOp,
)  # fmt: skip
_LOOPS: Final = frozenset({scf.ForOp, scf.WhileOp, ParallelOp})


def read_only(buffer: SSAValue) -> bool:
    """Is a memref, with its views, never written? An unknown use counts as a write."""
    for use in buffer.uses:
        op = use.operation
        if isinstance(op, (*_VIEWS, arith.SelectOp)):
            if not read_only(op.results[0]):
                return False
        elif not isinstance(op, _READS) and not (isinstance(op, memref.CopyOp) and use.index == 0):
            return False
    return True


def view_scopes(module: Module, function: func.FuncOp) -> Mapping[SSAValue, Mapping[str, Node]]:
    """Alias metadata of the views that have a `scope` number, by view.

    The planner guarantees that views of one buffer with different numbers do not overlap while both are in use. LLVM,
    however, applies `!noalias` to the whole function, and memory is reused once a buffer is dead. So two views are
    declared disjoint only if an innermost loop uses both: then they are in use together, and as a view created in the
    function's first block does not move, they are disjoint for the whole function. A view that reuses the memory of
    another one that the same loop reads must therefore have the same number, or none.
    """
    roots = _roots(function)
    if not roots:
        return {}
    partners: dict[SSAValue, dict[SSAValue, None]] = defaultdict(dict)
    for loop in _innermost_loops(function):
        together = dict.fromkeys(roots[x] for op in walk(loop) for x in op.operands if x in roots)
        for one, other in permutations(together, 2):
            if _source(one) is _source(other) and _number(one) != _number(other):
                partners[one][other] = None
    apart = [view for view in dict.fromkeys(roots.values()) if view in partners]
    scopes = _scope_nodes(module, function.sym_name.data, apart)
    return {
        view: {
            "alias.scope": llvm.node(module, [scopes[view]]),
            "noalias": llvm.node(module, [scopes[other] for other in scopes if other in partners[view]]),
        }
        for view in scopes
    }


def _roots(function: func.FuncOp) -> dict[SSAValue, SSAValue]:
    """Memref value → the numbered view it is derived from, for views created in the function's first block."""
    roots: dict[SSAValue, SSAValue] = {}
    for op in function.body.block.ops:
        if isinstance(op, memref.ViewOp) and isinstance(op.attributes.get(SCOPE), IntegerAttr):
            roots[op.result] = op.result
    if not roots:
        return roots
    for op in walk(function):
        if type(op) in _VIEWS and op.operands[0] in roots:
            roots.setdefault(op.results[0], roots[op.operands[0]])
    return roots


def _innermost_loops(function: func.FuncOp) -> Iterable[Operation]:
    for op in walk(function):
        if type(op) in _LOOPS and not any(type(inner) in _LOOPS for inner in walk(op) if inner is not op):
            yield op


def _source(view: SSAValue) -> SSAValue:
    assert isinstance(view.owner, memref.ViewOp)
    return view.owner.source


def _number(view: SSAValue) -> int:
    assert isinstance(view.owner, memref.ViewOp)
    number = view.owner.attributes[SCOPE]
    assert isinstance(number, IntegerAttr)
    return number.value.data


def _scope_nodes(module: Module, symbol: str, views: Sequence[SSAValue]) -> dict[SSAValue, Node]:
    """View → its `!alias.scope` entry; all views of a function are in one domain."""
    domain = llvm.node(module, [f"{symbol}.views"])
    return {view: llvm.node(module, [f"{symbol}.view{k}", domain]) for k, view in enumerate(views)}
