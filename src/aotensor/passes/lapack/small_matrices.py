"""Mark factorizations and solves of small matrices to be generated as code instead of LAPACK calls.

    aot.lapack "cholesky" %a : tensor<?x3x3xf64>   →   aot.lapack "cholesky" %a {nest.matrices = 8} : tensor<?x3x3xf64>

A call costs as much as the arithmetic for a matrix of about ten rows. A batch is processed with one matrix per vector
lane, on several cores; a single matrix is straight-line scalar code. Extents must be static: no code is generated for
matrices that may be large.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, Float32Type, Float64Type, IntegerAttr, ModuleOp, TensorType

from aotensor.ir.context import functions_of
from aotensor.ir.dialect import LapackOp
from aotensor.ir.nest.ops import MATRICES
from aotensor.ir.types import i64, shape_of
from aotensor.ir.upstream import walk
from aotensor.passes.lapack.small.lower import RULES
from aotensor.passes.registry import Option, ir_pass
from aotensor.passes.remarks import applied, missed
from aotensor.passes.target import Target


@ir_pass(
    "small-matrices",
    level="nest",
    topic="products",
    unless=("checks", "no-vectors"),
    options={
        "largest": Option(
            0,
            64,
            "most rows or columns of a matrix that is factorised without LAPACK, at most 64; 0 for none",
            ("largest_generated",),
        )
    },
)
def small_matrices(module: ModuleOp, target: Target) -> None:
    """Marks Cholesky and LU factorisations, solves, inverses and determinants of small static matrices for
    generated code, vectorized over the batch.
    """
    for function in functions_of(module):
        for op in walk(function):
            if isinstance(op, LapackOp) and op.kind.data in RULES and not op.is_complex:
                _mark(op, target)


def _mark(op: LapackOp, target: Target) -> None:
    rank = len(shape_of(op.arguments[0])) - 2
    batch = shape_of(op.arguments[0])[:rank]
    extents = [n for x in (*op.arguments, *op.tensors) for n in shape_of(x)[rank:]]
    if DYNAMIC_INDEX in extents or not all(0 < n <= target.largest_generated for n in extents):
        what, hint = "the matrices are not small", f"at most {target.largest_generated} rows and columns"
        if DYNAMIC_INDEX in extents:
            what, hint = "their extents are not static", "give static extents: shape=(..., 3, 3)"
        missed("{} calls LAPACK for each matrix: " + what, op, hint=hint)
        return
    lanes = 1 if all(n == 1 for n in batch) else target.lanes(_bits(op))
    op.attributes[MATRICES] = IntegerAttr(lanes, i64)
    if lanes == 1:
        applied("generated code for {}, one small matrix, without LAPACK", op)
    else:
        applied("vectorized {} over the batch (width: {}), one small matrix per lane, without LAPACK", op, lanes)


def _bits(op: LapackOp) -> int:
    kind = op.arguments[0].type
    assert isinstance(kind, TensorType) and isinstance(kind.element_type, Float32Type | Float64Type)
    return kind.element_type.bitwidth
