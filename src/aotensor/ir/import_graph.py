"""Import the nodes of a graph into a function at tensor level that is under construction."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.types import Array
from aotensor.errors import AotensorError, MissingInputError
from aotensor.graph.op import Apply
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import evaluate_all, leaves, toposort
from aotensor.ir.index_builder import Tensor
from aotensor.ir.location import locate_after
from aotensor.ir.tensor_builder import TensorBuilder


def import_graph(
    builder: TensorBuilder, targets: Sequence[Variable], inputs: Mapping[Variable, Tensor], name: str
) -> list[Tensor]:
    """Emit the nodes that compute the variables `targets` from `inputs`; return the IR values of the targets.

    name: the function's name, for messages.

    Raises: MissingInputError for a leaf that is not an input, the errors of typing rules with the operands named.
    """
    return _Importer(builder, inputs, name).run(targets, inputs.keys())


_LARGEST: Final = 1 << 16
"""Elements of a tensor whose contents are computed when a program is compiled."""


def _is_small(x: Variable) -> bool:
    shape = x.static_shape
    return not x.is_sparse and all(n is not None for n in shape) and math.prod(n or 0 for n in shape) <= _LARGEST


def _contents_of(x: Variable) -> Array | None:
    try:
        with np.errstate(all="ignore"):
            return evaluate_all([x], {})[0]
    except AotensorError:  # a check of these constants fails, as it does in the call
        return None


class _Importer:
    def __init__(self, builder: TensorBuilder, inputs: Mapping[Variable, Tensor], name: str) -> None:
        self.builder = builder
        self.name = name
        self.values: dict[Variable, Tensor] = dict(inputs)
        self.fixed: set[Variable] = set()

    def run(self, targets: Sequence[Variable], inputs: Collection[Variable]) -> list[Tensor]:
        for x in leaves(targets, stop=inputs):
            if isinstance(x, Constant) and x not in self.values:
                self.values[x] = self._constant(x)
            elif x not in self.values:
                raise MissingInputError(f"{self.name}: {x} is needed but is not an input", lines=[x.describe()])
        for node in toposort(targets, stop=inputs):
            self.values.update(zip(node.outputs, self._lower(node), strict=True))
            self._note_contents(node, inputs)
        return [self.values[x] for x in targets]

    def _note_contents(self, node: Apply, inputs: Collection[Variable]) -> None:
        """Record which small integer tensors follow from constants: positions from these need no check in each call."""
        if any(x not in self.fixed and (x in inputs or not isinstance(x, Constant)) for x in node.inputs):
            return
        if all(_is_small(x) for x in node.outputs):
            self.fixed.update(node.outputs)
            for x in node.outputs:
                if dtypes.is_discrete(x.dtype) and x.dtype != "bool":
                    self.builder.know(self.values[x], cache(partial(_contents_of, x)))

    def _constant(self, x: Constant) -> Tensor:
        last = self.builder.block.last_op
        made = self.builder.constant(x.data, x.dtype)
        locate_after(last, self.builder.block, self.builder.locations.at(x.site))
        return made

    def _lower(self, node: Apply) -> tuple[Tensor, ...]:
        operands = [self.values[x] for x in node.inputs]
        outside, self.builder.where = self.builder.where, node
        last = self.builder.block.last_op
        try:
            builder: Any = self.builder  # the protocol says Tensor, the builder needs its own type
            with builder.scalars.active():
                lowered: Any = node.op.lower(builder, *operands)
        except AotensorError as error:
            if error.is_located:
                raise
            found, failed = error.diagnostic, self.builder.where  # the op itself, or one that is fused with others
            lines = [*found.lines, *(x.describe() for x in failed.inputs)]
            raise type(error)(f"{failed.op.name}: {found.title}", lines=lines, hint=found.hint) from error
        finally:
            self.builder.where = outside
        locate_after(last, self.builder.block, self.builder.locations.location_of(node))
        results: tuple[Tensor, ...] = lowered if isinstance(lowered, tuple) else (lowered,)
        for result, out in zip(results, node.outputs, strict=True):
            assert (result.dtype, len(result.extents)) == (out.dtype, out.ndim), f"{node.op}: lowered to another type"
        return results
