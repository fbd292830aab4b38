"""Sum before multiplying: move a factor that is common to all terms of a sum out of the sum.

    Σ_n Σ_i P[n, i]·Q[i, j]      →      Σ_i (Σ_n P[n, i])·Q[i, j]

Gradients of values that are shared by all samples have this form: the cotangent of `X - mean` is multiplied by a matrix
for each sample, and the results are summed. Afterwards the product has one axis less, and the sum before it reads the
operand of the former product. Signs and factors between the two sums, which are linear too, are applied to the result.

The rewrite reassociates sums (`reassoc`): finite results differ by rounding, unless a partial sum overflows; with
infinite factors, nan may become infinite.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, Float32Type, Float64Type, FloatAttr, ModuleOp, TensorType
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import Rewriter

from aotensor.ir.context import functions_of
from aotensor.ir.index_builder import dimension, generic, index_map
from aotensor.ir.location import LocatedBuilder, builder_at_end, builder_before, locate
from aotensor.ir.scalar_builder import Scalar, ScalarBuilder
from aotensor.ir.types import DTYPE_OF_FLOAT
from aotensor.passes.nest.extents import Extents, ExtentValues
from aotensor.passes.products.repeated_sums import sum_once
from aotensor.passes.products.sums_of_products import Factor, Scale, SumOfProducts, sum_of_products
from aotensor.passes.registry import ir_pass
from aotensor.passes.remarks import applied


@ir_pass("factor-sums", level="tensor", topic="loops")
def factor_sums(module: ModuleOp) -> None:
    """Factors common factors out of sums, Σₙ Σᵢ P[n, i]·Q[i, j] → Σᵢ (Σₙ P[n, i])·Q[i, j], where this saves
    products and sums may be reassociated; computes a sum once that is the same along an axis of its result, as in the
    product with a tensor of ones.
    """
    for function in functions_of(module):
        sum_once(function)
        for op in reversed(list(function.body.block.ops)):
            if isinstance(op, linalg.GenericOp) and op.parent is not None:
                product = sum_of_products(op)
                if product is not None and (factors := _sum_first(product)) is not None:
                    text = "factored {}: it multiplies the sum over {} instead of each term"
                    applied(text, op, factors[0].tensor, size=op.results)
                    _rewrite(function, product, *factors)


def _sum_first(product: SumOfProducts) -> tuple[Factor, Factor] | None:
    """(factor to sum first, other factor); None if the product has no more terms than its factors have elements."""
    one, two = product.factors
    for first, other in ((one, two), (two, one)):
        alone = product.summed.intersection(first.axes) - {*other.axes}
        repeats = any(n != 1 and axis not in first.axes for axis, n in zip(other.axes, other.shape, strict=True))
        if alone and repeats:
            return first, other
    return None


# --- what is put there -----------------------------------------------------------------------------------------------


def _rewrite(function: func.FuncOp, product: SumOfProducts, first: Factor, other: Factor) -> None:
    """Sum one factor over the indices that the other one lacks, multiply, and sum over the remaining indices."""
    root = product.chain[0]
    make = _Maker(function, product)
    rest = tuple(axis for axis in first.axes if axis not in product.summed or axis in other.axes)
    factor = Factor(make.sum((first,), rest), rest)
    result = make.sum((factor, other), product.result)
    if product.scales:
        result = make.scaled(Factor(result, product.result), product.scales)
    Rewriter.replace_op(root, [], [result])
    for op in product.chain[1:]:
        Rewriter.erase_op(op)


class _Maker:
    """Builds generics before the last sum of a product, with that sum's element type and fast-math flags."""

    def __init__(self, function: func.FuncOp, product: SumOfProducts) -> None:
        self.b, kind = builder_before(product.chain[0]), product.last.result.type
        assert isinstance(kind, Float32Type | Float64Type)
        self.kind: Float32Type | Float64Type = kind
        self.flags = product.last.fastmath
        self.dtype = DTYPE_OF_FLOAT[kind]
        self.exact = arith.FastMathFlagsAttr([flag for flag in self.flags.data if flag != FastMathFlag.REASSOC])
        extents = Extents(function)
        values = ExtentValues(function, extents)
        self.numbers: dict[int, int] = {}
        self.sizes: dict[int, SSAValue] = {}
        for x in product.factors:
            for axis, number, key in zip(x.axes, x.shape, extents.shape(x.tensor), strict=True):
                if number != DYNAMIC_INDEX:
                    self.numbers[axis] = number
                elif axis not in self.sizes:
                    self.sizes[axis] = values.value_of(key)

    def sum(self, factors: Sequence[Factor], result: tuple[int, ...]) -> SSAValue:
        """Build the sum of the product of some factors over all indices that the result lacks."""
        summed = tuple(dict.fromkeys(axis for x in factors for axis in x.axes if axis not in result))
        body = Block(arg_types=[*(x.element for x in factors), self.kind])
        with ScalarBuilder(builder_at_end(body, self.b.location), self.exact).active() as b:
            term = reduce(operator.mul, [self._widened(b, x) for x in body.args[:-1]])
            if summed:
                with b.using(self.flags):
                    term = Scalar(body.args[-1], self.dtype) + term
        return self._generic(factors, body, term.ssa, result, summed)

    def scaled(self, x: Factor, scales: Sequence[Scale]) -> SSAValue:
        """Multiply x by scales; None: change the sign. A scalar needs no loop, so no generic."""
        if not x.axes:
            value = self._times(self.b, self.b.insert(tensor.ExtractOp(x.tensor, [], self.kind)).result, scales)
            return self.b.insert(tensor.SplatOp(value, [], TensorType(self.kind, []))).result
        body = Block(arg_types=[self.kind, self.kind])
        value = self._times(builder_at_end(body, self.b.location), body.args[0], scales)
        return self._generic((x,), body, value, x.axes, ())

    def _times(self, b: LocatedBuilder, value: SSAValue, scales: Sequence[Scale]) -> SSAValue:
        """Build the product of a number and scales at b."""
        outside, product = ScalarBuilder(self.b), Scalar(value, self.dtype)
        with ScalarBuilder(b, self.exact).active():
            for number in scales:
                product = -product if number is None else product * self._widened(outside, number)
        return product.ssa

    def _widened(self, b: ScalarBuilder, x: SSAValue) -> Scalar:
        return b.cast(Scalar(x, DTYPE_OF_FLOAT[x.type]), self.dtype)

    def _generic(
        self, factors: Sequence[Factor], body: Block, value: SSAValue, result: tuple[int, ...], summed: tuple[int, ...]
    ) -> SSAValue:
        """Build a generic whose body yields a value, as an element of the result or as a term of its sum."""
        body.add_op(linalg.YieldOp(value))
        dims = (*result, *summed)
        kind = TensorType(self.kind, [self.numbers.get(axis, DYNAMIC_INDEX) for axis in result])
        sizes = [self.sizes[axis] for axis in result if axis not in self.numbers]
        if summed:
            zero = self.b.insert(arith.ConstantOp(FloatAttr(0.0, self.kind))).result
            out = self.b.insert(tensor.SplatOp(zero, sizes, kind)).result
        else:
            out = self.b.insert(tensor.EmptyOp(sizes, kind)).tensor
        axes = [*(x.axes for x in factors), result]
        maps = [index_map(len(dims), tuple(dimension(dims.index(axis)) for axis in one)) for one in axes]
        kinds = [IteratorType.PARALLEL] * len(result) + [IteratorType.REDUCTION] * len(summed)
        op = generic([x.tensor for x in factors], [out], Region(body), maps, list(map(IteratorTypeAttr, kinds)))
        locate(op, self.b.location)
        return self.b.insert(op).results[0]
