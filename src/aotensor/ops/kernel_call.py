"""Ops with kernels: each is replaced by a call of its kernel, whose outputs have extents by the op's type rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aotensor.core.builders import Extent, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphError, GraphValueError, UnsupportedError
from aotensor.graph.op import Apply, Op
from aotensor.graph.operations import KnownValues, dense
from aotensor.graph.variable import Variable
from aotensor.graph.walk import evaluate_all
from aotensor.kernels.op_kernel import OpKernel, op_kernel
from aotensor.ops.batching import check_nondifferentiable
from aotensor.ops.create import known_extents, lowered_extents
from aotensor.ops.shape.extents import SymbolicExtent, as_extent, dim_of, dims_at, extent_of, extents_of, product


@frozen_dataclass
class KernelCall(Op):
    """The outputs of a kernel: its inputs, then the extents that are not numbers in `types`.

    types: of the outputs for one sample. batched: has the input a leading axis of samples? All False: no batch.
    """

    name: ClassVar[str] = "kernel"
    kernel_of_op: OpKernel
    types: tuple[TensorType, ...]
    batched: tuple[bool, ...]

    def __post_init__(self) -> None:
        self.__dict__.update(name=self.kernel_of_op.name)  # of this instance, not of the class

    def __str__(self) -> str:
        return f"{self.name}{{kernel={self.kernel_of_op.symbol}}}"

    def infer_type(self, *types: TensorType) -> tuple[TensorType, ...]:
        count = len(self.batched)
        samples = [x.shape[0] for x, on in zip(types, self.batched, strict=False) if on]
        single = [TensorType(x.dtype, x.shape[1:]) if on else x
                  for x, on in zip(types, self.batched, strict=False)]  # fmt: skip
        self.kernel_of_op.check(single, self.types)
        if len(types) != count + sum(not isinstance(n, int) for n in self._dims()):
            raise GraphValueError(f"{self.name}: an extent is needed for each unknown dim of the outputs")
        known = [n for n in samples if n is not None]
        front: tuple[Dim, ...] = (known[0] if known else None,) if samples else ()
        return tuple(TensorType(x.dtype, front + x.shape) for x in self.types)

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> tuple[TensorType, ...]:
        dims = dims_at(self.name, self._dims(), node.inputs[len(self.batched) :], known)
        filled = self._filled(dims)
        samples = [x.shape[0] for x, on in zip(types, self.batched, strict=False) if on]
        return tuple(TensorType(x.dtype, (*samples[:1], *x.shape)) for x in filled)

    def reference(self, *inputs: Array) -> tuple[Array, ...]:
        count = len(self.batched)
        outputs = self._filled(known_extents(self.name, self._dims(), inputs[count:]))
        single = [x.shape[on:] for x, on in zip(inputs, self.batched, strict=False)]
        types = [TensorType(x.dtype.name, shape) for x, shape in zip(inputs, single, strict=False)]
        self.kernel_of_op.check(types, outputs)
        samples = {len(x) for x, on in zip(inputs, self.batched, strict=False) if on}
        if len(samples) > 1:
            raise GraphValueError(f"{self.name}: numbers of samples differ: {' and '.join(map(str, sorted(samples)))}")
        return self.kernel_of_op.run_samples(inputs[:count], self.batched, outputs)

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        count = len(self.batched)
        check_nondifferentiable(self, is_batched, first=count)
        if not any(self.batched):
            return KernelCall(self.kernel_of_op, self.types, tuple(is_batched[:count])).apply(*inputs).outputs
        return self._batch_of_batches(inputs, is_batched)

    def _batch_of_batches(self, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        """The outputs for two axes of samples; the inner one is that of this op."""
        count = len(self.batched)
        outer = extent_of(inputs[list(is_batched).index(True)], 0)
        first = self.batched.index(True)
        inner = extent_of(inputs[first], int(is_batched[first]))
        flat = []
        for x, on, new in zip(inputs, self.batched, is_batched, strict=False):
            if not (on or new):
                flat.append(x)
                continue
            rest = [extent_of(x, axis) for axis in range(on + new, x.ndim)]
            pattern = [0 if new else None, int(new) if on else None, *range(on + new, x.ndim)]
            whole = dense.alloc(dense.dimshuffle(x, pattern), outer, inner, *rest)
            flat.append(dense.reshape(whole, (product([outer, inner]), *rest)))
        wide = tuple(on or new for on, new in zip(self.batched, is_batched, strict=False))
        found = KernelCall(self.kernel_of_op, self.types, wide).apply(*flat, *inputs[count:]).outputs
        return [dense.reshape(y, (outer, inner, *extents_of(y)[1:])) for y in found]

    def lower(self, b: TensorBuilder, *operands: Tensor) -> tuple[Tensor, ...]:
        count = len(self.batched)
        inputs, kernel = operands[:count], self.kernel_of_op
        for name, places in kernel.axes().items():
            found: list[Extent] = [inputs[k].extents[axis + self.batched[k]] for k, axis in places]
            b.same_extent([*found, *([name] if isinstance(name, int) else [])], kernel.what(name))
        extents = iter(lowered_extents(b, self._dims(), operands[count:], [n for x in inputs for n in x.extents]))
        results = [(x.dtype, [next(extents) for _ in x.shape]) for x in self.types]
        return b.kernel(kernel.symbol, inputs, self.batched, results)

    def _dims(self) -> tuple[Dim, ...]:
        """The dims of all outputs, one after the other."""
        return tuple(n for x in self.types for n in x.shape)

    def _filled(self, dims: Sequence[Dim]) -> list[TensorType]:
        """The types of the outputs of one sample with these dims."""
        rest = iter(dims)
        return [TensorType(x.dtype, tuple(next(rest) for _ in x.shape)) for x in self.types]


def expand(op: Op, inputs: Sequence[Variable]) -> Sequence[Variable]:
    """The outputs of an op by a call of its kernel.   Raises: UnsupportedError for an extent that no rule gives"""
    types, extents = _output_extents(op, inputs)
    known = tuple(TensorType(x.dtype, tuple(dim_of(n) for n in row)) for x, row in zip(types, extents, strict=True))
    call = KernelCall(op_kernel(op, op.name), known, (False,) * len(inputs))
    needed = [n for x, row in zip(known, extents, strict=True) for dim, n in zip(x.shape, row, strict=True)
              if not isinstance(dim, int)]  # fmt: skip
    return call.apply(*inputs, *needed).outputs


def reference(op: Op, *inputs: Array) -> tuple[Array, ...]:
    """The outputs of an op for arrays, by its kernel as Python."""
    slots = [Variable(TensorType(x.dtype.name, x.shape)) for x in map(np.asarray, inputs)]
    node = expand(op, slots)[0].owner
    assert node is not None
    extents = evaluate_all(node.inputs[len(slots) :], dict(zip(slots, inputs, strict=True)))
    found: tuple[Array, ...] = node.op.reference(*inputs, *extents)
    return found


def check(op: Op, inputs: Sequence[Variable], outputs: Sequence[TensorType]) -> None:
    """Check that the kernel of an op has arguments for these inputs and outputs.   Raises: as `OpKernel.check`"""
    op_kernel(op, op.name).check([x.tensor_type for x in inputs], outputs)


def _output_extents(op: Op, inputs: Sequence[Variable]) -> tuple[Sequence[TensorType], list[list[SymbolicExtent]]]:
    """The types of the outputs, and their extents: of inputs with the same dim, else by the rule `output_extents`."""
    origin: dict[str, SymbolicExtent] = {}
    renamed = []
    for number, x in enumerate(inputs):
        dims: list[Dim] = []
        for axis, dim in enumerate(x.tensor_type.shape):
            name = f"dim_{number}_{axis}" if dim is None else dim
            if isinstance(name, str):
                origin.setdefault(name, extent_of(x, axis))
            dims.append(name)
        renamed.append(TensorType(x.dtype, tuple(dims)))
    try:
        found: Any = op.infer_type(*renamed)
    except GraphError:  # it compares dims that are unknown
        found = op.infer_type(*(x.tensor_type for x in inputs))
    types = found if isinstance(found, tuple | list) else (found,)
    given = op.output_extents(inputs)
    extents: list[list[SymbolicExtent]] = []
    for number, x in enumerate(types):
        row = [None] * x.rank if given is None else [as_extent(n) for n in given[number]]
        if len(row) != x.rank:
            raise GraphValueError(f"{op.name}: output_extents gave {len(row)} for output {number}, which is {x}")
        extents.append([_extent(op, number, axis, dim, origin, n)
                        for axis, (dim, n) in enumerate(zip(x.shape, row, strict=True))])  # fmt: skip
    return types, extents


def _extent(
    op: Op, number: int, axis: int, dim: Dim, origin: dict[str, SymbolicExtent], given: SymbolicExtent | None
) -> SymbolicExtent:
    """The extent of an output along an axis.   Raises: UnsupportedError if no rule of the op says it"""
    if isinstance(dim, int):
        return dim
    if given is not None:
        return given
    if dim in origin:
        return origin[dim]
    raise UnsupportedError(
        f"{op.name}: the extent of output {number} along axis {axis} is not that of an input",
        hint="define `output_extents(self, inputs)` in the op: for each output a tuple of numbers and integer scalars",
    )
