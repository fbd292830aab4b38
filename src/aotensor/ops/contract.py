"""Sums of products of two operands: dot, matmul, outer, tensordot are one op with different index patterns."""

from __future__ import annotations

import math
import operator
import string
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike

from aotensor.core import dtypes
from aotensor.core.builders import Extent, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType, normalise_axes
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.op import Apply
from aotensor.graph.operations import sparse
from aotensor.graph.public import public
from aotensor.graph.sparse_type import is_sparse
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.diagonal import diagonal
from aotensor.ops.elementwise.arithmetic import mul
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.linear import MultilinearOp
from aotensor.ops.reduce.sums import sum as sum_over
from aotensor.ops.shape.axes import squeeze
from aotensor.ops.shape.reshape import ravel


@frozen_dataclass
class Contract(MultilinearOp):
    """y[out] = Σ x[left]·y[right] over the letters that `out` leaves out, in the promoted dtype.

    spec: "left,right->out" with letters as axes. Every letter is in exactly two of the three, or in all of them;
    none twice in one. So the adjoint of a contraction is a contraction.
    """

    name: ClassVar[str] = "dot"
    spec: str

    def parts(self) -> tuple[str, str, str]:
        """The letters of the operands and the result: (left, right, out)."""
        operands, out = self.spec.split("->")
        left, right = operands.split(",")
        return left, right, out

    def infer_type(self, x: TensorType, y: TensorType) -> TensorType:
        left, right, out = self.parts()
        if (x.rank, y.rank) != (len(left), len(right)):
            raise GraphTypeError(f"ranks {x.rank} and {y.rank} do not fit {self.spec}")
        dims: dict[str, Dim] = dict(zip(left, x.shape, strict=True))
        for letter, dim in zip(right, y.shape, strict=True):
            dims[letter] = self._common(letter, dims[letter], dim) if letter in dims else dim
        return TensorType(dtypes.promote(x.dtype, y.dtype), tuple(dims[letter] for letter in out))

    def _common(self, letter: str, first: Dim, second: Dim) -> Dim:
        if isinstance(first, int) and isinstance(second, int) and first != second:
            raise GraphValueError(f"{self._what(letter)} differ, {first} and {second}")
        if isinstance(first, int) or second is None:
            return first
        return second if isinstance(second, int) or first is None else first

    def _what(self, letter: str) -> str:
        kind = "batch" if letter in self.parts()[2] else "inner"
        return f"{self.name}: {kind} dimensions"

    def reference(self, x: Array, y: Array) -> Array:
        left, right, _ = self.parts()
        for letter in set(left) & set(right):
            found = x.shape[left.index(letter)], y.shape[right.index(letter)]
            if found[0] != found[1]:
                raise GraphValueError(f"{self._what(letter)} differ, {found[0]} and {found[1]}")
        common = np.result_type(x, y)
        with np.errstate(all="ignore"):
            return np.asarray(np.einsum(self.spec, x.astype(common), y.astype(common), optimize=True))

    def adjoints(self, inputs: Sequence[Variable], cotangent: Variable) -> Sequence[Variable]:
        (x, y), (left, right, out) = inputs, self.parts()
        return [
            Contract(f"{out},{right}->{left}")(cotangent, y),
            Contract(f"{left},{out}->{right}")(x, cotangent),
        ]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        left, right, out = self.parts()
        sample = next(letter for letter in string.ascii_lowercase if letter not in left + right + out)
        first, second = (sample + axes if on else axes for on, axes in zip(is_batched, (left, right), strict=True))
        return Contract(f"{first},{second}->{sample}{out}").apply(*inputs).outputs

    def lower(self, b: TensorBuilder, x: Tensor, y: Tensor) -> Tensor:
        common = dtypes.promote(x.dtype, y.dtype)
        left, right, _ = self.parts()
        for letter in sorted(set(left) & set(right)):
            extents = [x.extents[left.index(letter)], y.extents[right.index(letter)]]
            b.same_extent(extents, self._what(letter))
        if common == "bool":
            counts = b.contract(self.spec, b.cast(x, "int64"), b.cast(y, "int64"))
            return b.cast(counts, "bool")
        groups = self._groups() if dtypes.is_float(common) else None
        x, y = b.cast(x, common), b.cast(y, common)
        sizes = dict(zip(right + left, [*y.extents, *x.extents], strict=True))
        if groups is None or _is_small(list(sizes.values())):
            return b.contract(self.spec, x, y)
        return self._lower_as_matrices(b, x, y, groups, sizes)

    def _groups(self) -> tuple[str, str, str] | None:
        """(rows, inner, columns), letters that merge into one axis each, if this is a matrix product; else None."""
        left, right, out = self.parts()
        rows = "".join(letter for letter in left if letter not in right)
        inner = "".join(letter for letter in left if letter not in out)
        columns = "".join(letter for letter in right if letter not in left)
        has_batch = len(rows + inner) < len(left)
        is_matrix = len(rows) == len(inner) == len(columns) == 1
        return None if has_batch or is_matrix or not (rows and inner and columns) else (rows, inner, columns)

    def _lower_as_matrices(
        self, b: TensorBuilder, x: Tensor, y: Tensor, groups: tuple[str, str, str], extents: Mapping[str, Extent]
    ) -> Tensor:
        """Lower to a matrix product, for which there are kernels: reshapes are free, only axes that are
        separated from their group are transposed first."""
        rows, inner, columns = groups
        left, right, out = self.parts()
        first, swap_x = _as_matrix(b, x, left, (rows, inner), extents)
        second, swap_y = _as_matrix(b, y, right, (inner, columns), extents)
        is_transposed = out == columns + rows
        spec = f"{'ki' if swap_x else 'ik'},{'jk' if swap_y else 'kj'}->{'ji' if is_transposed else 'ij'}"
        letters = columns + rows if is_transposed else rows + columns
        result = b.reshape(b.contract(spec, first, second), [extents[letter] for letter in letters])
        return b.permute(result, [letters.index(letter) for letter in out])


_SMALL = 4096  # multiplications up to which plain loops, which can be fused, are as fast as a matrix product


def _is_small(extents: Sequence[Extent]) -> bool:
    """Do static extents show that the contraction needs few multiplications?"""
    return math.prod(n if isinstance(n, int) else _SMALL + 1 for n in extents) <= _SMALL


def _as_matrix(
    b: TensorBuilder, x: Tensor, letters: str, groups: tuple[str, str], extents: Mapping[str, Extent]
) -> tuple[Tensor, bool]:
    """(x reshaped to one axis for each of two groups of letters, whether the second group comes first)."""
    first, second = groups
    is_transposed = letters == second + first
    if not is_transposed:
        x = b.permute(x, [letters.index(letter) for letter in first + second])
    sides = [reduce(operator.mul, [extents[letter] for letter in group]) for group in groups]
    return b.reshape(x, sides[::-1] if is_transposed else sides), is_transposed


@coerced
def dot(x: Any, y: Any) -> Variable:
    """np.dot up to rank 2: (k)·(k), (m, k)·(k), (k)·(k, n), (m, k)·(k, n); a scalar operand multiplies.

    With a sparse operand it is `structured_dot`.

    Raises: GraphTypeError for ranks above 2 (see matmul and tensordot), GraphValueError for inner dimensions that
    differ (at run time where they are not known).
    """
    if is_sparse(x) or is_sparse(y):
        return sparse.structured_dot(x, y)
    x, y = as_tensor(x), as_tensor(y)
    if x.ndim == 0 or y.ndim == 0:
        return mul(x, y)
    if x.ndim > 2 or y.ndim > 2:
        raise GraphTypeError(
            f"dot: ranks {x.ndim} and {y.ndim}, expected at most 2",
            lines=[x.describe(), y.describe()],
            hint="use matmul or tensordot",
        )
    return matmul(x, y)


@public(numpy=("matmul", "linalg.matmul"), operator="@")
@coerced
def matmul(x: Any, y: Any, dtype: DTypeLike | None = None) -> Variable:
    """x @ y: (…, m, k)·(…, k, n) → (…, m, n); vectors lose their axis; leading dims broadcast where statically 1.

    With a sparse operand it is `sparse.dot`. dtype: of the result; the operands are multiplied in it.

    Raises: GraphTypeError for a scalar, GraphValueError for inner or batch dimensions that differ.
    """
    if is_sparse(x) or is_sparse(y):
        found = sparse.dot(x, y)
        return found if dtype is None else cast(found, dtype)
    x, y = as_tensor(x), as_tensor(y)
    if dtype is not None:
        x, y = cast(x, dtype), cast(y, dtype)
    if x.ndim == 0 or y.ndim == 0:
        raise GraphTypeError(
            "matmul: expected operands with axes, found a scalar", lines=[x.describe(), y.describe()], hint="use x * y"
        )
    rank = max(x.ndim, y.ndim, 2) - 2
    letters = _LETTERS[:rank]
    batch_x, batch_y = _batch(x, letters), _batch(y, letters)
    x, left = _without_repeated(x, batch_x, batch_y)
    y, right = _without_repeated(y, batch_y, batch_x)
    out = "".join(letter for letter in letters if letter in left + right)
    left, right = left + ("ik" if x.ndim > len(left) + 1 else "k"), right + ("kj" if y.ndim > len(right) + 1 else "k")
    out += ("i" if "i" in left else "") + ("j" if "j" in right else "")
    return Contract(f"{left},{right}->{out}")(x, y)  # type: ignore[no-any-return]


_LETTERS = "".join(letter for letter in string.ascii_lowercase if letter not in "ijk")
"""Letters of batch axes, in their order in the result."""


def _batch(x: Variable, letters: str) -> dict[str, Dim]:
    """The dims of the leading axes of x by letter; they align at the right."""
    dims = x.tensor_type.shape[:-2]
    return dict(zip(letters[len(letters) - len(dims) :], dims, strict=True))


def _without_repeated(x: Variable, own: dict[str, Dim], other: dict[str, Dim]) -> tuple[Variable, str]:
    """x without the batch axes of extent 1 that broadcast against the other operand, and the remaining letters."""
    repeated = [axis for axis, (letter, dim) in enumerate(own.items()) if dim == 1 and other.get(letter, 1) != 1]
    kept = "".join(letter for axis, letter in enumerate(own) if axis not in repeated)
    return (squeeze(x, repeated) if repeated else x), kept


@public(numpy=("outer", "linalg.outer"))
@coerced
def outer(x: Any, y: Any) -> Variable:
    """x[i]·y[j] → (m, n); operands of other ranks are flattened, as in NumPy."""
    x, y = as_tensor(x), as_tensor(y)
    flat = [value if value.ndim == 1 else ravel(value) for value in (x, y)]
    return Contract("i,j->ij")(*flat)  # type: ignore[no-any-return]


@public(numpy=("tensordot", "linalg.tensordot"))
@coerced
def tensordot(x: Any, y: Any, axes: int | Sequence[Any] = 2) -> Variable:
    """Sum of products over pairs of axes: the last `axes` of x with the first of y, or two lists of axes.

    Raises: GraphValueError for lists of unequal length, or extents that differ.
    """
    x, y = as_tensor(x), as_tensor(y)
    if isinstance(axes, int | np.integer):
        if not 0 <= axes <= min(x.ndim, y.ndim):
            raise GraphValueError(f"tensordot: axes is {axes}, but the operands have ranks {x.ndim} and {y.ndim}")
        first, second = list(range(x.ndim - axes, x.ndim)), list(range(axes))
    else:
        if len(axes) != 2:
            raise GraphValueError(f"tensordot: axes must be a number, or two lists of axes, not {len(axes)} of them")
        first, second = (_axis_list(entry) for entry in axes)
    if len(first) != len(second):
        raise GraphValueError(f"tensordot: {len(first)} axes of x for {len(second)} of y")
    for named, operand in ((first, x), (second, y)):
        normalise_axes(named, operand.ndim)
    left = list(string.ascii_lowercase[: x.ndim])
    right = list(string.ascii_lowercase[x.ndim : x.ndim + y.ndim])
    for one, other in zip(first, second, strict=True):
        right[other] = left[one]
    out = [letter for letter in left if letter not in right] + [letter for letter in right if letter not in left]
    return Contract(f"{''.join(left)},{''.join(right)}->{''.join(out)}")(x, y)  # type: ignore[no-any-return]


def _axis_list(axes: int | Sequence[int]) -> list[int]:
    if not isinstance(axes, int | np.integer | list | tuple):
        raise GraphTypeError(f"tensordot: axes of one operand must be an int or a list, not {axes!r:.60}")
    return [int(axes)] if isinstance(axes, int | np.integer) else list(axes)


@public(numpy="trace", method="trace")
@coerced
def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable:
    """Sum of a diagonal of x, with the dtypes of `sum`.   Raises: GraphTypeError for rank below 2."""
    return sum_over(diagonal(x, offset, axis1, axis2), axis=-1)
