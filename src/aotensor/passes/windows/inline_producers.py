"""Inline cheap producers into consumers that read them at other indices, instead of storing them.

    %v = linalg.generic ins(%x) { %in · 2 }              →     %r = linalg.generic {
    %r = linalg.generic { tensor.extract %v[%k] }                %e = tensor.extract %x[%k]
                                                                 %e · 2
                                                               }

A producer is also inlined at equal indices, if the consumer reads the producer's operands at other ones: the operands
are in memory anyway, and the loop that computes them cannot be fused with the consumer.

A conditional read stays conditional: a value computed from missing elements is not selected. The producer's body has a
few operations of plain arithmetic and is read once per iteration, so the work does not grow; it may be read by several
generics, or several times, if that saves more than it repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, IntegerType, ModuleOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap
from xdsl.rewriter import Rewriter

from aotensor.ir.context import functions_of
from aotensor.ir.dialect import ExtractIfOp
from aotensor.ir.location import LocatedBuilder, builder_before
from aotensor.ir.scalar_builder import RAW, Scalar, ScalarBuilder
from aotensor.ir.types import index
from aotensor.passes.canonicalize import drop_inputs
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied

Read: TypeAlias = tensor.ExtractOp | ExtractIfOp

_ARITHMETIC: Final = (
    arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.NegfOp, arith.CmpfOp, arith.CmpiOp, arith.SelectOp, arith.AndIOp,
    arith.OrIOp, arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ExtFOp, arith.TruncFOp, arith.SIToFPOp,
    arith.ConstantOp,
)  # fmt: skip
"""Operations that cost nothing compared to a load, and are harmless for any operands."""
_OTHER: Final = (tensor.ExtractOp, ExtractIfOp, linalg.IndexOp, linalg.YieldOp)
_LARGEST: Final = 24
"""Largest number of operations of a body that is inlined into a single reader."""
_SMALL: Final = 2
"""Largest number of arithmetic operations on one loaded element that are repeated for several readers."""
_READERS: Final = 8
_LARGEST_READER: Final = 120
"""Largest number of operations of a consumer's body."""


@ir_pass("inline-producers", level="tensor", topic="loops", former="inline-reads")
def inline_producers(module: ModuleOp) -> None:
    """Inlines cheap producers into their consumers, also at shifted indices."""
    for function in functions_of(module):
        guarded = set[Operation]()
        for op in reversed(list(function.body.block.ops)):
            if isinstance(op, linalg.GenericOp) and (use := _reader_of_sources(op)) is not None:
                _read_at_index(*use)
            readers = _reads_of(op.results[0]) if isinstance(op, linalg.GenericOp) and len(op.results) == 1 else []
            if isinstance(op, linalg.GenericOp) and readers and can_be_inlined(op.results[0], readers):
                for read in readers:
                    _inline(op, read, guarded)
                text = "inlined {} into its readers, " + ("once" if len(readers) == 1 else f"{len(readers)} times")
                applied(text, op, size=op.results)
                Rewriter.erase_op(op)


def can_be_inlined(x: SSAValue, readers: Sequence[Read] = ()) -> bool:
    """May the readers of a tensor compute its elements, and does it pay?

    Without `readers`: a reader that reads each element once.
    """
    op = x.owner
    if not isinstance(op, linalg.GenericOp) or len(op.results) != 1 or not _is_elementwise(op):
        return False
    if readers and (len(readers) != x.uses.get_length() or not all(map(_reads_once, readers))):
        return False
    held = [inner for inner in op.body.block.ops if not isinstance(inner, linalg.YieldOp)]
    if len(readers) <= 1:
        return len(held) + len(op.inputs) <= _LARGEST
    touched = len(op.inputs) + sum(isinstance(inner, Read) for inner in held)
    work = sum(isinstance(x.type, AnyFloat) for inner in held if not isinstance(inner, Read) for x in inner.results)
    return touched <= 1 and work <= _SMALL and len(readers) <= _READERS


def _is_elementwise(op: linalg.GenericOp) -> bool:
    """Is each element computed by plain arithmetic from the inputs' elements at the same index?"""
    map: AffineMap = op.indexing_maps.data[-1].data
    if any(kind.data != IteratorType.PARALLEL for kind in op.iterator_types):
        return False
    held = op.body.block.args[-1].uses
    is_plain = all(isinstance(inner, (*_ARITHMETIC, *_OTHER)) for inner in op.body.block.ops)
    return is_plain and not held and map == AffineMap.identity(map.num_dims)


def _reads_once(read: Read) -> bool:
    """Is each element read at most once: does a read use all loop counters, each with a loop-invariant offset?"""
    generic = read.parent_op()
    if not isinstance(generic, linalg.GenericOp) or len(list(generic.body.block.ops)) > _LARGEST_READER:
        return False
    if any(kind.data != IteratorType.PARALLEL for kind in generic.iterator_types):
        return False
    counters = [_counter(i, generic) for i in read.indices]
    found = [c for c in counters if c is not None]
    return len(set(found)) == len(found) == len(generic.iterator_types)


def _counter(x: SSAValue, generic: linalg.GenericOp) -> int | None:
    """The dim whose counter an index is, up to a loop-invariant offset; None for any other index."""
    if not generic.is_ancestor(x.owner):
        return None
    match x.owner:
        case linalg.IndexOp():
            return int(x.owner.dim.value.data)
        case arith.AddiOp() | arith.SubiOp():
            own = [_counter(y, generic) for y in x.owner.operands]
            inside = [y for y in x.owner.operands if isinstance(y.owner, Operation) and generic.is_ancestor(y.owner)]
            known = [c for c in own if c is not None]
            return known[0] if len(inside) == len(known) == 1 else None
        case _:
            return None


def _reads_of(x: SSAValue) -> list[Read]:
    return [use.operation for use in x.uses if isinstance(use.operation, Read)]


# --- reads at the position of the reader -----------------------------------------------------------------------------


def _reader_of_sources(op: linalg.GenericOp) -> tuple[linalg.GenericOp, int] | None:
    """(the only reader of a cheap result, its input number), if it reads the result's operands at other indices."""
    if len(op.results) != 1 or not op.inputs or not op.results[0].has_one_use() or not can_be_inlined(op.results[0]):
        return None
    (use,) = op.results[0].uses
    reader = use.operation
    if not isinstance(reader, linalg.GenericOp) or use.index >= len(reader.inputs):
        return None
    work = sum(isinstance(x.type, AnyFloat) for inner in op.body.block.ops for x in inner.results)
    makers = (x.owner for x in reader.inputs if isinstance(x.owner, linalg.GenericOp))  # they are fused with it
    gathered = {inner.tensor for one in (reader, *makers) for inner in one.body.block.ops if isinstance(inner, Read)}
    map: AffineMap = reader.indexing_maps.data[use.index].data
    is_along = all(isinstance(e, AffineDimExpr) for e in map.results) and len(map.results) == map.num_dims
    if work > _SMALL or not is_along or not gathered.issuperset(op.inputs):
        return None
    return reader, use.index


def _read_at_index(reader: linalg.GenericOp, number: int) -> None:
    """Turn an input of a generic into a load at the loop counters; return the load."""
    body, map = reader.body.block, reader.indexing_maps.data[number].data
    assert body.first_op is not None
    b = builder_before(body.first_op)
    where = [b.insert(linalg.IndexOp(e.position)).result for e in map.results if isinstance(e, AffineDimExpr)]
    read = b.insert(tensor.ExtractOp(reader.inputs[number], where, body.args[number].type))
    drop_inputs(reader, [number], read.result)


# --- one body in another ---------------------------------------------------------------------------------------------


def _inline(op: linalg.GenericOp, read: Read, guarded: set[Operation]) -> None:
    """Inline the body of a generic in place of a read of its result.

    guarded: conditional reads whose result is selected again, so that any value may be used where the condition
    fails.
    """
    b = builder_before(read)
    condition = read.condition if isinstance(read, ExtractIfOp) else None
    body, where = op.body.block, list(read.indices)
    known: dict[SSAValue, SSAValue] = {}
    for argument, x, map in zip(body.args, op.inputs, op.indexing_maps.data, strict=False):
        if argument.uses:
            known[argument] = _element(b, x, _indices(b, map.data, where), condition, guarded)
    for inner in body.ops:
        operands = [known.get(x, x) for x in inner.operands]
        match inner:
            case linalg.YieldOp():
                break
            case linalg.IndexOp():
                known[inner.result] = where[inner.dim.value.data]
            case tensor.ExtractOp():
                known[inner.result] = _element(b, operands[0], operands[1:], condition, guarded)
            case ExtractIfOp():
                both, x, *rest = operands
                if condition is not None:
                    with ScalarBuilder(b).active():
                        both = (Scalar(condition, "bool") & Scalar(both, "bool")).ssa
                known[inner.result] = b.insert(ExtractIfOp(both, x, rest[:-1], rest[-1])).result
            case _:
                copy = inner.clone(dict(known))
                copy.location = inner.location
                known.update(zip(inner.results, b.insert(copy).results, strict=True))
    assert body.last_op is not None
    value = known.get(body.last_op.operands[0], body.last_op.operands[0])
    if isinstance(read, ExtractIfOp) and read not in guarded:
        sides = Scalar(value, RAW), Scalar(read.otherwise, RAW)
        value = ScalarBuilder(b).select(Scalar(read.condition, "bool"), *sides).ssa
    read.results[0].replace_all_uses_with(value)
    Rewriter.erase_op(read)


def _element(
    b: LocatedBuilder, x: SSAValue, where: Sequence[SSAValue], condition: SSAValue | None, guarded: set[Operation]
) -> SSAValue:
    """Load an element of a tensor; where the condition does not hold, the value is arbitrary."""
    kind: Attribute = x.type.element_type  # type: ignore[attr-defined]
    if condition is None:
        return b.insert(tensor.ExtractOp(x, where, kind)).result
    read = b.insert(ExtractIfOp(condition, x, where, _zero(b, kind)))
    guarded.add(read)
    return read.result


def _zero(b: LocatedBuilder, kind: Attribute) -> SSAValue:
    if isinstance(kind, AnyFloat):
        return b.insert(arith.ConstantOp(FloatAttr(0.0, kind))).result
    assert isinstance(kind, IntegerType | IndexType)
    return b.insert(arith.ConstantOp(IntegerAttr(0, kind))).result


def _indices(b: LocatedBuilder, map: AffineMap, where: Sequence[SSAValue]) -> list[SSAValue]:
    """The indices of an operand with this map, for the result's element at `where`."""
    found: list[SSAValue] = []
    for expression in map.results:
        if isinstance(expression, AffineDimExpr):
            found.append(where[expression.position])
        else:
            assert isinstance(expression, AffineConstantExpr)
            found.append(b.insert(arith.ConstantOp(IntegerAttr(expression.value, index))).result)
    return found
