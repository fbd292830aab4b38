"""Fold copies away: transposes, broadcasts, new axes and fills become index maps of their readers.

    %t = linalg.generic {(i,j) -> (j,i)} ins(%x) { yield %in }
    %r = linalg.generic {(i,j) -> (i,j)} ins(%t) { … }          →    %r = linalg.generic {(i,j) -> (j,i)} ins(%x) { … }

and erase dead operations and unused results, those of factorisations included.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import AffineMapAttr, AnyFloat, ArrayAttr, FloatAttr, IntegerAttr, ModuleOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.dialects.math import PowFOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from aotensor.core.dtypes import DTYPES
from aotensor.ir.context import functions_of
from aotensor.ir.dialect import LapackOp, ReshapeOp
from aotensor.ir.dialect_sparse import ProductAtOp
from aotensor.ir.index_builder import generic
from aotensor.ir.location import builder_before
from aotensor.ir.scalar_builder import RAW, Scalar, ScalarBuilder
from aotensor.ir.types import DTYPE_OF_FLOAT, index
from aotensor.ir.upstream import walk
from aotensor.passes.lapack.unused_results import drop_unused_results
from aotensor.passes.products.fold_constant_copies import is_in_order
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied, missed
from aotensor.passes.scalar_math.half_powers import expand_half_power

_LARGEST_POWER: Final[Mapping[Attribute, int]] = {kind: -DTYPES[name].exponent for kind, name in DTYPE_OF_FLOAT.items()}
"""k such that 2^k and 2^−k are normal numbers."""


@ir_pass("canonicalize", level="tensor", topic="arithmetic")
def canonicalize(module: ModuleOp) -> None:
    """Folds transposes, broadcasts, new axes and fills into index maps or scalars of their readers; removes
    identities; division by a power of two becomes multiplication, and x**1.5 a product with a square root; unused
    factorisation outputs are dropped; hoists loop-invariant scalars, and negates them instead of their products;
    removes dead operations.
    """
    for function in functions_of(module):
        for inner in list(walk(function)):
            _fold_arithmetic(inner)
        op = function.body.block.first_op
        while op is not None:  # readers are replaced by later operations, which the walk still visits
            if isinstance(op, linalg.GenericOp):
                fold_copy(op)
            op = op.next_op
        _erase_dead(function.body.block)


# --- copies and fills ----------------------------------------------------------------------------------------------


def fold_copy(op: linalg.GenericOp) -> None:
    """Fold a copy or fill into its readers: they read the source of the copy, or use the scalar of the fill."""
    _hoist_invariant(op)
    if len(op.results) != 1 or any(t.data != IteratorType.PARALLEL for t in op.iterator_types):
        return
    out_map = op.indexing_maps.data[-1].data
    if out_map != AffineMap.identity(out_map.num_dims):
        return
    yielded = op.body.block.last_op
    assert yielded is not None
    value = yielded.operands[0]
    if isinstance(value, BlockArgument) and value.block is op.body.block and value.index < len(op.inputs):
        source, source_map = op.inputs[value.index], op.indexing_maps.data[value.index].data
        for user in _users(op.results[0]):
            _redirect(user, op.results[0], source, source_map)
    elif not _is_local(value, op.body.block):
        for user in _users(op.results[0]):
            _use_scalar(user, op.results[0], value)


def _users(x: SSAValue) -> list[Operation]:
    """The operations that use a value, each listed once."""
    return list(dict.fromkeys(use.operation for use in x.uses))


def _hoist_invariant(op: linalg.GenericOp) -> None:
    """Hoist loop-invariant scalar arithmetic before the operation."""
    body, parent = op.body.block, op.parent
    assert parent is not None
    for inner in list(body.ops):
        if isinstance(inner, arith.NegfOp):
            _negate_factor(inner, body)
    for inner in list(body.ops):
        is_arithmetic = bool(inner.results) and inner.name.startswith(("arith.", "math."))
        is_pure = is_arithmetic and all(isinstance(r.type, AnyFloat) for r in inner.results)  # floats cannot trap
        if is_pure and not any(_is_local(x, body) for x in inner.operands):
            if inner.operands:
                applied("hoisted {} out of the loop: it is loop-invariant", inner)
            inner.detach()
            parent.insert_op_before(inner, op)


def _negate_factor(op: arith.NegfOp, body: Block) -> None:
    """Replace −(s·x) by (−s)·x, which is as exact, if s is loop-invariant, so that −s is computed once."""
    product = op.operand.owner
    if not isinstance(product, arith.MulfOp) or len(list(product.result.uses)) != 1:
        return
    factor = next((x for x in product.operands if not _is_local(x, body)), None)
    if factor is not None and _is_local(product.result, body):
        applied("negated the loop-invariant factor of {} instead of the product", product)
        negated = builder_before(product).insert(op.clone({op.operand: factor}))
        product.operands[list(product.operands).index(factor)] = negated.result
        Rewriter.replace_op(op, [], [product.result])


def _is_local(x: SSAValue, block: Block) -> bool:
    return (
        x.block is block if isinstance(x, BlockArgument) else isinstance(x.owner, Operation) and x.owner.parent is block
    )


def _redirect(user: Operation, copy: SSAValue, source: SSAValue, source_map: AffineMap) -> None:
    if isinstance(user, linalg.GenericOp):
        maps = [m.data for m in user.indexing_maps]
        composed = [
            _compose(source_map, m) if number < len(user.inputs) and user.operands[number] is copy else m
            for number, m in enumerate(maps)
        ]
        if not _covers(composed, maps[0].num_dims):
            missed("copy {} kept: it alone determines the extent of {}", copy, user, size=[copy])
            return
        applied("removed the copy {}: {} reads its source in place", copy, user, size=[copy])
        user.properties["indexing_maps"] = ArrayAttr(AffineMapAttr(m) for m in composed)
        for number, x in enumerate(user.operands):
            if x is copy and number < len(user.inputs):
                user.operands[number] = source
    elif isinstance(user, tensor.ExtractOp) and user.indices:
        where = list(user.indices)
        indices = [_index_value(e, where, user) for e in source_map.results]
        read = tensor.ExtractOp(source, indices, user.result.type)
        _replace(user, read, read.result)
    elif isinstance(user, ProductAtOp) and is_in_order(source_map, source, copy):
        applied("{} has the elements of {} in order, and is not a copy", copy, source, size=[copy])
        shaped = ReshapeOp(source, [], copy.type)
        shaped.location = user.location
        assert user.parent is not None
        user.parent.insert_op_before(shaped, user)
        for number, x in enumerate(user.operands):
            if x is copy:
                user.operands[number] = shaped.result


def _use_scalar(user: Operation, fill: SSAValue, value: SSAValue) -> None:
    if isinstance(user, linalg.GenericOp):
        kept = [n for n, x in enumerate(user.operands) if x is not fill or n >= len(user.inputs)]
        maps = [user.indexing_maps.data[n].data for n in kept]
        if not _covers(maps, maps[0].num_dims):
            return
        applied("replaced the constant tensor {} in {} by its element", fill, user, size=[fill])
        drop_inputs(user, [n for n in range(len(user.inputs)) if n not in kept], value)
    elif isinstance(user, tensor.ExtractOp) and user.indices:
        user.result.replace_all_uses_with(value)
        user.detach()
        user.erase()


def drop_inputs(op: linalg.GenericOp, numbers: Sequence[int], value: SSAValue) -> None:
    """Remove inputs of a generic whose elements all equal `value`, a scalar that may be computed in its body."""
    block = op.body.block
    for number in reversed(numbers):
        block.args[number].replace_all_uses_with(value)
        block.erase_arg(block.args[number])
    inputs = [x for n, x in enumerate(op.inputs) if n not in numbers]
    maps = [m for n, m in enumerate(op.indexing_maps) if n not in numbers]
    body = Region()
    op.body.move_blocks(body)
    new = generic(inputs, op.outputs, body, maps, list(op.iterator_types))
    parent = op.parent
    assert parent is not None
    new.location = op.location
    parent.insert_op_before(new, op)
    for old, result in zip(op.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    op.detach()
    op.erase()


def _compose(inner: AffineMap, outer: AffineMap) -> AffineMap:
    """The composed index map inner ∘ outer. The results of `inner` must be dims or constants."""
    results: list[AffineExpr] = []
    for e in inner.results:
        results.append(outer.results[e.position] if isinstance(e, AffineDimExpr) else e)
    return AffineMap(outer.num_dims, 0, tuple(results))


def _covers(maps: Sequence[AffineMap], rank: int) -> bool:
    """True if the maps still determine the extent of every loop: each of the `rank` dims indexes some operand."""
    found = {e.position for m in maps for e in m.results if isinstance(e, AffineDimExpr)}
    return len(found) == rank


def _index_value(expression: AffineExpr, where: Sequence[SSAValue], user: Operation) -> SSAValue:
    if isinstance(expression, AffineDimExpr):
        return where[expression.position]
    assert isinstance(expression, AffineConstantExpr)
    constant = arith.ConstantOp(IntegerAttr(expression.value, index), index)
    assert user.parent is not None
    constant.location = user.location
    user.parent.insert_op_before(constant, user)
    return constant.result


def _replace(old: Operation, new: Operation, value: SSAValue) -> None:
    assert old.parent is not None
    new.location = old.location
    old.parent.insert_op_before(new, old)
    old.results[0].replace_all_uses_with(value)
    old.detach()
    old.erase()


# --- arithmetic ----------------------------------------------------------------------------------------------------


def _fold_arithmetic(op: Operation) -> None:
    """Simplify x·1, x/1, x−0, x+(−0), −(−x), and x/2^k to x·2^−k: exact for every x, nan and signed zeros included.

    Powers like x^1.5 become products and square roots.
    """
    match op:
        case _ if type(op) not in _FOLDED:
            pass
        case arith.MulfOp() if _is_constant(op.rhs, 1.0):
            _forward(op, op.lhs)
        case arith.MulfOp() if _is_constant(op.lhs, 1.0):
            _forward(op, op.rhs)
        case arith.DivfOp() if _is_constant(op.rhs, 1.0):
            _forward(op, op.lhs)
        case arith.SubfOp() if _is_constant(op.rhs, 0.0):
            _forward(op, op.lhs)
        case arith.NegfOp() if isinstance(op.operand.owner, arith.NegfOp):
            _forward(op, op.operand.owner.operand)
        case arith.DivfOp() if (inverse := _exact_inverse(op.rhs)) is not None:
            _multiply(op, inverse)
        case PowFOp():
            expand_half_power(op)
        case _:
            pass


_FOLDED: Final = frozenset({arith.MulfOp, arith.DivfOp, arith.SubfOp, arith.NegfOp, PowFOp})


def _exact_inverse(x: SSAValue) -> float | None:
    """1/x for a constant power of two, if both are normal numbers of the type; else None."""
    if not isinstance(x.owner, arith.ConstantOp) or not isinstance(x.owner.value, FloatAttr):
        return None
    value, limit = x.owner.value.value.data, _LARGEST_POWER.get(x.type, 0)
    mantissa, exponent = math.frexp(value)
    return 1 / value if abs(mantissa) == 0.5 and abs(exponent - 1) <= limit else None


def _multiply(op: arith.DivfOp, inverse: float) -> None:
    """Replace a division by the cheaper multiplication by `inverse`, which readers can inline."""
    assert isinstance(op.result.type, AnyFloat) and isinstance(op.rhs.owner, Operation)
    applied("replaced the division by a power of two in {} by a multiplication", op)
    constant = arith.ConstantOp(FloatAttr(inverse, op.result.type))
    constant.location = op.rhs.owner.location
    assert op.rhs.owner.parent is not None
    op.rhs.owner.parent.insert_op_after(constant, op.rhs.owner)
    with ScalarBuilder(builder_before(op), op.fastmath).active():
        product = Scalar(op.lhs, RAW) * Scalar(constant.result, RAW)
    Rewriter.replace_op(op, [], [product.ssa])


def _is_constant(x: SSAValue, value: float) -> bool:
    owner = x.owner
    return (
        isinstance(owner, arith.ConstantOp)
        and isinstance(owner.value, FloatAttr)
        and str(owner.value.value.data) == str(value)
    )


def _forward(op: Operation, value: SSAValue) -> None:
    applied("removed arithmetic from {} that does not change its value", op)
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()


def _erase_dead(block: Block) -> None:
    """Erase operations without effect whose results nothing uses, last ones first."""
    for op in reversed(list(block.ops)):
        for region in op.regions:
            for inner in region.blocks:
                _erase_dead(inner)
        if op.results and not any(r.uses for r in op.results) and _has_no_effect(op):
            if isinstance(op, linalg.GenericOp):
                applied("removed {}: no operation reads it", op, size=op.results)
            op.detach()
            op.erase()
        elif isinstance(op, LapackOp):
            drop_unused_results(op)


def _has_no_effect(op: Operation) -> bool:
    return isinstance(op, linalg.GenericOp | func.CallOp) or is_side_effect_free(op)
