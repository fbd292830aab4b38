"""Estimate the work of an iteration of a parallel loop in a kernel, from its syntax tree and known trip counts.

The unit is that of `passes.nest.work`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from aotensor.ir.index_builder import Extent
from aotensor.passes.kernels.expressions import Expressions

_OPERATIONS: Final = (ast.BinOp, ast.Compare, ast.Subscript, ast.IfExp, ast.BoolOp)
_CALL: Final = 8
"""The work of a call, of an elementary function for example."""
_TRIPS: Final = 16
"""Assumed trip count of a loop whose trip count is not known before the parallel loop."""


def work_of(kernel: Expressions, body: Sequence[ast.stmt]) -> Extent:
    """The estimated work of statements. Trip counts are computed where `kernel` now builds."""
    total = _own_work(body)
    for statement in body:
        match statement:
            case ast.For(iter=ast.Call(args=bounds), body=inner):
                total += _trips(kernel, bounds) * work_of(kernel, inner)
            case ast.While(body=inner):
                total += _TRIPS * work_of(kernel, inner)
            case ast.If(body=inner, orelse=otherwise):
                total += work_of(kernel, inner) + work_of(kernel, otherwise)
            case _:
                pass
    return total


def _own_work(body: Sequence[ast.stmt]) -> Extent:
    """The work of the statements that are not loops or branches."""
    parts = [x for one in body if not isinstance(one, ast.For | ast.While | ast.If) for x in ast.walk(one)]
    return 1 + sum(_CALL if isinstance(x, ast.Call) else isinstance(x, _OPERATIONS) for x in parts)


def _trips(kernel: Expressions, bounds: Sequence[ast.expr]) -> Extent:
    """The largest number of iterations of a range, if its end needs no loops and no memory; else a typical one."""
    stop = bounds[min(1, len(bounds) - 1)]
    names = {x.id for x in ast.walk(stop) if isinstance(x, ast.Name)}
    calls = [x for x in ast.walk(stop) if isinstance(x, ast.Call | ast.Subscript | ast.Attribute)]
    is_length = isinstance(stop, ast.Call) and isinstance(stop.func, ast.Name) and stop.func.id == "len"
    if (calls and not is_length) or not names - {"len"} <= kernel.values.keys():
        return _TRIPS
    return kernel.b.imax(kernel.extent(stop), 0)
