"""NumPy semantics of `aot.kernel`: the kernel runs as Python, once for each sample."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType

from aotensor.core.types import Array
from aotensor.core.types import TensorType as GraphType
from aotensor.errors import InternalError
from aotensor.ir.dialect_sparse import KernelOp
from aotensor.ir.interpreter.scalar_values import numpy_dtype
from aotensor.kernels.op_kernel import KERNELS, OpKernel


def kernel_of(op: KernelOp) -> OpKernel:
    """The kernel that an operation calls.   Raises: InternalError for one of another process"""
    symbol = op.kernel.data
    if symbol not in KERNELS:
        raise InternalError(f"aot.kernel: {symbol} is not known", hint="import the module that defines the op")
    return KERNELS[symbol]


def interpret_kernel(op: KernelOp, operands: Sequence[Array]) -> list[Array]:
    """The results of one `aot.kernel` operation."""
    count, (given, made) = len(op.arguments), op.dtypes_of()
    inputs = [x.view(dtype) for x, dtype in zip(operands, given, strict=False)]
    sizes = iter(operands[count:])
    shapes = []
    for x in op.tensors:
        assert isinstance(x.type, TensorType)
        shapes.append([int(next(sizes)) if n == DYNAMIC_INDEX else n for n in x.type.get_shape()])
    front = int(any(op.is_batched))
    types = [
        GraphType(dtype, () if is_number else tuple(shape[front:]))
        for dtype, shape, is_number in zip(made, shapes, op.is_number, strict=True)
    ]
    found = kernel_of(op).run_samples(inputs, op.is_batched, types)
    kinds = [numpy_dtype(x.type.element_type) for x in op.tensors if isinstance(x.type, TensorType)]
    return [x.reshape(shape).view(kind) for x, shape, kind in zip(found, shapes, kinds, strict=True)]
