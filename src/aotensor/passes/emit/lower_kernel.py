"""Lower `aot.kernel`: inline the kernel of a user's op, once or for all samples of a batch."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from math import prod
from typing import Final

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from aotensor.core import dtypes
from aotensor.core.types import TensorType as GraphType
from aotensor.ir.dialect_sparse import KernelOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.interpreter.kernels import kernel_of
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.scalar_builder import Scalar
from aotensor.kernels.op_kernel import OpKernel
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.emit.lower_window import STEP
from aotensor.passes.emit.parallel_lines import each_line
from aotensor.passes.kernels.op_context import OpContext
from aotensor.passes.kernels.translate import inline_kernel
from aotensor.passes.kernels.values import Number, Vector, number_of
from aotensor.passes.nest.work import rows_of_chunk
from aotensor.passes.target import Target

_PASSES: Final = 4
"""Assumed passes of a kernel over its arrays, as its work is not known."""


def lower_kernel(b: LoopBuilder, buffers: Buffers, op: KernelOp, target: Target) -> None:
    """Emit the kernel, for every sample of a batch on several cores."""
    is_batched = any(op.is_batched)
    shapes = [buffers.shape(x) for x in op.tensors]
    for x in op.tensors:
        buffers.buffer(x)  # allocated outside of the loop over samples
    work: Extent = prod(shapes[0][1:], start=STEP * _PASSES)

    def begin() -> Callable[[list[Scalar]], None]:
        return lambda where: _Call(b, buffers, op, target, where).emit()

    each_line(b, op, target, shapes[0][:1] if is_batched else [], work, begin)


class _Call:
    """One call of a kernel. where: the sample, if there are several."""

    def __init__(self, b: LoopBuilder, buffers: Buffers, op: KernelOp, target: Target, where: list[Scalar]) -> None:
        self.b, self.buffers, self.op, self.target, self.where = b, buffers, op, target, where
        self.kernel: OpKernel = kernel_of(op)

    def emit(self) -> None:
        op, b, kernel = self.op, self.b, self.kernel
        given, made = op.dtypes_of()
        kinds = [kind for _, kind in kernel.annotations()]
        inputs = [
            self.array(x, dtype, kind, self.where if on else [], True)
            if self.rank(x, on)
            else self.number(x, dtype, kind)
            for x, dtype, kind, on in zip(op.arguments, given, kinds, op.is_batched, strict=False)
        ]
        results = list(zip(op.tensors, made, op.is_number, strict=True))
        rest = iter(kinds[len(inputs) :])
        arrays = [
            self.array(x, dtype, next(rest), self.where, False) for x, dtype, is_number in results if not is_number
        ]
        context = OpContext(self.rows_of_chunk)
        fastmath, b.fastmath = b.fastmath, op.fastmath
        found = inline_kernel(
            b, kernel.function, *kernel.ordered([*inputs, *arrays]), real=self.real(), context=context
        )
        b.fastmath = fastmath
        b.use_location_of(op)
        numbers = [(x, dtype) for x, dtype, is_number in results if is_number]
        for (x, dtype), value in zip(numbers, found, strict=True):
            b.store(self.converted(value, dtype), self.buffers.buffer(x), self.where or [0])

    def rank(self, x: SSAValue, is_batched: bool) -> int:
        """The rank of an argument for one sample."""
        return x.type.get_num_dims() - is_batched if isinstance(x.type, TensorType) else 0

    def array(self, x: SSAValue, dtype: str, kind: str, where: Sequence[Extent], is_input: bool) -> Vector:
        """An argument or a result as an array of the kernel."""
        extents = tuple(self.buffers.shape(x)[len(where) :])
        converted = dtypes.INDEX if kind == "Indices" else None
        return Vector(self.buffers.buffer(x), dtype, lambda *k: [*where, *k], converted, extents, is_input)

    def number(self, x: SSAValue, dtype: str, kind: str) -> Scalar:
        """An argument of rank 0."""
        if isinstance(x.type, TensorType):
            found = self.b.fetch(self.buffers.buffer(x), self.where, dtype)
        else:
            found = Scalar(self.buffers.scalar(x).ssa, dtype)
        return self.b.cast(found, dtypes.INDEX) if kind == "Index" else found

    def converted(self, value: Number, dtype: str) -> Scalar:
        """A result of the kernel in the dtype of the output.   Raises: KernelError if it has another dtype"""
        found = number_of(self.b, value, dtype)
        if found.dtype == dtypes.INDEX and dtype in dtypes.INTEGERS:
            return self.b.cast(found, dtype)
        if found.dtype != dtype:
            source = self.kernel.source
            last: ast.AST = source.tree.body[-1]
            raise source.error(last, f"a result is {found.dtype} where the output is {dtype}")
        return found

    def real(self) -> str:
        """The dtype of `Real`."""
        given, made = self.op.dtypes_of()
        ranks = [self.rank(x, on) for x, on in zip(self.op.arguments, self.op.is_batched, strict=True)]
        inputs = [GraphType(dtype, (None,) * rank) for dtype, rank in zip(given, ranks, strict=True)]
        outputs = [GraphType(dtype, () if on else (None,)) for dtype, on in zip(made, self.op.is_number, strict=True)]
        return self.kernel.real(inputs, outputs)

    def rows_of_chunk(self, count: Extent, work: Extent) -> Extent:
        target = self.target
        return rows_of_chunk(self.b, count, work, target.chunk_work, target.most_chunks, 1)
