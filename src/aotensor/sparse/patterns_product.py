"""The product of two sparse matrices: its pattern, and its values on a given pattern.

    c[i, j] = Σ_k p[i, k]·q[k, j]           row by row, with one row of c at a time in a workspace (Gustavson 1978)

Values are sums over the triples (i, k, j) that three patterns have in common. Such a sum of p and q at the entries of
c, of c and q at those of p, and of p and c at those of q are one op: derivatives of each are the other two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable
from aotensor.ops.batching import all_batched, check_nondifferentiable
from aotensor.ops.complex.parts import as_factor
from aotensor.ops.create import alloc
from aotensor.ops.linear import MultilinearOp
from aotensor.ops.reduce.sums import sum as sum_axes
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extents import SymbolicExtent, extent_of, product
from aotensor.ops.shape.reshape import reshape
from aotensor.sparse.checks import lowered_sums
from aotensor.sparse.op import Compressed, is_same
from aotensor.sparse.patterns import (
    PatternRule,
    canonical,
    entries_at,
    first_elements,
    other_format,
    pattern_of,
    slices_of,
)

INNER: Final = "inner dimensions of a sparse product"
ENTRIES: Final = "a sparse product has more than 2147483647 entries"


@frozen_dataclass
class ProductPattern(PatternRule):
    """(indices, indptr, minor) of p, then of q → (indices, indptr) of p·q, both in compressed rows, q canonical.

    The result is canonical; an entry is there if some k has it, whatever the values.

    Raises: GraphValueError at run time if q has not as many rows as p has columns.
    """

    name: ClassVar[str] = "product_pattern"
    notation: ClassVar[str] = "true_dot"

    def infer_type(
        self, ip: TensorType, pp: TensorType, inner: TensorType, iq: TensorType, pq: TensorType, minor: TensorType
    ) -> tuple[TensorType, ...]:
        dtype = self.index_dtype(ip, pp, iq, pq)
        return TensorType(dtype, (None,)), TensorType(dtype, pp.shape)

    def reference(self, ip: Array, pp: Array, inner: Array, iq: Array, pq: Array, minor: Array) -> tuple[Array, ...]:
        check_inner(inner, pq)
        p, q = triples(ip, pp, pq)
        width = max(int(minor), 1)
        found = np.unique(slices_of(pp)[p] * width + iq[q])
        counts = np.bincount(found // width, minlength=len(pp) - 1)
        return found % width, np.concatenate([[0], np.cumsum(counts)])

    def lower(
        self, b: TensorBuilder, ip: Tensor, pp: Tensor, inner: Tensor, iq: Tensor, pq: Tensor, minor: Tensor
    ) -> tuple[Tensor, ...]:
        lowered_inner(b, inner, pq)
        extent = b.scalars.cast(b.item(minor), dtypes.INDEX)
        dtype = dtypes.promote(ip.dtype, pp.dtype, iq.dtype, pq.dtype)
        (room,) = b.pattern("product_room", [ip, pp, pq], [extent], [("int64", (1,))])
        bound = b.scalars.cast(b.scalars.load(room, 0), dtypes.INDEX)
        wide, indptr = b.pattern("product", [ip, pp, iq, pq], [extent], [(dtype, (bound,)), (dtype, pp.extents)])
        lowered_sums(b, indptr, ENTRIES)
        return (*first_elements(b, [wide], indptr), indptr)


def triples(ip: Array, pp: Array, pq: Array) -> tuple[Array, Array]:
    """All pairs of entries that a product multiplies: positions in p, and positions in q (in the row named by p's
    column).
    """
    counts = np.diff(pq)[ip]
    p = np.repeat(np.arange(len(ip)), counts)
    within = np.arange(len(p)) - np.repeat(np.cumsum(counts) - counts, counts)
    return p, pq[ip[p]] + within


def check_inner(inner: Array, pq: Array) -> None:
    """Check the inner dimensions of p·q.   Raises: GraphValueError if they differ"""
    if int(inner) != len(pq) - 1:
        raise GraphValueError(f"{INNER} differ: {int(inner)} and {len(pq) - 1}")


def lowered_inner(b: TensorBuilder, inner: Tensor, pq: Tensor) -> None:
    """Emit the check of the inner dimensions of p·q."""
    v = b.scalars
    b.same_extent([v.cast(b.item(inner), dtypes.INDEX), pq.extents[0] - 1], INNER)


@frozen_dataclass
class ProductValues(MultilinearOp):
    """Σ over the triples (i, k, j) that the patterns of p, q and c have, at the entries of one of them, by `kind`:

        product_values   z at c   Σ_k x[i, k]·y[k, j]      x: values of p, y: of q
        product_left     z at p   Σ_j x[i, j]·y[k, j]      x: values of c, y: of q
        product_right    z at q   Σ_i x[i, k]·y[i, j]      x: values of p, y: of c

    (indices, indptr of p, of q, of c, inner, minor, x, y) → z. x, y: (nnz,) or (samples, nnz), one dtype, which is that
    of z. c has no duplicates. is_whole: c is known to have all entries of p·q. Bilinear:
    each derivative is this op again.

    Raises: GraphTypeError for values of two dtypes; GraphValueError at run time as ProductPattern.
    """

    name: ClassVar[str] = "product_values"
    notation: ClassVar[str] = "true_dot"
    linear_in: ClassVar[tuple[tuple[int, ...], ...]] = ((8,), (9,))
    kind: str
    is_whole: bool = False

    def infer_type(self, *types: TensorType) -> TensorType:
        x, y = types[8:]
        if x.dtype != y.dtype or not {x.rank, y.rank} <= {1, 2}:
            raise GraphTypeError(f"{self.name}: expected vectors of values of one dtype, found {x} and {y}")
        nnz = types[2 * _target(self.kind)].shape
        samples = next((t.shape[:1] for t in (x, y) if t.rank == 2), ())
        return TensorType(x.dtype, (*samples, *nnz))

    def reference(self, *inputs: Array) -> Array:
        ip, pp, iq, pq, ic, pc, inner, _, x, y = inputs
        check_inner(inner, pq)
        if len(pc) != len(pp):
            raise GraphValueError(
                f"rows of a sparse product and of its pattern differ: {len(pc) - 1} and {len(pp) - 1}"
            )
        p, q = triples(ip, pp, pq)
        c = entries_at(slices_of(pp)[p], iq[q], ic, pc)
        entries = [e[c >= 0] for e in (p, q, c)]
        (a, at_x), (b, at_y), (out, at_z) = _roles(self.kind, ((ip, entries[0]), (iq, entries[1]), (ic, entries[2])))
        assert x.shape[-1] == len(a) and y.shape[-1] == len(b)
        terms = x[..., at_x] * y[..., at_y]
        result = np.zeros((*terms.shape[:-1], len(out)), x.dtype)
        with np.errstate(all="ignore"):
            np.add.at(result.T, at_z, terms.T)
        return result

    def adjoints(self, inputs: Sequence[Variable], cotangent: Variable) -> Sequence[Variable]:
        *nondifferentiable, x, y = inputs
        values = dict(zip(_ROLES[self.kind], (x, y, cotangent), strict=True))
        terms = []
        for role, operand in zip(_ROLES[self.kind], (x, y), strict=False):
            kind = _KIND_AT[role]
            first, second, _ = _ROLES[kind]
            term = replace(self, kind=kind)(*nondifferentiable, values[first], values[second])
            terms.append(sum_axes(term, axis=0) if term.ndim > operand.ndim else term)
        return terms

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_nondifferentiable(self, is_batched[:-2], first=0)
        if node.outputs[0].ndim == 1:
            return self.apply(*inputs).outputs
        x, y = all_batched(inputs[-2:], is_batched[-2:])
        outer, inner = (extent_of(x if x.ndim == 3 else y, axis) for axis in range(2))
        z = self(*inputs[:-2], *(_one_batch(v, outer, inner) for v in (x, y)))
        return [reshape(z, (outer, inner, extent_of(z, 1)))]

    def lower(self, b: TensorBuilder, *inputs: Tensor) -> Tensor:
        *patterns, inner, minor, x, y = inputs
        lowered_inner(b, inner, patterns[3])
        b.same_extent([patterns[1].extents[0], patterns[5].extents[0]], "rows of a sparse product, plus one,")
        samples = [t.extents[0] for t in (x, y) if len(t.extents) == 2]
        several = [b.same_extent(samples, "samples")] if samples else []
        nnz = patterns[2 * _target(self.kind)].extents
        extent = b.scalars.cast(b.item(minor), dtypes.INDEX)
        (z,) = b.pattern(self.kind, [*patterns, x, y], [extent], [(x.dtype, (*several, *nnz))], self.is_whole)
        return z


_ROLES: Final = {kind: tuple(roles) for kind, roles in (
    ("product_values", "pqc"), ("product_left", "cqp"), ("product_right", "pcq"),
)}  # fmt: skip
"""What x, y and z are the values of."""
_KIND_AT: Final = {"c": "product_values", "p": "product_left", "q": "product_right"}


def _target(kind: str) -> int:
    """The index in (p, q, c) of the matrix at whose entries the result is."""
    return "pqc".index(_ROLES[kind][2])


def _roles(kind: str, of_pqc: Sequence[Any]) -> list[Any]:
    """The items for p, q and c, reordered to x, y and z."""
    return [of_pqc["pqc".index(role)] for role in _ROLES[kind]]


def _one_batch(x: Variable, outer: SymbolicExtent, inner: SymbolicExtent) -> Variable:
    """Merge the two batch axes of x; an x without the inner one is repeated.   → (outer·inner, nnz)"""
    nnz = extent_of(x, -1)
    whole = x if x.ndim == 3 else alloc(dimshuffle(x, [0, None, 1]), outer, inner, nnz)
    return reshape(whole, (product([outer, inner]), nnz))


# --- products in parts -----------------------------------------------------------------------------------------------


def product_pattern(p: Compressed, q: Compressed) -> tuple[Variable, Variable]:
    """(indices, indptr) of p·q, sorted, in the format of p.

    Raises: GraphValueError at run time if q has not as many rows as p has columns.
    """
    indices, indptr = ProductPattern()(*nondifferentiable_of(*by_slices(p, q)))
    return indices, indptr


def product_values(p: Compressed, q: Compressed, indices: Variable, indptr: Variable) -> Variable:
    """The values of p·q at the entries of a pattern in the format of p without duplicates: data, of the common dtype.

    Differentiable with respect to p.data and q.data, as often as wanted.   Raises: as `product_pattern`.
    """
    left, right = by_slices(p, q)
    nondifferentiable = nondifferentiable_of(left, right)
    *patterns, minor = nondifferentiable
    ip, pp, inner, iq, pq = patterns
    dtype = dtypes.promote(p.data.dtype, q.data.dtype)
    op = ProductValues("product_values", _is_pattern_of(indices, indptr, nondifferentiable))
    return op(ip, pp, iq, pq, indices, indptr, inner, minor, as_factor(left.data, dtype), as_factor(right.data, dtype))  # type: ignore[no-any-return]


def by_slices(p: Compressed, q: Compressed) -> tuple[Compressed, Compressed]:
    """Order and convert factors such that slice i of the result combines the slices of the second named in slice i
    of the first.

    Rows of p·q are made of rows of q, columns of it of columns of p.
    """
    q = q if q.format == p.format else other_format(q)
    return (p, canonical(q)) if p.format == "csr" else (q, canonical(p))


def nondifferentiable_of(left: Compressed, right: Compressed) -> tuple[Variable, ...]:
    """The inputs of ProductPattern for two matrices in compressed rows."""
    return *pattern_of(left), *pattern_of(right)


def _is_pattern_of(indices: Variable, indptr: Variable, nondifferentiable: Sequence[Variable]) -> bool:
    """Is a pattern provably that of the product of the matrices named by the other inputs?"""
    node = indices.owner
    if node is None or not isinstance(node.op, ProductPattern) or indptr.owner is not node:
        return False
    return all(is_same(a, b) for a, b in zip(node.inputs, nondifferentiable, strict=True))
