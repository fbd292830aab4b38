"""The ops as classes, for those who build or recognise nodes: users' names, no logic."""

# ruff: noqa: I001  (names stand side by side, to be read at a glance)
# fmt: off

from __future__ import annotations

from aotensor.ops.integer_indexing import AdvancedSubtensor
from aotensor.ops.create import Alloc
from aotensor.ops.diagonal import ExtractDiagonal as ExtractDiag
from aotensor.ops.index import IncSubtensor, Subtensor
from aotensor.ops.mask import Nonzero
from aotensor.ops.class_names import (
    AdvancedIncSubtensor, AdvancedIncSubtensor1, AdvancedSubtensor1, ARange, CAReduce, Dot, Elemwise, Flatten,
    MaxAndArgmax, MulWithoutZeros, Outer, Rebroadcast, ScalarFromTensor, TensorDot, TensorFromScalar, Tile, Unique,
)
from aotensor.ops.permute_rows import PermuteRowElements
from aotensor.ops.reduce.cumulate import CumProd, CumSum
from aotensor.ops.reduce.normalise import LogSoftmax, Softmax
from aotensor.ops.reduce.sort import Sort
from aotensor.ops.reduce.sums import Prod, Sum
from aotensor.ops.reduce.without_zeros import ProdWithoutZeros
from aotensor.ops.shape.axes import DimShuffle
from aotensor.ops.shape.broadcast import SpecifyShape
from aotensor.ops.shape.extents import Shape
from aotensor.ops.shape.reshape import Reshape
from aotensor.ops.shape.join import Join, Split

__all__ = [
    "ARange", "AdvancedIncSubtensor", "AdvancedIncSubtensor1", "AdvancedSubtensor", "AdvancedSubtensor1", "Alloc",
    "CAReduce", "CumProd", "CumSum", "DimShuffle", "Dot", "Elemwise", "ExtractDiag", "Flatten", "IncSubtensor", "Join",
    "LogSoftmax", "MaxAndArgmax", "MulWithoutZeros", "Nonzero", "Outer", "PermuteRowElements", "Prod",
    "ProdWithoutZeros", "Rebroadcast", "Reshape", "ScalarFromTensor", "Shape", "Softmax", "Sort", "SpecifyShape",
    "Split", "Subtensor", "Sum", "TensorDot", "TensorFromScalar", "Tile", "Unique",
]
