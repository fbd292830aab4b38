"""Remarks about the parallelization of matrix products."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Operation

from aotensor.ir.dialect_sparse import ProductAtOp
from aotensor.ir.nest.ops import ProductOp
from aotensor.passes.remarks import applied, missed
from aotensor.passes.target import Target


def note_cores(op: Operation, target: Target) -> None:
    """Write the remark whether a product runs on several cores, which the shared product kernel splits."""
    if isinstance(op, ProductAtOp):
        applied("parallelized {}, where its work amortises a second core", op)
    if not isinstance(op, ProductOp):
        return
    assert isinstance(op.a.type, TensorType) and isinstance(op.result.type, TensorType)
    depth = op.a.type.get_shape()[1 if op.transpose_a is None else 0]
    extents = [depth, *op.result.type.get_shape()]
    if DYNAMIC_INDEX not in extents and math.prod(extents) <= target.direct_work:
        hint = f"more than {target.direct_work} multiply-adds"
        missed("{} not parallelized: {} multiply-adds do not amortise a second core", op, math.prod(extents), hint=hint)
        return
    applied("parallelized the tiles of {}, from about {} multiply-adds on", op, target.direct_work)
    if DYNAMIC_INDEX in extents or math.prod(extents) >= target.blas_work:
        side = round(target.blas_work ** (1 / 3))
        applied("{} calls the caller's BLAS, if there is one, from {}**3 multiply-adds on", op, side)
