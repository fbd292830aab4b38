"""The table of splitting rules, one for each op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from aotensor.graph.op import Op
from aotensor.ops.batching import TrailingOp
from aotensor.ops.contract import Contract
from aotensor.ops.create import Alloc, FullLike
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.gradient_control import ViewOp
from aotensor.ops.index import IncSubtensor, Subtensor
from aotensor.ops.integer_indexing import AdvancedSubtensor, IncAdvancedSubtensor
from aotensor.ops.linalg.cholesky import CholeskyPullback
from aotensor.ops.linalg.lu import FactoredOp
from aotensor.ops.linalg.solve import CholeskySolve, LuSolve
from aotensor.ops.linalg.triangular import TriangularOp
from aotensor.ops.mask import Nonzero
from aotensor.ops.permute_rows import PermuteRowElements
from aotensor.ops.random.draw import Draw
from aotensor.ops.random.noise import Noise
from aotensor.ops.random.philox import Philox
from aotensor.ops.ranges import Arange
from aotensor.ops.reduce.cumulate import CumProd, CumSum
from aotensor.ops.reduce.deviations import SquaredDeviations
from aotensor.ops.reduce.extremum import ArgExtremum, Extremum, ExtremumMask
from aotensor.ops.reduce.normalise import LogSoftmax, LogSumExp, Softmax
from aotensor.ops.reduce.recurrence import LinearRecurrence, Shift
from aotensor.ops.reduce.sort import Permute, Sort
from aotensor.ops.reduce.sums import Prod, Quantifier, Sum
from aotensor.ops.reduce.without_zeros import ProdWithoutZeros
from aotensor.ops.scan.branch import Branch, IfElse
from aotensor.ops.scan.op import Scan
from aotensor.ops.shape.axes import DimShuffle
from aotensor.ops.shape.broadcast import SpecifyShape
from aotensor.ops.shape.extent_checks import ExtentCheck
from aotensor.ops.shape.extents import ShapeI
from aotensor.ops.shape.join import Join, Split
from aotensor.ops.shape.reshape import Reshape
from aotensor.sparse.checks import CheckedStructure
from aotensor.sparse.compressed_axes import ExpandSlices, SegmentSum, SumAt, TakeAt
from aotensor.sparse.csm import CSM, CSMProperties, MatrixExtent, MatrixShape
from aotensor.sparse.patterns import OtherFormat
from aotensor.splitting import along_axes, elementwise_rules, indexing_rules, sparse_rules
from aotensor.splitting.places import NodeView, NotSplittable, Splitting
from aotensor.splitting.row_wise import ROW_WISE

Rule: TypeAlias = Callable[[NodeView], Splitting]


def refused(reason: str, hint: str | None = None) -> Rule:
    """A rule that always refuses, for ops that need all rows at once."""

    def refuse(view: NodeView) -> Splitting:
        raise NotSplittable(reason, hint)

    return refuse


_LOOP = refused("a loop or a branch may pass values from one row to the next", "write it with ops on whole arrays")
_RANDOM = refused(
    "it draws random numbers for all rows from one state", "draw them outside, and pass them as an input with this dim"
)

RULES: Final[dict[Any, Rule]] = {
    AdvancedSubtensor: indexing_rules.advanced_subtensor,
    Alloc: elementwise_rules.alloc,
    Arange: elementwise_rules.arange,
    ArgExtremum: along_axes.reduction,
    Branch: _LOOP,
    CSM: sparse_rules.csm,
    CSMProperties: sparse_rules.csm_properties,
    CheckedStructure: sparse_rules.checked_structure,
    CholeskyPullback: along_axes.per_matrix,
    CholeskySolve: along_axes.solve,
    Contract: along_axes.contract,
    CumProd: along_axes.along,
    CumSum: along_axes.along,
    DimShuffle: elementwise_rules.dimshuffle,
    Draw: _RANDOM,
    Elementwise: elementwise_rules.elementwise,
    ExpandSlices: sparse_rules.expand_slices,
    Extremum: along_axes.reduction,
    ExtremumMask: along_axes.extremum_mask,
    FactoredOp: along_axes.per_matrix,
    ExtentCheck: elementwise_rules.fitting,
    FullLike: elementwise_rules.full_like,
    IfElse: _LOOP,
    IncAdvancedSubtensor: indexing_rules.inc_advanced_subtensor,
    IncSubtensor: indexing_rules.inc_subtensor,
    Join: along_axes.along,
    LinearRecurrence: along_axes.along,
    LogSoftmax: along_axes.normalised,
    LogSumExp: along_axes.reduction,
    LuSolve: along_axes.solve,
    MatrixExtent: sparse_rules.matrix_extent,
    MatrixShape: sparse_rules.matrix_shape,
    Noise: _RANDOM,
    OtherFormat: refused(
        "converting between csr and csc sorts the stored entries of all rows",
        "keep csr: A.T @ A, A.T @ (A @ w) and A + B of csr matrices are split",
    ),
    Nonzero: refused("the number of its elements depends on the values of all rows", "use switch(condition, x, 0)"),
    Permute: along_axes.along,
    PermuteRowElements: along_axes.along_last,
    Philox: _RANDOM,
    Prod: along_axes.reduction,
    ProdWithoutZeros: along_axes.reduction,
    Quantifier: along_axes.reduction,
    Reshape: elementwise_rules.reshape,
    Scan: _LOOP,
    SegmentSum: sparse_rules.segment_sum,
    ShapeI: elementwise_rules.shape_i,
    Shift: along_axes.along,
    Softmax: along_axes.normalised,
    Sort: along_axes.along,
    SpecifyShape: elementwise_rules.checked,
    Split: along_axes.along,
    SquaredDeviations: along_axes.reduction,
    Subtensor: indexing_rules.subtensor,
    Sum: along_axes.reduction,
    SumAt: sparse_rules.sum_at,
    TakeAt: sparse_rules.take_at,
    TrailingOp: along_axes.trailing,
    TriangularOp: along_axes.solve,
    ViewOp: elementwise_rules.view,
    **ROW_WISE,
}
"""Rules by class; a class without one inherits that of its base."""

COUNTING: Final = (Alloc, Arange, Draw, MatrixShape, Noise, Philox, Reshape)
"""Ops that create rows from a number of rows."""
NO_RULE: Final = refused("this op has no rule for chunks of rows", "define the op's `expand`, in ops that have rules")


def rule_of(op: Op) -> Rule:
    """The splitting rule of an op; a rule that refuses if the table has none."""
    return next((RULES[base] for base in type(op).__mro__ if base in RULES), NO_RULE)
