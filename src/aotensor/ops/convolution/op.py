"""Convolution as one trilinear form: the value and both gradients are its three partial derivatives.

    T(x, w, y) = Σ x[n, g, c, s]·w[g, o, c, k]·y[n, g, o, p]   over s = p·stride + k·dilation − before on every axis

with x = 0 outside of its extents. As in T, the three are called input, filters and output; n indexes samples, g
groups, c and o channels. An op computes one of the three from the others: ∂T/∂y is the convolution, ∂T/∂x its
transpose, ∂T/∂w the correlation of input and output. Every derivative of one of these is another one of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Extent, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.op import Apply
from aotensor.graph.operations import KnownValues
from aotensor.graph.variable import Variable
from aotensor.ops.batching import check_nondifferentiable
from aotensor.ops.convolution.lower import LETTERS, Relation, Role, lower_convolution
from aotensor.ops.create import known_extents, lowered_extents, split_shape
from aotensor.ops.linear import MultilinearOp
from aotensor.ops.shape.axes import moveaxis
from aotensor.ops.shape.extents import SymbolicExtent, dims_at, extent_of, extents_of, product
from aotensor.ops.shape.reshape import reshape

ROLES: Final[tuple[Role, ...]] = ("input", "filters", "output")
_NOT_WITH_BOOL: Final = "bool has no sums of products"


@frozen_dataclass
class Convolution(MultilinearOp):
    """One of input, filters and output from the other two, in that order, in the promoted dtype: a, b, *extents → c.

    dims: extents of the result along the spatial axes: a number, or a name or None for the next of `extents`.
    fault: the message of the error for an extent below 1 of the result, if it is an error.
    """

    is_analytic: ClassVar[bool] = True
    role: Role
    dims: tuple[Dim, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    fault: str = field(default="", repr=False)

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"conv{len(self.dims)}d" + ("" if self.role == "output" else f"_{self.role}")

    @property
    def notation(self) -> str:  # type: ignore[override]
        function = f"conv{len(self.dims)}d"
        match self.role:
            case "output":
                return f"{function}({{0}}, {{1}})"
            case "filters":
                return f"grad({function}({{0}}, ...))"
        transposed = {1: "convolve({1}, {0})", 2: "convolve2d({1}, {0})"}
        return transposed.get(len(self.dims), f"grad({function}(..., {{0}}))")

    def roles(self) -> tuple[Role, Role]:
        """The two roles among input, filters and output that the operands of this op have, in the order of ROLES."""
        first, second = (role for role in ROLES if role != self.role)
        return first, second

    def infer_type(self, a: TensorType, b: TensorType, *extents: TensorType) -> TensorType:
        rank = 3 + len(self.dims)
        if (a.rank, b.rank) != (rank, rank):
            raise GraphTypeError(f"ranks {a.rank} and {b.rank} do not fit {len(self.dims)} spatial axes")
        if "bool" in (a.dtype, b.dtype):
            raise GraphTypeError(_NOT_WITH_BOOL)
        if sum(not isinstance(dim, int) for dim in self.dims) != len(extents):
            raise GraphTypeError("expected one extent for each dim that is not static")
        if self.fault and any(isinstance(dim, int) and dim < 1 for dim in self.dims):
            raise GraphValueError(self.fault)
        known: dict[str, Dim] = {}
        for role, x in zip(self.roles(), (a, b), strict=True):
            for letter, dim in zip(LETTERS[role], x.shape[:3], strict=True):
                other = known.get(letter)
                if isinstance(dim, int) and isinstance(other, int) and dim != other:
                    raise GraphValueError(f"{self._what(letter)} differ, {other} and {dim}")
                if letter not in known or isinstance(dim, int) or other is None:
                    known[letter] = dim
        return TensorType(
            dtypes.promote(a.dtype, b.dtype), (*(known[letter] for letter in LETTERS[self.role]), *self.dims)
        )

    def types_at(self, node: Apply, types: Sequence[TensorType], known: KnownValues) -> TensorType:
        dims = dims_at(self.name, self.dims, node.inputs[2:], known)
        return replace(self, dims=dims).infer_type(*types[:2], *[TensorType("int64")] * dims.count(None))

    def _what(self, letter: str) -> str:
        names = {"n": "samples", "g": "groups", "c": "channels of input and filters", "o": "channels of the output"}
        return f"{self.name}: {names[letter]}"

    def reference(self, a: Array, b: Array, *extents: Array) -> Array:
        values = dict(zip(self.roles(), (a, b), strict=True))
        found: dict[str, int] = {}
        for role, x in values.items():
            for letter, n in zip(LETTERS[role], x.shape[:3], strict=True):
                if found.setdefault(letter, n) != n:
                    raise GraphValueError(f"{self._what(letter)} differ, {found[letter]} and {n}")
        spatial = known_extents(self.name, self.dims, extents)
        if self.fault and min(spatial) < 1:
            raise GraphValueError(self.fault)
        shape = (*(found[letter] for letter in LETTERS[self.role]), *spatial)
        common = np.result_type(a, b)
        values[self.role] = np.zeros(shape, common)
        with np.errstate(all="ignore"):
            return self._sum_of_taps({role: x.astype(common, copy=False) for role, x in values.items()})

    def _sum_of_taps(self, values: dict[Role, Array]) -> Array:
        """The trilinear form as a sum over filter elements k, each a product with slices of input and output."""
        x, w, y = (values[role] for role in ROLES)
        target = values[self.role]
        for k in np.ndindex(w.shape[3:]):
            pairs = [self._parts(axis, at, x.shape[3 + axis], y.shape[3 + axis]) for axis, at in enumerate(k)]
            in_x, in_y = ((slice(None),) * 3 + tuple(pair[side] for pair in pairs) for side in range(2))
            tap = (slice(None),) * 3 + k
            if self.role == "output":
                target[in_y] += np.einsum("ngc...,goc->ngo...", x[in_x], w[tap])
            elif self.role == "input":
                target[in_x] += np.einsum("goc,ngo...->ngc...", w[tap], y[in_y])
            else:
                flat = [part.reshape(*part.shape[:3], product(part.shape[3:])) for part in (x[in_x], y[in_y])]
                target[tap] += np.einsum("ngcp,ngop->goc", *flat)
        return target

    def products(self, shapes: Mapping[Role, Sequence[int]]) -> Iterator[tuple[Array, ...]]:
        """The C-order numbers of the elements of input, filters and output in each product of the trilinear form.

        shapes: of all three. One tuple of arrays of equal shapes per filter element along the spatial axes.
        """
        x, w, y = (np.arange(math.prod(shapes[role])).reshape(shapes[role]) for role in ROLES)
        for k in np.ndindex(w.shape[3:]):
            pairs = [self._parts(axis, at, x.shape[3 + axis], y.shape[3 + axis]) for axis, at in enumerate(k)]
            in_x, in_y = ((slice(None),) * 3 + tuple(pair[side] for pair in pairs) for side in range(2))
            factor = w[(slice(None),) * 3 + k].reshape(w.shape[:3] + (1,) * len(k))
            yield np.broadcast_arrays(x[in_x][:, :, None], factor, y[in_y][:, :, :, None])

    def _parts(self, axis: int, k: int, s: int, p: int) -> tuple[slice, slice]:
        """The slice of an axis of the input, and the slice of the output, between which filter element k multiplies."""
        stride = self.strides[axis]
        shift = k * self.dilations[axis] - self.before[axis]
        first = max(0, -(shift // stride))
        last = min(p, -((shift - s) // stride))  # where the input ends
        count = max(last - first, 0)
        start = first * stride + shift
        return slice(start, start + count * stride, stride) if count else slice(0, 0), slice(first, first + count)

    # --- derivatives -------------------------------------------------------------------------------------------------

    def adjoints(self, inputs: Sequence[Variable], cotangent: Variable) -> Sequence[Variable]:
        values = {**dict(zip(self.roles(), inputs, strict=False)), self.role: cotangent}
        return [self.tensor_of(role, values, extents_of(x)[3:]) for role, x in zip(self.roles(), inputs, strict=False)]

    def tensor_of(self, role: Role, values: dict[Role, Variable], extents: Sequence[SymbolicExtent]) -> Variable:
        """The tensor of a role (input, filters, output) with these spatial extents, from `values` of the other two
        roles.
        """
        dims, symbolic = split_shape(self.name, list(extents))
        op = Convolution(role, dims, self.strides, self.dilations, self.before)
        return op(*(values[other] for other in op.roles()), *symbolic)  # type: ignore[no-any-return]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        """The outputs for a batch: the axis of samples is merged into the axes of batched operands and of the
        result.
        """
        check_nondifferentiable(self, is_batched, first=2)
        having = {self.role, *(role for role, on in zip(self.roles(), is_batched, strict=False) if on)}
        (letter,) = (a for a in "ngco" if {role for role in ROLES if a in LETTERS[role]} == having)
        at = {role: LETTERS[role].index(letter) for role in having}
        operands = [
            _join_samples(x, at[role]) if on else x
            for role, x, on in zip(self.roles(), inputs, is_batched, strict=False)
        ]
        (result,) = self.apply(*operands, *inputs[2:]).outputs
        position = list(is_batched).index(True)
        x, own = inputs[position], at[self.roles()[position]]
        return [_parted(result, at[self.role], extent_of(x, 0), extent_of(x, own + 1))]

    # --- code --------------------------------------------------------------------------------------------------------

    def lower(self, b: TensorBuilder, a: Tensor, c: Tensor, *extents: Tensor) -> Tensor:
        spatial = lowered_extents(b, self.dims, extents)
        for n in spatial if self.fault else ():
            if not isinstance(n, int):
                b.check(n >= 1, self.fault)
        dtype = dtypes.promote(a.dtype, c.dtype)
        values = dict(zip(self.roles(), (b.cast(a, dtype), b.cast(c, dtype)), strict=True))
        known: dict[str, Extent] = {}
        for letter in "ngco":
            found = [x.extents[LETTERS[role].index(letter)] for role, x in values.items() if letter in LETTERS[role]]
            known[letter] = b.same_extent(found, self._what(letter))
        relation = Relation(self.strides, self.dilations, self.before)
        return lower_convolution(b, relation, self.role, values, known, spatial)


def _join_samples(x: Variable, at: int) -> Variable:
    """Merge the leading axis of samples into axis `at` of x."""
    x = moveaxis(x, 0, at)
    extents = extents_of(x)
    return reshape(x, [*extents[:at], product(extents[at : at + 2]), *extents[at + 2 :]])


def _parted(x: Variable, at: int, samples: SymbolicExtent, each: SymbolicExtent) -> Variable:
    """Split axis `at` into a leading axis of `samples` and an axis of extent `each`: the inverse of `_join_samples`."""
    extents = extents_of(x)
    return moveaxis(reshape(x, [*extents[:at], samples, each, *extents[at + 1 :]]), at, 0)
