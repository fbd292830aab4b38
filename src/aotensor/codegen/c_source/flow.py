"""Find the memref values that are written to; pointers of all others point to constants."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from aotensor.codegen.c_source.memory import VIEWS
from aotensor.ir.upstream import ReallocOp, walk
from aotensor.passes.gemm.dispatch import BLAS_PREFIX


def written_buffers(functions: Mapping[str, func.FuncOp]) -> frozenset[SSAValue]:
    """The memref values that operations of the functions write to, directly or through views."""
    sources: dict[SSAValue, list[SSAValue]] = defaultdict(list)
    found: set[SSAValue] = set()
    pending: list[SSAValue] = []
    for function in functions.values():
        for op in walk(function):
            pending += _stored(op, functions)
            for target, source in _flows(op, functions):
                if isinstance(target.type, MemRefType):
                    sources[target].append(source)
    while pending:
        value = pending.pop()
        if value not in found:
            found.add(value)
            pending += sources[value]
    return frozenset(found)


def _stored(op: Operation, functions: Mapping[str, func.FuncOp]) -> Iterator[SSAValue]:
    match op:
        case func.CallOp():
            callee = functions.get(op.callee.root_reference.data)
            if callee is None or not callee.body.blocks:
                yield from op.operands[4:5] if op.callee.root_reference.data.startswith(BLAS_PREFIX) else op.operands
        case memref.StoreOp():
            yield op.memref
        case memref.CopyOp():
            yield op.destination
        case vector.StoreOp() | vector.MaskedStoreOp():
            yield op.base
        case vector.TransferWriteOp():
            yield op.source
        case memref.DeallocOp():
            yield op.memref
        case memref.AllocOp() | memref.AllocaOp():
            yield op.memref
        case ReallocOp():
            yield op.source
            yield op.result
        case memref.ExtractAlignedPointerAsIndexOp():
            yield op.source
        case _:
            pass


def _flows(op: Operation, functions: Mapping[str, func.FuncOp]) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Pairs (derived value, value that it is derived from) of an operation, such as a view or a call."""
    match op:
        case arith.SelectOp():
            yield from ((op.result, x) for x in (op.lhs, op.rhs))
        case func.CallOp():
            callee = functions.get(op.callee.root_reference.data)
            if callee is not None and callee.body.blocks:
                yield from _both(callee.body.block.args, op.operands)
        case scf.ForOp():
            block = op.body.block
            for x in (op.iter_args, _end(block)):
                yield from _both(block.args[1:], x)
                yield from _both(op.res, x)
        case scf.IfOp():
            for region in (op.true_region, op.false_region):
                if region.blocks:
                    yield from _both(op.output, _end(region.block))
        case scf.WhileOp():
            before, after = op.before_region.block, op.after_region.block
            yield from _both(before.args, op.arguments)
            yield from _both(before.args, _end(after))
            handed = _end(before)[1:]
            yield from _both(after.args, handed)
            yield from _both(op.res, handed)
        case _ if isinstance(op, VIEWS):
            yield op.results[0], op.operands[0]
        case _:
            pass


def _end(block: object) -> list[SSAValue]:
    last = block.last_op  # type: ignore[attr-defined]
    return list(last.operands)


def _both(targets: Iterable[SSAValue], sources: Iterable[SSAValue]) -> Iterator[tuple[SSAValue, SSAValue]]:
    yield from zip(targets, sources, strict=True)
