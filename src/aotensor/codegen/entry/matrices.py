"""Fixed functions for sparse matrices: conversion from structs to arrays, validation, canonical form, results.

    take_matrices(frame)                    typed entry: structs to arrays and dims
    check_matrices(frame)                   both entries: reject malformed matrices, sort unsorted ones
    give_matrix(frame, k, number, shape)    typed entry: fill in the struct of an output

They form a separate part of the library, which libraries without sparse matrices do not contain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from aotensor.codegen.entry import text as say
from aotensor.codegen.entry.code import NULL, Slot, number, status
from aotensor.codegen.entry.index_checks import Compressed, define_compressed, define_gather
from aotensor.codegen.entry.indices import INVALID, UNSORTED
from aotensor.codegen.entry.steps import Shared, Step
from aotensor.codegen.entry.tables import (
    CHECK_MATRICES,
    GIVE_MATRIX,
    HIDDEN,
    TAKE_MATRICES,
    Argument,
    Constants,
    Matrix,
)
from aotensor.codegen.llvm import Function, Type, Value, constant, i1, i32, i64, ir, pointer
from aotensor_runtime.abi import Context, Sparse, Status

_PARTS: Final = (1, 2, 3)
"""Positions of data, indices and indptr relative to their pattern."""
_DTYPES: Final = ((1, "dtype"), (2, "index_dtype"))
"""(part, the struct's field with its dtype)."""


def define_matrices(constants: Constants, has_threads: bool, has_heap: bool = True) -> None:
    """Define the three functions; only they are visible to other modules.

    has_threads: as in `define_compressed`. has_heap: as in `Shared`.
    """
    shared = Shared(constants, has_heap)
    _define_take(shared).linkage = HIDDEN
    _define_check(shared, has_threads).linkage = HIDDEN
    _define_give(shared).linkage = HIDDEN


class _MatrixStep(Step):
    """A step of a call, with accessors for one sparse input."""

    def __init__(self, shared: Shared, name: str, arguments: Sequence[Type] = ()) -> None:
        super().__init__(shared, name, arguments)
        constants = shared.constants
        self._words = {
            kind + plural: constants.pointers([constants.text(kind + word + plural) for word in ("row", "column")])
            for plural in ("", "s")
            for kind in ("", "block ")
        }

    def matrix(self, index: Value) -> Value:
        """The address of the description of sparse input number `index`."""
        return self.element(self.of_table("matrices"), index, Matrix)

    def word(self, axis: Value, plural: str = "s") -> Value:
        """The word "row" or "column" for an axis, for messages."""
        return self.item(self._words[plural], axis, pointer)

    def entry_word(self, matrix: Value, axis: Value, plural: str = "s") -> Value:
        """The word "row" or "column" for an axis of entries, or "block row" or "block column" for bsr."""
        blocks = self.builder.mul(self.field(matrix, Matrix, "height"), self.field(matrix, Matrix, "width"))
        table = self.builder.select(self.less(number(1), blocks), self._words["block " + plural], self._words[plural])
        return self.item(table, axis, pointer)

    def shape_of(self, matrix: Value) -> Value:
        """The address of the extents of a sparse input's arrays."""
        return self.at(self.of_frame("shapes"), self.field(matrix, Matrix, "offset"), 8)

    def slices(self, matrix: Value, shape: Value, axis: Value) -> Value:
        """The number of rows or columns of stored entries along an axis: blocks for bsr."""
        block = self.builder.select(
            self.equal(axis, number(0)), self.field(matrix, Matrix, "height"), self.field(matrix, Matrix, "width")
        )
        return self.builder.sdiv(self.item(shape, axis), block)

    def check_blocks(self, matrix: Value, shape: Value) -> None:
        """Check that the extents of a bsr matrix are multiples of its block's."""
        name = self.of_argument(self.field(matrix, Matrix, "first"), "name")
        for axis, side in enumerate(("height", "width")):
            extent, block = self.item(shape, axis), self.field(matrix, Matrix, side)
            left = self.builder.srem(extent, block)
            values = (name, extent, self.word(number(axis)), block)
            self.fail_when(self.differs(left, number(0)), Status.WRONG_EXTENT, say.WRONG_BLOCKS, *values)

    def of_argument(self, k: Value, name: str) -> Value:
        return self.field(self.argument(k), Argument, name)


def _define_take(shared: Shared) -> Function:
    """Define entry.take_matrices(frame): convert structs to arrays; the data of a pattern is its aotensor_sparse."""
    s = _MatrixStep(shared, TAKE_MATRICES)
    data = s.of_frame("data")
    with s.loop(s.of_table("matrix_count")) as m:
        matrix = s.matrix(m)
        first, major = s.field(matrix, Matrix, "first"), s.field(matrix, Matrix, "major")
        given, name = s.item(data, first, pointer), s.of_argument(first, "name")
        s.fail_when(s.is_null(given), Status.NULL_POINTER, say.NO_POINTER, name)
        for part, field in _DTYPES:
            k = s.builder.add(first, number(part))
            s.meet_dtype(s.of_argument(k, "name"), s.field(given, Sparse, field), s.of_argument(k, "dtype"))
        nnz, shape = s.field(given, Sparse, "nnz"), s.field_address(given, Sparse, "shape")
        s.fail_when(s.less(nnz, number(0)), Status.NEGATIVE, say.NEGATIVE_COUNT, name, nnz)
        with s.loop(number(2)) as axis:
            _check_struct_extent(s, first, axis, s.item(shape, axis))
        is_too_large = s.less(s.bytes_of(shape, number(2), number(1)), number(0))
        s.fail_when(is_too_large, Status.TOO_LARGE, say.TOO_LARGE, name)
        s.check_blocks(matrix, shape)
        pointers = s.builder.add(s.slices(matrix, shape, major), number(1))
        for part, extent in zip(_PARTS, (nnz, nnz, pointers), strict=True):
            k = s.builder.add(first, number(part))
            wanted = s.item(s.of_argument(k, "dims"), 0)
            with s.when(s.less(wanted, number(0))):
                s.store_at(s.of_frame("dims"), s.builder.sub(number(-1), wanted), extent)
        s.store_at(data, first, NULL)
        for part, field in zip(_PARTS, ("data", "indices", "indptr"), strict=True):
            s.store_at(data, s.builder.add(first, number(part)), s.field(given, Sparse, field))
    return s.done()


def _check_struct_extent(s: _MatrixStep, first: Value, axis: Value, found: Value) -> None:
    """Check the rows or columns of a struct against the passed dim, or the extent in the signature."""
    name, wanted = s.of_argument(first, "name"), s.item(s.of_argument(first, "dims"), axis)
    with s.builder.if_else(s.less(wanted, number(0))) as (named, fixed):
        with named:
            dim = s.builder.sub(number(-1), wanted)
            known, dim_name = s.item(s.of_frame("dims"), dim), s.item(s.of_table("dim_names"), dim, pointer)
            values = [name, found, s.word(axis), known, dim_name]
            s.fail_when(s.differs(known, found), Status.WRONG_EXTENT, say.WRONG_ROWS_DIM, *values)
        with fixed:
            values = [name, found, s.word(axis), wanted]
            s.fail_when(s.differs(wanted, found), Status.WRONG_EXTENT, say.WRONG_ROWS, *values)


def _define_check(shared: Shared, has_threads: bool) -> Function:
    """Define entry.check_matrices(frame): make every sparse input valid and canonical, or return a failure status."""
    gather = define_gather(shared.constants.module) if shared.has_heap else None
    both = [define_compressed(shared.constants.module, bits, has_threads) for bits in (32, 64)]
    locate = _define_locate(shared)
    arrange = _define_arrange(shared, both, gather)
    s = _MatrixStep(shared, CHECK_MATRICES)
    context = s.of_frame("context")
    flags = s.slot(i64, number(0))
    with s.when(s.builder.not_(s.is_null(context))):
        flags.set(s.builder.and_(s.field(context, Context, "flags"), s.of_table("obeyed_flags")))
    with s.loop(s.of_table("matrix_count")) as m:
        matrix = s.matrix(m)
        first, major = s.field(matrix, Matrix, "first"), s.field(matrix, Matrix, "major")
        shape = s.shape_of(matrix)
        s.check_blocks(matrix, shape)
        slices = s.slices(matrix, shape, major)
        place = s.builder.add(s.field(matrix, Matrix, "indices"), number(1))
        expected, found = s.builder.add(slices, number(1)), s.item(shape, place)
        values = (s.of_argument(first, "name"), found, expected, slices, s.entry_word(matrix, major))
        s.fail_when(s.differs(expected, found), Status.WRONG_EXTENT, say.WRONG_POINTERS, *values)
        with s.when(s.equal(flags.get(), number(0))):
            state = _scanned(s, matrix, both)
            with s.when(s.equal(state, number(INVALID))):
                s.do(locate, matrix)
            with s.when(s.equal(state, number(UNSORTED))):
                s.do(arrange, matrix)
    return s.done()


def _scanned(s: _MatrixStep, matrix: Value, both: Sequence[Compressed]) -> Value:
    """Emit a scan of the indices of a sparse input; return CANONICAL, UNSORTED or INVALID."""
    state, arguments = s.slot(i64, number(0)), [*_arrays(s, matrix), s.of_frame("context")]
    first = s.field(matrix, Matrix, "first")
    _by_width(s, first, both, lambda functions: state.set(s.builder.call(functions.scan, arguments)))
    return state.get()


def _arrays(s: _MatrixStep, matrix: Value) -> list[Value]:
    """The arguments (indptr, indices, major, minor, nnz) for a sparse input."""
    first, major = s.field(matrix, Matrix, "first"), s.field(matrix, Matrix, "major")
    shape = s.shape_of(matrix)
    indices, indptr = (s.item(s.of_frame("data"), s.builder.add(first, number(part)), pointer) for part in (2, 3))
    minor = s.slices(matrix, shape, s.builder.sub(number(1), major))
    return [indptr, indices, s.slices(matrix, shape, major), minor, s.item(shape, 2)]


def _by_width(s: _MatrixStep, first: Value, both: Sequence[Compressed], act: Callable[[Compressed], None]) -> None:
    """Emit a branch on the index dtype of a sparse input; `act` emits each side with the functions for its width."""
    size = s.of_argument(s.builder.add(first, number(2)), "itemsize")
    with s.builder.if_else(s.equal(size, number(4))) as (narrow, wide):
        with narrow:
            act(both[0])
        with wide:
            act(both[1])


def _define_locate(shared: Shared) -> Function:
    """Define entry.locate(frame, matrix): find the first error of a sparse input, and write a message."""
    s = _MatrixStep(shared, "entry.locate", [pointer])
    matrix = s.arguments[1]
    first, major = s.field(matrix, Matrix, "first"), s.field(matrix, Matrix, "major")
    name = s.of_argument(first, "name")
    size = s.of_argument(s.builder.add(first, number(2)), "itemsize")
    indptr, indices, slices, minor, nnz = _arrays(s, matrix)

    def index(base: Value, position: Value) -> Value:
        value = s.slot(i64, number(0))
        with s.builder.if_else(s.equal(size, number(4))) as (narrow, wide):
            with narrow:
                value.set(s.builder.sext(s.item(base, position, i32), i64))
            with wide:
                value.set(s.item(base, position))
        return value.get()

    start, end = index(indptr, number(0)), index(indptr, slices)
    s.fail_when(s.differs(start, number(0)), Status.BAD_STRUCTURE, say.BAD_START, name, start)
    with s.loop(slices) as i:
        low, high = index(indptr, i), index(indptr, s.builder.add(i, number(1)))
        values = [name, s.entry_word(matrix, major, ""), i, low, high]
        s.fail_when(s.less(high, low), Status.BAD_STRUCTURE, say.BAD_ORDER, *values)
    s.fail_when(s.differs(end, nnz), Status.BAD_STRUCTURE, say.BAD_END, name, end, nnz)
    other = s.builder.sub(number(1), major)
    with s.loop(slices) as i, s.loop(index(indptr, s.builder.add(i, number(1))), index(indptr, i)) as k:
        found = index(indices, k)
        words = [s.entry_word(matrix, axis, plural) for axis, plural in ((major, ""), (other, ""), (other, "s"))]
        values = [name, words[0], i, words[1], found, minor, words[2]]
        s.fail_when(s.builder.not_(s.below(found, minor)), Status.BAD_INDEX, say.BAD_INDEX, *values)
    return s.done()


def _define_arrange(shared: Shared, both: Sequence[Compressed], gather: Function | None) -> Function:
    """Define entry.arrange(frame, matrix): replace a sparse input by a sorted copy without duplicates.

    Without `gather` there is no memory for a copy: the input is rejected.
    """
    s = _MatrixStep(shared, "entry.arrange_matrix", [pointer])
    b, matrix = s.builder, s.arguments[1]
    first = s.field(matrix, Matrix, "first")
    if gather is None:
        text = shared.constants.text(say.template(say.NO_HEAP_SORTED))
        s.ret(s.failure(status(Status.NO_MEMORY), text, s.of_argument(first, "name")))
        return s.function
    shape = s.shape_of(matrix)
    indptr, indices, slices, _, nnz = _arrays(s, matrix)
    elements = b.mul(s.field(matrix, Matrix, "height"), s.field(matrix, Matrix, "width"))
    leaves = [b.add(first, number(part)) for part in _PARTS]
    sizes = [s.of_argument(k, "itemsize") for k in leaves]
    counts, word = (b.mul(nnz, elements), nnz, b.add(slices, number(1)), nnz, nnz), number(8)
    blocks = [
        b.call(shared.malloc, [b.mul(count, size)]) for count, size in zip(counts, (*sizes, word, word), strict=True)
    ]
    with s.when(s.any(*map(s.is_null, blocks))):
        for block in blocks:
            b.call(shared.free, [block])
        text = shared.constants.text(say.template(say.NO_MEMORY_SORTED))
        s.ret(s.failure(status(Status.NO_MEMORY), text, s.of_argument(first, "name")))
    *copies, order, target = blocks
    data, new_indices, new_indptr = copies
    count = s.slot(i64, number(0))
    arguments = [indptr, indices, slices, new_indptr, new_indices, order, target]
    _by_width(s, first, both, lambda functions: count.set(b.call(functions.arrange, arguments)))
    old = s.item(s.of_frame("data"), leaves[0], pointer)
    b.call(gather, [old, order, target, nnz, elements, s.of_argument(leaves[0], "dtype"), data])
    for block in (order, target):
        b.call(shared.free, [block])
    for k, copy in zip(leaves, copies, strict=True):
        b.call(shared.free, [s.item(s.of_frame("temporaries"), k, pointer)])
        s.store_at(s.of_frame("temporaries"), k, copy)
        s.store_at(s.of_frame("data"), k, copy)
    for position in (number(2), s.field(matrix, Matrix, "indices")):
        s.store_at(shape, position, count.get())
    return s.done()


def _define_give(shared: Shared) -> Function:
    """Define entry.give_matrix(frame, k, number, shape): fill in the struct of a sparse output with pattern argument k.

    number: number of the output. shape: extents of pattern, data (three for bsr), indices, indptr. Fields set by the
    caller are checked first: nonzero dtypes, and with arrays also nnz and a nonzero shape.
    """
    s = _MatrixStep(shared, GIVE_MATRIX, [i64, i64, pointer])
    _, k, index, shape = s.arguments
    given, name = s.item(s.of_frame("data"), k, pointer), s.of_argument(k, "name")
    s.fail_when(s.is_null(given), Status.NULL_POINTER, say.NO_POINTER, name)
    s.store_at(s.of_frame("data"), k, NULL)
    nnz, old, yes = s.item(shape, 2), s.field(given, Sparse, "nnz"), constant(i1, 1)
    is_blank = s.is_null(s.field(given, Sparse, "indptr"))
    is_other = s.all(s.builder.not_(is_blank), s.differs(nnz, old))
    s.fail_when(is_other, Status.WRONG_EXTENT, say.WRONG_COUNT, name, old, nnz)
    declared = s.field_address(given, Sparse, "shape")
    is_declared = s.differs(s.builder.or_(s.item(declared, 0), s.item(declared, 1)), number(0))
    for axis in (0, 1):
        found, wanted = s.item(declared, axis), s.item(shape, axis)
        is_other = s.all(s.builder.not_(is_blank), is_declared, s.differs(found, wanted))
        values = (name, found, s.word(number(axis)), wanted)
        s.fail_when(is_other, Status.WRONG_EXTENT, say.WRONG_ROWS, *values)
    for part, field in _DTYPES:
        leaf = s.builder.add(k, number(part))
        dtypes = s.field(given, Sparse, field), s.of_argument(leaf, "dtype")
        s.meet_dtype(s.of_argument(leaf, "name"), *dtypes, yes)
    for axis in (0, 1):
        s.store_at(declared, axis, s.item(shape, axis))
    s.put_field(given, Sparse, "nnz", nnz)
    for part, field in _DTYPES:
        s.put_field(given, Sparse, field, s.of_argument(s.builder.add(k, number(part)), "dtype"))
    needed = s.slot(i32, status(0))
    place = s.slot(i64, number(2))
    for part, field in zip(_PARTS, ("data", "indices", "indptr"), strict=True):
        leaf = s.builder.add(k, number(part))
        extent, rank = s.at(shape, place.get(), 8), s.of_argument(leaf, "rank")
        place.add(rank)
        size = s.bytes_of(extent, rank, s.of_argument(leaf, "itemsize"))
        s.fail_when(s.less(size, number(0)), Status.TOO_LARGE, say.TOO_LARGE, s.of_argument(leaf, "name"))
        with s.when(is_blank):
            s.put_field(given, Sparse, field, NULL)
            with s.when(s.differs(size, number(0))):
                _allocate(s, given, field, leaf, (s.builder.add(index, number(part)), size, extent), needed)
        address = s.field(given, Sparse, field)
        is_missing = s.all(s.builder.not_(is_blank), s.is_null(address), s.differs(size, number(0)))
        s.fail_when(is_missing, Status.NULL_POINTER, say.NO_POINTER, s.of_argument(leaf, "name"))
        s.store_at(s.of_frame("data"), leaf, address)
    s.ret(needed.get())
    return s.function


def _allocate(
    s: _MatrixStep, given: Value, field: str, leaf: Value, request: tuple[Value, Value, Value], needed: Slot
) -> None:
    """Allocate one array of a sparse output by the callback; return OUTPUTS_NEEDED if there is no callback."""
    index, size, extent = request
    name, context, allocate = s.of_argument(leaf, "name"), s.of_frame("context"), s.slot(pointer, NULL)
    with s.when(s.builder.not_(s.is_null(context))):
        allocate.set(s.field(context, Context, "allocate"))
    with s.builder.if_else(s.is_null(allocate.get())) as (absent, present):
        with absent:
            text = s.shared.constants.text(say.template(say.OUTPUTS_NEEDED))
            needed.set(s.failure(status(Status.OUTPUTS_NEEDED), text, name))
        with present:
            kind = ir.FunctionType(pointer, [pointer, i32, i64, pointer])
            arguments = [s.field(context, Context, "user"), s.builder.trunc(index, i32), size, extent]
            address = s.call_field(context, Context, "allocate", kind, arguments)
            s.fail_when(s.is_null(address), Status.NO_MEMORY, say.NO_MEMORY, name, size)
            s.put_field(given, Sparse, field, address)
