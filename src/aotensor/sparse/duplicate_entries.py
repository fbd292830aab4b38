"""Convert derivatives between a matrix and its data, where duplicate entries add up.

A cotangent is a matrix like any other: each of its elements is the derivative there. A function of the matrix gives
every duplicate entry that derivative, c, whole. So c at the entries is the matrix that stores c/k in each of the k
duplicate entries, and a tangent of the matrix is one of its data where each entry has its share:

    from_entries(x, c)    the cotangent of x from that of its data    Σ over duplicate entries of c/k
    to_entries(t, x)      the tangent of its data from that of x      t/k at each of the duplicate entries

The two are transposes. Where c came from the entries of x itself, `entries_of` gives it back as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.operations import sparse
from aotensor.graph.sparse_type import SparseVariable
from aotensor.graph.variable import Variable
from aotensor.ops.create import ones_like
from aotensor.ops.elementwise.arithmetic import true_div
from aotensor.sparse.compressed_axes import TakeAt
from aotensor.sparse.csm import CSM, like, parts_of
from aotensor.sparse.op import SparseOp, have_same_pattern, is_canonical, need_sparse
from aotensor.sparse.patterns import canonical, may_repeat, positions_in, slices_of


@frozen_dataclass
class Shared(SparseOp):
    """(c, x) → c divided by the number of entries that x stores for the same element.   c: (nnz,) → (nnz,)

    Linear in c, and its own transpose; x lends its pattern alone.
    """

    name: ClassVar[str] = "shared_entries"
    notation: ClassVar[str] = "{0}"
    takes_blocks: ClassVar[bool] = True

    def infer_type(self, c: TensorType, x: TensorType) -> TensorType:
        need_sparse(self, x)
        return TensorType(c.dtype, c.shape)

    def reference(self, c: Array, x: Any) -> Array:
        if len(c) != len(x.data):
            raise GraphValueError(f"{self.name}: {len(c)} values for {len(x.data)} stored entries")
        minor = int(x.indices.max(initial=0)) + 1
        coordinates = slices_of(x.indptr).astype(np.int64) * minor + x.indices
        _, at, counts = np.unique(coordinates, return_inverse=True, return_counts=True)
        return np.asarray(c / counts[at].astype(c.dtype).reshape(-1, *(1,) * (c.ndim - 1)))

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        c, x = inputs
        p = parts_of(x)
        if not may_repeat(p):
            return [c]
        whole = canonical(replace(p, data=ones_like(p.data, c.dtype)))
        return [true_div(c, TakeAt()(whole.data, positions_in(p, whole)))]


@coerced
def from_entries(x: SparseVariable, c: Variable) -> SparseVariable:
    """The cotangent of the matrix x from the cotangent c of its data: the mean of c over duplicates.   c: (nnz,)"""
    return like(x, c if is_canonical(x) else Shared()(c, x))


@coerced
def to_entries(t: Variable, x: Variable) -> Variable:
    """A tangent of the data of x from one of x, dense or sparse: equal shares for duplicate entries.  → (nnz,)"""
    if isinstance(t, SparseVariable):
        p = parts_of(t)
        if have_same_pattern(p, parts_of(x)):
            return p.data
    found: Variable = sparse.sample_at(t, x)
    return found if is_canonical(x) else Shared()(found, x)


def entries_of(g: Variable, x: Variable) -> Variable | None:
    """c if g is `from_entries(x, c)`, else None."""
    made = _shares(g)
    if made is None:
        return None
    c, source = made
    return c if source is x or have_same_pattern(parts_of(source), parts_of(x)) else None


def own_entries(g: Variable, x: Variable) -> Variable | None:
    """The cotangent of each entry of x, if g has the pattern of x without duplicates, or was made from entries; else
    None.
    """
    made = entries_of(g, x)
    if made is not None:
        return made
    p, q = parts_of(g), parts_of(x)
    return p.data if have_same_pattern(p, q) and not may_repeat(q) else None


def sum_of_entries(a: Variable, b: Variable) -> Variable | None:
    """a + b for two cotangents of one matrix made by `from_entries`, computed on entries; None for others."""
    made = _shares(a)
    other = entries_of(b, made[1]) if made is not None else None
    if made is None or other is None or other.dtype != made[0].dtype:
        return None
    return from_entries(made[1], made[0] + other)


def _shares(g: Variable) -> tuple[Variable, SparseVariable] | None:
    """(c, x) of a matrix made by `from_entries(x, c)` with possible duplicates; else None."""
    if g.owner is None or not isinstance(g.owner.op, CSM):
        return None
    made = g.owner.inputs[0].owner
    if made is None or not isinstance(made.op, Shared):
        return None
    c, x = made.inputs
    return (c, x) if c.ndim == 1 and isinstance(x, SparseVariable) else None
