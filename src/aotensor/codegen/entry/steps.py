"""The steps of a call, each a fixed function on the call's frame: accept arrays, compute extents, run the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aotensor.codegen.calls.memory import sized
from aotensor.codegen.emit_memory import NO_MEMORY
from aotensor.codegen.entry import text as say
from aotensor.codegen.entry.arrays import Arrays, define_arrays
from aotensor.codegen.entry.code import NULL, Code, Slot, number, status
from aotensor.codegen.entry.tables import COLUMNS, PATTERN, Argument, Constants, Frame, Table
from aotensor.codegen.entry.threads import rest
from aotensor.codegen.llvm import Function, Type, Value, constant, function, i1, i32, i64, ir, pointer, void
from aotensor_runtime.abi import DTYPE_CODES, SMALLEST_KEPT, WORKSPACE_ALIGNMENT, Array, Blas, Context, Kept, Status


@dataclass
class Shared:
    """State that the fixed functions share. has_heap: may they call malloc? has_threads: is there a pool of threads?"""

    constants: Constants
    has_heap: bool = True
    has_threads: bool = False

    def __post_init__(self) -> None:
        module = self.constants.module
        self.arrays: Arrays = define_arrays(module)
        self.fail: Function = say.define_fail(self.constants)
        self.dtype_names: Value = say.dtype_names(self.constants)
        if self.has_heap:
            self.malloc: Function = sized(module, "malloc")
            self.free: Function = function(module, "free", void, [pointer])


class Step(Code):
    """A fixed function whose first argument is the frame of the call; it returns a status."""

    def __init__(self, shared: Shared, name: str, arguments: Sequence[Type] = ()) -> None:
        super().__init__(shared.constants.module, name, i32, [pointer, *arguments])
        self.shared = shared
        self.frame: Value = self.arguments[0]
        self._values = self.alloca(i64, 8)

    def of_frame(self, name: str) -> Value:
        return self.field(self.frame, Frame, name)

    def of_table(self, name: str) -> Value:
        return self.field(self.of_frame("table"), Table, name)

    def argument(self, index: Value) -> Value:
        """The address of the description of input or output number `index`."""
        return self.element(self.of_table("arguments"), index, Argument)

    def dtype_name(self, code: Value) -> Value:
        is_known = self.below(code, number(len(DTYPE_CODES) + 1))
        return self.item(self.shared.dtype_names, self.builder.select(is_known, code, number(0)), pointer)

    def meet_dtype(self, name: Value, found: Value, expected: Value, may_be_absent: Value | None = None) -> None:
        """Check a dtype against the signature. may_be_absent: if true, a code of 0 is accepted."""
        differs = self.differs(found, expected)
        if may_be_absent is not None:
            is_absent = self.all(may_be_absent, self.equal(found, number(0)))
            differs = self.all(differs, self.builder.not_(is_absent))
        names = self.dtype_name(found), self.dtype_name(expected)
        self.fail_when(differs, Status.WRONG_DTYPE, say.WRONG_DTYPE, name, *names)

    def meet_extents(self, name: Value, given: Value, shape: Value, rank: Value) -> None:
        """Check the extents of an output against the computed ones."""
        with self.loop(rank) as axis:
            found, wanted = self.item(given, axis), self.item(shape, axis)
            values = (name, axis, found, wanted)
            self.fail_when(self.differs(wanted, found), Status.WRONG_EXTENT, say.WRONG_EXTENT, *values)

    def is_column_major(self, index: Value) -> Value:
        """Does the kernel expect input or output number `index` in column-major order?"""
        return self.equal(self.field(self.argument(index), Argument, "kind"), number(COLUMNS))

    def strides_of(self, index: Value, array: Value, shape: Value, rank: Value) -> tuple[Value, Value]:
        """(strides that the kernel expects of an array, strides that it has), in stack memory."""
        expected, usual = self.alloca(i64, rank), self.alloca(i64, rank)
        find = self.shared.arrays.strides
        self.builder.call(find, [shape, rank, expected, self.is_column_major(index)])
        self.builder.call(find, [shape, rank, usual, constant(i1, 0)])
        strides = self.field(array, Array, "strides")
        return expected, self.builder.select(self.is_null(strides), usual, strides)

    def bytes_of(self, shape: Value, rank: Value, itemsize: Value) -> Value:
        return self.builder.call(self.shared.arrays.bytes, [shape, rank, itemsize])

    def failure(self, code: Value, text: Value, *values: Value) -> Value:
        """Write a message and return `code`; text 0 of the template is the function's name."""
        for k, value in enumerate((self.of_table("name"), *values)):
            self.put_cell(self._values, k, value)
        return self.builder.call(self.shared.fail, [self.of_frame("context"), code, text, self._values])

    def fail_when(self, condition: Value, code: Status, text: str, *values: Value) -> None:
        """If the condition holds, write a message and return `code`."""
        with self.when(condition):
            self.ret(self.failure(status(code), self.shared.constants.text(say.template(text)), *values))

    def do(self, step: Function, *arguments: Value) -> None:
        """Call another step; return its status if it failed."""
        self.give_error(self.builder.call(step, [self.frame, *arguments]))

    def do_of_table(self, name: str, *arguments: Value) -> None:
        """Call the table's step `name`, if it has one; return its status if it failed."""
        table = self.of_frame("table")
        with self.when(self.builder.not_(self.is_null(self.field(table, Table, name)))):
            kind = ir.FunctionType(i32, [pointer, *(value.type for value in arguments)])
            self.give_error(self.call_field(table, Table, name, kind, [self.frame, *arguments]))

    def done(self) -> Function:
        self.ret(status(0))
        return self.function


def define_take_input(shared: Shared) -> Function:
    """Define entry.take_input(frame, k, array, shape, holders): check input k; copy it if its layout is different.

    It writes the extents to `shape`, new dims to the frame, and the address of this input's description to `holders`.
    """
    s = Step(shared, "entry.take_input", [i64, pointer, pointer, pointer])
    _, k, array, shape, holders = s.arguments
    spec = s.argument(k)
    name, rank, itemsize = (s.field(spec, Argument, field) for field in ("name", "rank", "itemsize"))
    s.meet_dtype(name, s.field(array, Array, "dtype"), s.field(spec, Argument, "dtype"))
    found = s.field(array, Array, "rank")
    s.fail_when(s.differs(found, rank), Status.WRONG_RANK, say.WRONG_RANK, name, found, rank)
    given = s.field(array, Array, "shape")
    s.fail_when(s.all(s.is_null(given), s.differs(rank, number(0))), Status.NULL_POINTER, say.NO_POINTER_SHAPE, name)
    with s.loop(rank) as axis:
        extent = s.item(given, axis)
        s.store_at(shape, axis, extent)
        s.fail_when(s.less(extent, number(0)), Status.NEGATIVE, say.NEGATIVE, name, axis, extent)
        _check_dim(s, spec, axis, extent, holders)
    size = s.bytes_of(shape, rank, itemsize)
    s.fail_when(s.less(size, number(0)), Status.TOO_LARGE, say.TOO_LARGE, name)
    with s.when(s.equal(s.field(spec, Argument, "kind"), number(PATTERN))):
        s.store_at(s.of_frame("data"), k, NULL)
        s.ret(status(0))
    data = s.field(array, Array, "data")
    s.fail_when(s.all(s.is_null(data), s.differs(size, number(0))), Status.NULL_POINTER, say.NO_POINTER, name)
    s.store_at(s.of_frame("data"), k, data)
    is_packed = s.builder.call(shared.arrays.is_packed, [array, shape, rank, itemsize, s.is_column_major(k)])
    if not shared.has_heap:
        _refuse_strides(s, k, is_packed, size, name)
        return s.done()
    with s.when(s.all(s.builder.not_(is_packed), s.differs(size, number(0)))):
        temporary = _take_temporary(s, k, name, size)
        packed, strides = s.strides_of(k, array, shape, rank)
        s.builder.call(shared.arrays.copy, [temporary, packed, data, strides, shape, rank, itemsize])
    return s.done()


def _check_dim(s: Step, spec: Value, axis: Value, extent: Value, holders: Value) -> None:
    """Check one extent against the constant in the signature, or the dim from its first occurrence."""
    name, wanted = s.field(spec, Argument, "name"), s.item(s.field(spec, Argument, "dims"), axis)
    with s.builder.if_else(s.less(wanted, number(0))) as (named, fixed):
        with named:
            dim = s.builder.sub(number(-1), wanted)
            dims = s.of_frame("dims")
            known = s.item(dims, dim)
            with s.when(s.less(known, number(0))):
                s.store_at(dims, dim, extent)
                s.store_at(holders, dim, name)
            known, holder = s.item(dims, dim), s.item(holders, dim, pointer)
            dim_name = s.item(s.of_table("dim_names"), dim, pointer)
            values = (name, dim_name, extent, known, holder)
            s.fail_when(s.differs(known, extent), Status.WRONG_EXTENT, say.WRONG_DIM, *values)
        with fixed:
            s.fail_when(s.differs(wanted, extent), Status.WRONG_EXTENT, say.WRONG_EXTENT, name, axis, extent, wanted)


def _refuse_strides(s: Step, k: Value, is_packed: Value, size: Value, name: Value) -> None:
    """Reject an array with another layout: without a heap there is no memory for a copy."""
    with s.when(s.all(s.builder.not_(is_packed), s.differs(size, number(0)))):
        s.fail_when(s.is_column_major(k), Status.NO_MEMORY, say.NO_HEAP_COLUMNS, name)
        s.ret(s.failure(status(Status.NO_MEMORY), s.shared.constants.text(say.template(say.NO_HEAP_COPY)), name))


def _take_temporary(s: Step, k: Value, name: Value, size: Value) -> Value:
    """Allocate a temporary for the elements of input or output k until the call ends."""
    temporary = s.builder.call(s.shared.malloc, [size])
    s.fail_when(s.is_null(temporary), Status.NO_MEMORY, say.NO_MEMORY, name, size)
    s.store_at(s.of_frame("temporaries"), k, temporary)
    s.store_at(s.of_frame("data"), k, temporary)
    return temporary


def define_take_output(shared: Shared) -> Function:
    """Define entry.take_output(frame, k, number, array, shape): check or allocate output `number`, argument k.

    An output without data gets its extents, its dtype, and memory from the callback; without a callback the status is
    OUTPUTS_NEEDED. A pattern without data gets its extents, or the caller's extents are checked. An output with gaps or
    wrong alignment gets a temporary.
    """
    s = Step(shared, "entry.take_output", [i64, i64, pointer, pointer])
    _, k, index, array, shape = s.arguments
    spec = s.argument(k)
    name, rank, itemsize = (s.field(spec, Argument, field) for field in ("name", "rank", "itemsize"))
    found = s.field(array, Array, "rank")
    s.fail_when(s.differs(found, rank), Status.WRONG_RANK, say.WRONG_RANK, name, found, rank)
    given = s.field(array, Array, "shape")
    s.fail_when(s.all(s.is_null(given), s.differs(rank, number(0))), Status.NULL_POINTER, say.NO_POINTER_SHAPE, name)
    is_blank = s.is_null(s.field(array, Array, "data"))
    s.meet_dtype(name, s.field(array, Array, "dtype"), s.field(spec, Argument, "dtype"), is_blank)
    with s.when(s.equal(s.field(spec, Argument, "kind"), number(PATTERN))):
        s.store_at(s.of_frame("data"), k, NULL)
        with s.when(is_blank):
            with s.loop(rank) as axis:
                s.store_at(given, axis, s.item(shape, axis))
            s.ret(status(0))
        s.meet_extents(name, given, shape, rank)
        s.ret(status(0))
    size = s.bytes_of(shape, rank, itemsize)
    s.fail_when(s.less(size, number(0)), Status.TOO_LARGE, say.TOO_LARGE, name)
    s.store_at(s.of_frame("data"), k, s.field(array, Array, "data"))
    with s.when(is_blank):
        has_strides = s.builder.not_(s.is_null(s.field(array, Array, "strides")))
        s.fail_when(has_strides, Status.NULL_POINTER, say.STRIDES_OF_NOTHING, name)
        s.ret(_allocate_output(s, k, index, array, shape, size))
    s.meet_extents(name, given, shape, rank)
    is_packed = s.builder.call(shared.arrays.is_packed, [array, shape, rank, itemsize, s.is_column_major(k)])
    if not shared.has_heap:
        _refuse_strides(s, k, is_packed, size, name)
        return s.done()
    with s.when(s.all(s.builder.not_(is_packed), s.differs(size, number(0)))):
        _refuse_repeats(s, name, array, shape, rank)
        _take_temporary(s, k, name, size)
    return s.done()


def _allocate_output(s: Step, k: Value, index: Value, array: Value, shape: Value, size: Value) -> Value:
    """Fill in an output that was passed without data; return a status, OUTPUTS_NEEDED without a callback."""
    spec = s.argument(k)
    name, given = s.field(spec, Argument, "name"), s.field(array, Array, "shape")
    with s.loop(s.field(spec, Argument, "rank")) as axis:
        s.store_at(given, axis, s.item(shape, axis))
    s.put_field(array, Array, "strides", NULL)
    s.put_field(array, Array, "dtype", s.field(spec, Argument, "dtype"))
    s.ret_if(s.equal(size, number(0)), status(0))
    context = s.of_frame("context")
    with s.when(s.builder.not_(s.is_null(context))):
        allocate = s.field(context, Context, "allocate")
        with s.when(s.builder.not_(s.is_null(allocate))):
            kind = ir.FunctionType(pointer, [pointer, i32, i64, pointer])
            arguments = [s.field(context, Context, "user"), s.builder.trunc(index, i32), size, shape]
            data = s.call_field(context, Context, "allocate", kind, arguments)
            s.fail_when(s.is_null(data), Status.NO_MEMORY, say.NO_MEMORY, name, size)
            s.put_field(array, Array, "data", data)
            s.store_at(s.of_frame("data"), k, data)
            is_transposed = s.is_column_major(k)  # the caller's memory is row-major
            if s.shared.has_heap:
                with s.when(is_transposed):
                    _take_temporary(s, k, name, size)
            else:
                s.fail_when(is_transposed, Status.NO_MEMORY, say.NO_HEAP_COLUMNS, name)
            s.ret(status(0))
    needed = s.shared.constants.text(say.template(say.OUTPUTS_NEEDED))
    return s.failure(status(Status.OUTPUTS_NEEDED), needed, name)


def _refuse_repeats(s: Step, name: Value, array: Value, shape: Value, rank: Value) -> None:
    """Reject an output in which several elements share an address.

    The stride of an axis must exceed the reach of all axes with smaller strides together.
    """
    b, strides = s.builder, s.field(array, Array, "strides")

    def step(axis: Value) -> Value:
        stride = s.item(strides, axis)
        return b.select(s.less(stride, number(0)), b.neg(stride), stride)

    with s.when(b.not_(s.is_null(strides))), s.loop(rank) as axis, s.when(s.less(number(1), s.item(shape, axis))):
        own, reach = step(axis), s.slot(i64, number(0))
        with s.loop(rank) as other:
            is_within = s.all(s.differs(axis, other), b.not_(s.less(own, step(other))))
            length = b.mul(b.sub(s.item(shape, other), number(1)), step(other))
            reach.add(b.select(is_within, length, number(0)))
        s.fail_when(b.not_(s.less(reach.get(), own)), Status.OVERLAP, say.OVERLAP_SELF, name)


def define_extents(shared: Shared) -> Function:
    """Define entry.extents(frame): compute the extents of the outputs and the bytes of workspace."""
    s = Step(shared, "entry.extents")
    s.clear(detail := s.alloca(i64, 4), number(4))
    shapes, ranks = s.of_frame("shapes"), s.of_table("output_ranks")
    extents = s.at(shapes, s.of_table("input_ranks"), 8)
    kind = ir.FunctionType(i32, [pointer, pointer, pointer, pointer, i64, pointer, pointer])
    count = s.builder.add(ranks, number(1))
    _need_functions(s)
    arguments = [s.of_frame("data"), shapes, s.of_frame("kept"), extents, count, detail, s.of_frame("context")]
    check = s.call_field(s.of_frame("table"), Table, "extents", kind, arguments)
    _give_check(s, check, detail)
    with s.loop(ranks) as i:
        s.fail_when(s.less(s.item(extents, i), number(0)), Status.TOO_LARGE, say.TOO_LARGE_WORKSPACE)
    return s.done()


def define_run(shared: Shared) -> Function:
    """Define entry.run(frame, workspace, bytes): call the kernel, with a new workspace if the given one is too small.

    Without a heap, a workspace that is too small is rejected.
    """
    s = Step(shared, "entry.run", [pointer, i64])
    _, workspace, room = s.arguments
    b = s.builder
    needed = s.item(s.of_frame("shapes"), b.add(s.of_table("input_ranks"), s.of_table("output_ranks")))
    limit = number((1 << 63) - 1 - WORKSPACE_ALIGNMENT)
    s.fail_when(s.below(limit, needed), Status.TOO_LARGE, say.TOO_LARGE_WORKSPACE)
    total = b.add(needed, number(WORKSPACE_ALIGNMENT))
    block, own, kept = s.slot(pointer, workspace), s.slot(pointer, NULL), s.slot(pointer, NULL)
    is_short = s.all(s.any(s.is_null(workspace), s.less(room, total)), s.differs(needed, number(0)))
    if shared.has_heap:
        with s.when(is_short):
            _take_workspace(s, total, own, kept)
            block.set(s.at(own.get(), _HEAD, 1))
    else:
        s.fail_when(is_short, Status.NO_MEMORY, say.NO_HEAP_WORKSPACE, total)
    s.clear(detail := s.alloca(i64, 4), number(4))
    kind = ir.FunctionType(i32, [pointer, pointer, pointer, pointer, i64, pointer, pointer])
    start = s.align_up(block.get(), WORKSPACE_ALIGNMENT)
    given = [s.of_frame(name) for name in ("data", "shapes", "kept")]
    arguments = [*given, start, needed, detail, s.of_frame("context")]
    check = s.call_field(s.of_frame("table"), Table, "kernel", kind, arguments)
    if shared.has_threads:
        rest(s)
    if shared.has_heap:
        with s.when(s.builder.not_(s.is_null(kept.get()))):
            is_allowed = s.less(s.item(own.get(), 0), s.field(kept.get(), Kept, "limit"))
            with s.when(is_allowed):
                own.set(s.exchange_field(kept.get(), Kept, "block", own.get()))
        b.call(shared.free, [own.get()])
    _give_check(s, check, detail)
    return s.done()


def _take_workspace(s: Step, total: Value, own: Slot, kept: Slot) -> None:
    """Allocate `total` bytes after a header, or reuse the context's kept workspace if it is large enough."""
    kept.set(_kept_address(s, total))
    with s.when(s.builder.not_(s.is_null(kept.get()))):
        own.set(_remove_kept(s, kept.get(), total))
    with s.when(s.is_null(own.get())):
        memory = s.builder.call(s.shared.malloc, [s.builder.add(total, number(_HEAD))])
        what = s.shared.constants.text("workspace")
        s.fail_when(s.is_null(memory), Status.NO_MEMORY, say.NO_MEMORY, what, total)
        s.store_at(memory, 0, total)
        own.set(memory)


_HEAD: Final = 8
"""Bytes of the header of an allocated workspace, which holds its size."""


def _kept_address(s: Step, size: Value) -> Value:
    """The address at which the context keeps workspaces of a size; NULL if it keeps none."""
    context, kept = s.of_frame("context"), s.slot(pointer, NULL)
    is_large = s.all(s.builder.not_(s.is_null(context)), s.less(number(SMALLEST_KEPT), size))
    with s.when(is_large), s.when(s.less(number(s.offset(Context, "kept")), s.field(context, Context, "struct_size"))):
        kept.set(s.field(context, Context, "kept"))
    return kept.get()


def _remove_kept(s: Step, kept: Value, size: Value) -> Value:
    """Remove the kept workspace from the context, so that no other call uses it; NULL if there is none."""
    found = s.slot(pointer, s.exchange_field(kept, Kept, "block", NULL))
    with s.when(s.builder.not_(s.is_null(found.get()))), s.when(s.less(s.item(found.get(), 0), size)):
        s.builder.call(s.shared.free, [found.get()])
        found.set(NULL)
    return found.get()


def _need_functions(s: Step) -> None:
    """Check that the BLAS table of the context has every function that is called unconditionally."""
    context, table = s.of_frame("context"), s.slot(pointer, NULL)
    with s.when(s.builder.not_(s.is_null(context))):
        table.set(s.field(context, Context, "blas"))
    blas = table.get()
    with s.loop(s.of_table("need_count")) as i:
        offset = s.item(s.of_table("needs"), i)
        found = s.slot(pointer, NULL)
        with s.when(s.builder.not_(s.is_null(blas))):
            is_known = s.less(offset, s.field(blas, Blas, "struct_size"))
            with s.when(is_known):
                found.set(s.builder.load(s.at(blas, offset, 1), typ=pointer))
        told = say.NO_FUNCTION, s.item(s.of_table("need_names"), i, pointer)
        s.fail_when(s.is_null(found.get()), Status.NO_FUNCTION, *told)


def _give_check(s: Step, check: Value, detail: Value) -> None:
    """Return the status of check number `check`, unless the number is 0."""
    with s.when(s.differs(check, status(0))):
        s.fail_when(s.equal(check, status(NO_MEMORY)), Status.NO_MEMORY, say.NO_MEMORY_INSIDE)
        index = s.builder.sub(s.builder.sext(check, i64), number(1))
        code = s.builder.trunc(s.item(s.of_table("codes"), index), i32)
        text = s.item(s.of_table("checks"), index, pointer)
        s.ret(s.builder.call(s.shared.fail, [s.of_frame("context"), code, text, detail]))
