"""Remove zeros, merge duplicates or sort entries, without a change of elements. Gradients pass unchanged (regular)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import TensorType
from aotensor.graph.sparse_type import SparseVariable, canonical_matrix
from aotensor.graph.variable import Variable, constant
from aotensor.ops.elementwise.compare import neq
from aotensor.sparse.csm import matrix_of, parts_of
from aotensor.sparse.op import SparseOp, as_sparse, need_sparse, scipy_matrix
from aotensor.sparse.patterns import canonical, compress, other_format, slices_of
from aotensor.sparse.reformat import PassingOp


class SameElements(PassingOp):
    """An op whose result has the elements of its matrix, in the same format."""

    def infer_type(self, x: TensorType) -> TensorType:
        return need_sparse(self, x)


@frozen_dataclass
class EnsureSortedIndices(SameElements):
    """x with the entries of each slice sorted by index; duplicates are kept, in their order.

    inplace: accepted and without effect, no op works in place.
    """

    name: ClassVar[str] = "ensure_sorted_indices"
    takes_blocks: ClassVar[bool] = True
    inplace: bool = False

    def reference(self, x: Any) -> Any:
        order = np.lexsort((x.indices, slices_of(x.indptr)))
        return scipy_matrix(x.format, x.data[order], x.indices[order], x.indptr, x.shape)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        p = parts_of(inputs[0])
        return [inputs[0] if p.is_canonical else matrix_of(other_format(other_format(p)))]


@frozen_dataclass
class Remove0(SameElements):
    """x without its stored zeros; duplicate entries stay apart, and a nan is kept.

    inplace: accepted and without effect, no op works in place.
    """

    name: ClassVar[str] = "remove0"
    inplace: bool = False

    def reference(self, x: Any) -> Any:
        keep = x.data != 0
        counts = np.bincount(slices_of(x.indptr)[keep], minlength=len(x.indptr) - 1)
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(x.indptr.dtype)
        return scipy_matrix(x.format, x.data[keep], x.indices[keep], indptr, x.shape)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        p = parts_of(inputs[0])
        return [matrix_of(compress(p, neq(p.data, constant(0, dtype=p.data.dtype))))]


@frozen_dataclass
class Copy(SameElements):
    """A new variable with the value of x."""

    name: ClassVar[str] = "sparse_copy"
    notation: ClassVar[str] = "{0}"
    takes_blocks: ClassVar[bool] = True

    def reference(self, x: Any) -> Any:
        return x.copy()

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        return inputs


sparse_copy = Copy()


@frozen_dataclass
class Canonical(SameElements):
    """x with the entries of each slice sorted, and duplicates added up."""

    name: ClassVar[str] = "canonical"
    notation: ClassVar[str] = "{0}"
    takes_blocks: ClassVar[bool] = True
    gives_canonical: ClassVar[bool] = True

    def infer_type(self, x: TensorType) -> TensorType:
        return need_sparse(self, x).sorted()

    def reference(self, x: Any) -> Any:
        return canonical_matrix(x)

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        return [matrix_of(canonical(parts_of(inputs[0])))]


def ensure_sorted_indices(x: Any) -> SparseVariable:
    """x with the entries of each slice sorted; x itself if it is known to be sorted.

    Raises: GraphTypeError unless x is a sparse matrix.
    """
    return _unless_canonical(EnsureSortedIndices(), as_sparse(x))


def _unless_canonical(op: SparseOp, x: SparseVariable) -> SparseVariable:
    return x if x.sparse_type.is_canonical else op(x)


def remove0(x: Any) -> SparseVariable:
    """x without its stored zeros; a nan is kept.   Raises: GraphTypeError unless x is a sparse matrix."""
    return Remove0()(as_sparse(x))  # type: ignore[no-any-return]


def clean(x: Any) -> SparseVariable:
    """x with sorted entries, without duplicates or stored zeros.   Raises: GraphTypeError unless x is a sparse
    matrix.
    """
    return remove0(_unless_canonical(Canonical(), as_sparse(x)))


EliminateZeros: Final = Remove0
eliminate_zeros: Final = remove0
