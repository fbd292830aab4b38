"""Parallelize loops: split them into chunks of iterations with private partial sums.

    %z = nest.value init %zero                    %zs = nest.value[%chunks]
    nest.for %i in %n {                           nest.for %c in %n step %rows cores {
      nest.do … -> (%s = %z[])                      %zc = nest.value init %zero
    }                                               nest.for %i = %c to %end { nest.do … -> (%s = %zc[]) }
                                             →      nest.do(%v = %zc[]) -> (%zs[%c / %rows])
                                                  }
                                                  nest.for %k in %chunks { nest.do(%v = %zs[%k]) -> (%s = %z[]) }

Chunk boundaries depend on extents and `indptr` only (chunks of sparse rows have equal numbers of entries), and the
partial sums are added in order: the result is the same to the last bit for any number of threads. A chunk has enough
work to amortise waking another core; a loop with less work is one chunk. A loop whose iterations cannot be proved
independent is left as it is.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr
from xdsl.ir import Operation

from aotensor.ir.context import functions_of
from aotensor.ir.dialect import CumulateOp, LapackOp, LinesOp, SortOp
from aotensor.ir.dialect_sparse import KernelOp, PatternOp
from aotensor.ir.nest.loops import ForOp
from aotensor.ir.nest.ops import MATRICES, PARALLEL_LINES
from aotensor.ir.nest.tree import known_extent
from aotensor.passes.gemm.note_cores import note_cores
from aotensor.passes.lapack.routines import CONCURRENT_ROWS
from aotensor.passes.nest.cores.chunks import Chunks
from aotensor.passes.nest.cores.sums import sums_of
from aotensor.passes.registry import Option, ir_pass
from aotensor.passes.remarks import applied, missed
from aotensor.passes.target import Target

_BY_ROWS: Final = ("product_count", "product_rows", "product_values", "product_left", "block_product")
"""Kinds of `aot.pattern` that write each row independently."""
_ALLOWS: Final = {
    "it allocates memory of data-dependent size": "let extents follow from those of the inputs",
    "an iteration reads what another iteration writes": "make the iterations independent: a map, not a scan",
}
"""Reason why a loop runs on one core → hint how to change that."""


@ir_pass(
    "parallelize",
    level="nest",
    topic="cores",
    unless=("no-heap", "scalar"),
    reference="decisions/0021-chunks-are-set-by-sizes.md",
    options={
        "chunk-work": Option(
            1, 1 << 30, "smallest work of a chunk, in operations of a vectorised loop", ("chunk_work",)
        ),
        "most-chunks": Option(1, 64, "most chunks of a loop, up to 64", ("most_chunks",)),
    },
)
def parallelize(module: ModuleOp, target: Target) -> None:
    """Turns outermost loops into loops over chunks for several cores, with private partial sums.

    In `.extents` functions only operations on rows of a sparse matrix are parallelized: extents that depend on such
    rows cost as much as the results, other extents are cheap.
    """
    for function in functions_of(module):
        is_extents = function.sym_name.data.endswith(".extents")
        for op in list(function.body.block.ops):
            if not is_extents:
                note_cores(op, target)
            if isinstance(op, ForOp):
                if not is_extents:
                    _cut(op, target)
            elif _has_independent_rows(op) if is_extents else _has_independent_lines(op) or _is_line_in_parts(op):
                op.attributes[PARALLEL_LINES] = UnitAttr()
                applied("parallelized {} over its lines or rows", op)
            elif isinstance(op, LapackOp) and not is_extents:
                _share_out(op)


def _has_independent_lines(op: Operation) -> bool:
    """Does an operation process independent lines of a tensor, or independent rows of a matrix?"""
    if isinstance(op, KernelOp):
        return any(op.is_batched)
    has_lines = MATRICES in op.attributes or isinstance(op, LinesOp | tensor.InsertSliceOp)
    kind = op.operands[0].type if has_lines else None
    is_deep = isinstance(kind, TensorType) and kind.get_num_dims() > 1 + (MATRICES in op.attributes)
    return is_deep or _has_independent_rows(op)


def _share_out(op: LapackOp) -> None:
    """Distribute a batch of LAPACK calls over the cores, unless its matrices suit LAPACK's own threads."""
    kind, (least, largest) = op.arguments[0].type, CONCURRENT_ROWS.get(op.kind.data, (0, 0))
    assert isinstance(kind, TensorType)
    rank = kind.get_num_dims() - 2 - op.is_complex
    if MATRICES in op.attributes or all(n == 1 for n in kind.get_shape()[:rank]):
        return
    tensors = [x.type for x in (*op.arguments, *op.tensors)]
    known = [n for x in tensors if isinstance(x, TensorType) for n in x.get_shape()[rank:]]
    if not largest or max(known) > largest or 0 <= kind.get_shape()[rank] < least:
        hint = f"{least} to {largest} rows" if largest else ""
        missed("{} not parallelized over its batch: it uses LAPACK's own threads", op, hint=hint)
        return
    op.attributes[PARALLEL_LINES] = UnitAttr()
    applied("parallelized {} over its batch, for matrices of {} to {} rows", op, least, largest)


def _is_line_in_parts(op: Operation) -> bool:
    """Does an operation process one line in parts that are combined at the end, as a sort or a running sum does?"""
    if isinstance(op, CumulateOp) and not op.is_reassociable:
        if op.kind.data == "mul":
            reason, hint = "partial products may overflow where the whole does not", "sums of logarithms"
        elif op.fastmath is None:
            reason, hint = "adding integers is bound by memory", ""
        else:
            reason, hint = "--fp strict fixes the order of its additions", "fp=contract"
        missed("{} not parallelized: " + reason, op, hint=hint)
        return False
    return isinstance(op, SortOp | CumulateOp)


def _has_independent_rows(op: Operation) -> bool:
    """Does an operation process independent rows of a compressed matrix?"""
    return isinstance(op, PatternOp) and op.kind.data in _BY_ROWS


def _cut(loop: ForOp, target: Target) -> None:
    extent = known_extent(loop)
    if extent is None or extent >= target.fewest_iterations:
        found = sums_of(loop) if loop.lower is None else "it is a part of a split loop"
        if not isinstance(found, str):
            chunks = Chunks(loop, target, found)
            if not chunks.is_little():
                chunks.build()
            return
        missed("loop {} not parallelized: {}", loop, found, hint=_ALLOWS.get(found, ""))
    if loop.step is None and not loop.schedule.is_grouped:
        for op in list(loop.body.block.ops):
            if isinstance(op, ForOp):
                _cut(op, target)
