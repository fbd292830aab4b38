"""Replace factorizations with unused results by kinds that compute the used part only, with far less work.

    %w, %rows, %f = aot.lapack "eigh" %a …   →   %w, %f = aot.lapack "eigvalsh" %a …      if %rows is unused

So an op computes all results that its gradient needs, and a program that uses the values alone does not pay for the
vectors. Where another operation factorises the same matrix, and its vectors are used, it provides the values, too.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.rewriter import Rewriter

from aotensor.ir.dialect import LapackOp
from aotensor.ops.linalg.kinds import PARTS
from aotensor.passes.remarks import applied


def drop_unused_results(op: LapackOp) -> None:
    """Replace a factorization with one used result.

    The replacement computes that result only, or is another factorization of the same matrix.
    """
    kind, number = PARTS.get(op.kind.data, ("", 0))
    if not kind or _has_used_factors(op, number):
        return
    other = _factorisation_like(op, kind)
    if other is not None:
        applied("replaced {} by the values of another factorisation of the same matrix", op)
        op.tensors[number].replace_all_uses_with(other.tensors[PARTS[other.kind.data][1]])
        op.failure.replace_all_uses_with(other.failure)
        Rewriter.erase_op(op)
        return
    dynamic = [x.type.get_shape().count(DYNAMIC_INDEX) for x in op.tensors if isinstance(x.type, TensorType)]
    start = sum(dynamic[:number])
    options = {name: op.option(name) for name in op.options.data}
    kept = op.tensors[number]
    part = LapackOp(kind, list(op.arguments), op.sizes[start : start + dynamic[number]], [kept.type], options)
    part.location = op.location
    assert op.parent is not None
    applied("replaced {} by " + kind + ": no operation reads the other factors", op)
    op.parent.insert_op_before(part, op)
    kept.replace_all_uses_with(part.tensors[0])
    op.failure.replace_all_uses_with(part.failure)
    Rewriter.erase_op(op)


def _has_used_factors(op: LapackOp, number: int) -> bool:
    return any(x.uses for k, x in enumerate(op.tensors) if k != number)


def _factorisation_like(op: LapackOp, kind: str) -> LapackOp | None:
    """Find a factorization of the same matrix with used factors and the values of `kind`; move it before `op`."""
    for use in op.arguments[0].uses:
        other = use.operation
        if other is op or not isinstance(other, LapackOp) or other.parent is not op.parent or other.parent is None:
            continue
        if list(other.arguments) != list(op.arguments) or other.options != op.options:  # such as another triangle
            continue
        found, number = PARTS.get(other.kind.data, ("", 0))
        values = (op.tensors[PARTS[op.kind.data][1]], other.tensors[number] if found == kind else None)
        if values[1] is None or values[0].type != values[1].type or not _has_used_factors(other, number):
            continue
        if other.is_before_in_block(op):
            return other
        if all(x in op.operands for x in other.operands):
            other.detach()  # type: ignore[no-untyped-call]
            op.parent.insert_op_before(other, op)  # type: ignore[union-attr]
            return other
    return None
