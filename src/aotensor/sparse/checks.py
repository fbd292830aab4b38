"""Ops that check compressed matrices and return their vectors: structures, extents, and the range of indices."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar, Final

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Extent, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, Dim, TensorType
from aotensor.errors import GraphValueError
from aotensor.graph.op import Apply, Op, disconnected
from aotensor.graph.operands import is_complex
from aotensor.graph.sparse_type import check_structure
from aotensor.graph.variable import Variable, Variables, as_tensor, constant
from aotensor.ops.batching import TrailingOp, check_nondifferentiable, repeated
from aotensor.ops.complex.parts import join_parts, part_of
from aotensor.ops.create import alloc
from aotensor.ops.linear import ConstantOp, LinearOp
from aotensor.ops.reduce.extremum import max as largest_of
from aotensor.ops.shape.extents import SymbolicExtent, extents_of
from aotensor.ops.shape.join import join

LARGEST: Final = int(np.iinfo(np.int32).max)


@frozen_dataclass
class CheckedStructure(Op):
    """(data, indices, indptr, shape) → (data, indices, indptr) unchanged, after a check that they form a matrix.

    is_known: indices, indptr and shape are known to fit; only the length of data is to be seen.
    """

    name: ClassVar[str] = "checked_structure"
    notation: ClassVar[str] = "{0}"
    is_check: ClassVar[bool] = True
    takes_complex: ClassVar[bool] = True
    format: str
    is_known: bool = False

    def infer_type(
        self, data: TensorType, indices: TensorType, indptr: TensorType, shape: TensorType
    ) -> tuple[TensorType, ...]:
        return data, indices, indptr

    def reference(self, data: Array, indices: Array, indptr: Array, shape: Array) -> tuple[Array, ...]:
        check_structure(data, indices, indptr, shape, self.format)
        return data, indices, indptr

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        return [cotangents[0], *(disconnected() for _ in inputs[1:])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [tangents[0], disconnected(), disconnected()]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        return [[True, False, False], *([False] * 3 for _ in range(3))]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        check_nondifferentiable(self, is_batched)
        data = inputs[0]
        single = alloc(constant(0, dtype=data.dtype), *extents_of(data)[1:]) if is_batched[0] else data
        return [data, *self.apply(single, *inputs[1:]).outputs[1:]]

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable] | None:
        """The outputs for complex data, whose real part is checked: both parts have the same length."""
        data, *structure = inputs
        if not is_complex(data):
            return None
        re, im = part_of(data, 0), part_of(data, 1)
        re, *checked = self(re, *structure)
        return [join_parts(re, im), *checked]

    def lower(
        self, b: TensorBuilder, data: Tensor, indices: Tensor, indptr: Tensor, shape: Tensor
    ) -> tuple[Tensor, ...]:
        v = b.scalars
        nnz = b.same_extent([data.extents[0], indices.extents[0]], "data and indices of a sparse matrix")
        if self.is_known:
            return data, indices, indptr
        b.same_extent([shape.extents[0], v.index(2)], "numbers in the shape of a matrix, and its two extents,")
        extents = [v.cast(v.load(shape, k), "index") for k in range(2)]
        major, minor = extents[::-1] if self.format == "csc" else extents
        if len(data.extents) == 3:
            for extent, block, words in zip(extents, data.extents[1:], ("rows", "columns"), strict=True):
                left = v.index(extent) % block
                message = f"{{found}} {words} are not a multiple of the {{expected}} of a block"
                b.check(v.compare("eq", left, v.index(0)), message, extent, block)
            major, minor = (v.index(n // k) for n, k in zip(extents, data.extents[1:], strict=True))
        b.same_extent([indptr.extents[0], major + 1], "indptr, and the number of its slices plus one,")
        first, last = (v.cast(v.load(indptr, at), "index") for at in (0, major))
        b.check(v.compare("eq", first, v.index(0)), "indptr begins with {found} instead of 0", first)
        b.check(v.compare("eq", last, v.index(nnz)), "indptr ends with {found}, but there are {expected} entries",
                last, nnz)  # fmt: skip
        _lowered_rise(b, indptr, major, "indptr decreases somewhere")
        for kind, predicate in (("minimum", "ge"), ("maximum", "lt")):
            found = v.cast(b.item(b.reduce(kind, indices, [0])), "index")
            bound = v.index(0) if kind == "minimum" else v.index(minor)
            is_empty = v.compare("eq", v.index(nnz), v.index(0))
            message = "index {found} is outside of 0 … {expected} − 1"
            b.check(is_empty | v.compare(predicate, found, bound), message, found, minor, kind="index")
        return data, indices, indptr


def _lowered_rise(b: TensorBuilder, indptr: Tensor, slices: Extent, message: str) -> None:
    rises = b.tabulate([slices], "bool", lambda w, i: w.load(indptr, i) <= w.load(indptr, i + 1))
    b.check(b.item(b.reduce("and", rises, [0])), message)


# --- extents that must agree ------------------------------------------------------------------------------------------


@frozen_dataclass
class Agreeing(TrailingOp, LinearOp):
    """(x, *extents) → x, after a check that the extents, integer scalars, are equal.   what: their name in the error

    Raises: GraphValueError at run time if they are not.
    """

    takes_half: ClassVar[bool] = True
    is_check: ClassVar[bool] = True
    name: ClassVar[str] = "agreeing"
    notation: ClassVar[str] = "{0}"
    what: str

    def infer_type(self, x: TensorType, *extents: TensorType) -> TensorType:
        return x

    def reference(self, x: Array, *extents: Array) -> Array:
        found = sorted({int(n) for n in extents})
        if len(found) > 1:
            raise GraphValueError(f"{self.what} differ: {found[0]} and {found[1]}")
        return x

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        return cotangent

    def lower(self, b: TensorBuilder, x: Tensor, *extents: Tensor) -> Tensor:
        b.same_extent([b.scalars.cast(b.item(n), dtypes.INDEX) for n in extents], self.what)
        return x


def agreeing(x: Variable, dims: Collection[Dim], extents: Sequence[SymbolicExtent], what: str) -> Variable:
    """x, after a run-time check that extents are equal; x itself if the static `dims` show that they are.

    Raises: GraphValueError where the types tell that they differ, and at run time.
    """
    numbers = sorted({dim for dim in dims if isinstance(dim, int)})
    if len(numbers) > 1:
        raise GraphValueError(f"{what} differ: {numbers[0]} and {numbers[1]}", lines=[x.describe()])
    if len(set(dims)) == 1 and None not in dims:
        return x
    return Agreeing(what)(x, *map(as_tensor, extents))  # type: ignore[no-any-return]


# --- what indices can count ------------------------------------------------------------------------------------------


@frozen_dataclass
class Counted(ConstantOp):
    """(value, count) → value, after a check that int32 indices can represent `count`.   value: any; count: a scalar

    what: the counted things in the message, with {found} for the number: "hstack has {found} columns".

    Raises: GraphValueError at run time if they do not.
    """

    name: ClassVar[str] = "counted"
    notation: ClassVar[str] = "{0}"
    is_check: ClassVar[bool] = True
    what: str

    def infer_type(self, value: TensorType, count: TensorType) -> TensorType:
        return value

    def reference(self, value: Array, count: Array) -> Array:
        check_count(int(count), self.what)
        return value

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        value, count = inputs
        if not is_batched[1]:
            return [self(value, count)]
        largest = largest_of(join(0, constant(np.zeros(1, count.dtype)), count))
        return [self(value if is_batched[0] else repeated(value, count), largest)]

    def lower(self, b: TensorBuilder, value: Tensor, count: Tensor) -> Tensor:
        lowered_count(b, b.scalars.cast(b.item(count), dtypes.INDEX), self.what)
        return value


def _message(what: str) -> str:
    return f"{what}, more than int32 indices can count: give the matrices index_dtype='int64'"


def check_count(count: int, what: str) -> None:
    """Check that int32 indices can represent a count.   Raises: GraphValueError"""
    if count > LARGEST:
        raise GraphValueError(_message(what).replace("{found}", str(count)))


def lowered_count(b: TensorBuilder, count: Extent, what: str) -> None:
    """Emit the run-time check that int32 indices can represent a count."""
    v = b.scalars
    b.check(v.index(count) <= LARGEST, _message(what), count)


def lowered_sums(b: TensorBuilder, indptr: Tensor, what: str) -> None:
    """Emit the check that cumulative sums of counts have not overflowed int32."""
    if indptr.dtype == "int32":
        _lowered_rise(b, indptr, indptr.extents[0] - 1, _message(what))


def check_countable(value: Variable, count: SymbolicExtent, dtype: str, what: str) -> Variable:
    """`value`, after a check that indices of a dtype can represent `count`; see Counted.

    Raises: GraphValueError for a number that they do not count.
    """
    if dtype != "int32":
        return value
    if isinstance(count, int):
        check_count(count, what)
        return value
    return Counted(what)(value, as_tensor(count))  # type: ignore[no-any-return]
