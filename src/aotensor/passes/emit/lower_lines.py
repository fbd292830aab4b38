"""Dispatch of operations along the lines of a tensor (sort, select, running sums, kernels) to their lowerings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from xdsl.ir import Operation

from aotensor.ir.dialect import CumulateOp, RecurOp, SelectOp, SortOp
from aotensor.ir.dialect_sparse import KernelOp
from aotensor.passes.emit.lower_kernel import lower_kernel
from aotensor.passes.emit.lower_running import lower_cumulate, lower_recur
from aotensor.passes.emit.lower_select import lower_select
from aotensor.passes.emit.lower_sort import lower_sort

ALONG_LINES: Final[dict[type[Operation], Callable[..., Any]]] = {
    CumulateOp: lower_cumulate,
    KernelOp: lower_kernel,
    RecurOp: lower_recur,
    SelectOp: lower_select,
    SortOp: lower_sort,
}
"""Operation → its lowering, a function of the builder, the buffers, the operation and the target."""
