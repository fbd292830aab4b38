"""The fixed functions behind the uniform and the typed entry, shared by all functions and driven by their tables.

    uniform:  take inputs → check matrices → extents → take outputs → no overlap → run → copy back → free
    typed:    shapes from dims → check matrices → extents → take outputs → run → copy back → free

All memory of a call is on the stack or freed before it returns; writes go only to memory that the caller provides for
writing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aotensor.codegen.entry import steps as steps
from aotensor.codegen.entry import text as say
from aotensor.codegen.entry.code import NULL, Code, number, status
from aotensor.codegen.entry.steps import Shared, Step
from aotensor.codegen.entry.tables import (
    ALLOCATED,
    COLUMNS,
    HIDDEN,
    PATTERN,
    PLAIN,
    Argument,
    Constants,
    Description,
    Frame,
    Table,
)
from aotensor.codegen.llvm import Function, Module, Value, function, i8, i32, i64, ir, opaque, pointer
from aotensor_runtime.abi import ABI_VERSION, CANONICAL, END_OF_SMALLEST_CONTEXT, Array, Blas, Context, Status

_SHARED = ("optsize", "noinline")
"""Attributes of the functions that all entries share, so that they are not inlined."""


@dataclass(frozen=True)
class Core:
    """The functions i32 uniform(context, inputs, outputs, table), i32 typed(context, dims, data, workspace, table)."""

    uniform: Function
    typed: Function


def declare_core(module: Module) -> Core:
    """Declare the fixed functions that every entry point calls; another module of the library defines them."""
    uniform = function(module, "entry.uniform", i32, [pointer] * 4)
    typed = function(module, "entry.typed", i32, [pointer] * 5)
    for declared in (uniform, typed):
        declared.linkage = HIDDEN
    return Core(uniform, typed)


def define_core(constants: Constants, has_heap: bool = True, has_threads: bool = False) -> None:
    """Define the functions of `declare_core`; only these are visible to other modules.

    has_heap, has_threads: as in `Shared`
    """
    shared = Shared(constants, has_heap, has_threads)
    extents, run = steps.define_extents(shared), steps.define_run(shared)
    take_output = steps.define_take_output(shared)
    finish = _define_finish(shared)
    refuse_context = _define_refuse_context(shared)
    prepare_uniform = _define_prepare_uniform(shared, refuse_context, extents, take_output)
    prepare_typed = _define_prepare_typed(shared, refuse_context, extents, take_output)
    _define_uniform(shared, prepare_uniform, run, finish).linkage = HIDDEN
    _define_typed(shared, prepare_typed, run, finish).linkage = HIDDEN


DESCRIPTION: Final = "entry.library"
"""The library's `Description`, which its main module defines."""


def define_library_entries(constants: Constants, prefix: str) -> None:
    """Define the entries that describe a library: the same code in every one, which reads its `Description`."""
    module = constants.module
    description = opaque(ir.GlobalVariable(module, i8, DESCRIPTION))
    description.global_constant = True
    say.define_status_message(constants, f"{prefix}aotensor_status_message", description)
    c = Code(module, f"{prefix}aotensor_manifest", pointer, [], exported=True)
    c.ret(c.field(description, Description, "manifest"))
    c = Code(module, f"{prefix}aotensor_abi_version", i32, [], exported=True)
    c.ret(status(ABI_VERSION))
    c = Code(module, f"{prefix}aotensor_signature", pointer, [i32], exported=True)  # of a function, NULL at the end
    index = c.builder.sext(c.arguments[0], i64)
    with c.when(c.below(index, c.field(description, Description, "count"))):
        c.ret(c.item(c.field(description, Description, "signatures"), index, pointer))
    c.ret(NULL)


def _define_prepare_uniform(
    shared: Shared, refuse_context: Function, extents: Function, take_output: Function
) -> Function:
    """Define entry.prepare(frame, inputs, outputs): all steps of the uniform entry before the kernel runs."""
    take_input = steps.define_take_input(shared)
    refuse_overlap = _define_refuse_overlap(shared)
    s = Step(shared, "entry.prepare", [pointer, pointer])
    _, inputs, outputs = s.arguments
    s.do(refuse_context)
    s.do_of_table("weights")
    n_inputs, n_outputs, n_dims = (s.of_table(name) for name in ("inputs", "outputs", "dims"))
    holders, dims = s.alloca(pointer, n_dims), s.of_frame("dims")
    for arrays, count, what in ((inputs, n_inputs, "inputs"), (outputs, n_outputs, "outputs")):
        is_missing = s.all(s.is_null(arrays), s.differs(count, number(0)))
        s.fail_when(is_missing, Status.NULL_POINTER, say.NO_POINTER, shared.constants.text(what))
    with s.loop(n_dims) as dim:
        s.store_at(dims, dim, number(-1))
    shape = s.slot(pointer, s.of_frame("shapes"))
    with s.loop(n_inputs) as k:
        s.do(take_input, k, s.element(inputs, k, Array), shape.get(), holders)
        shape.set(s.at(shape.get(), s.field(s.argument(k), Argument, "rank"), 8))
    s.do_of_table("check_matrices")
    s.do(extents)
    needed = s.slot(i32, status(0))
    with s.loop(n_outputs) as i:
        k = s.builder.add(n_inputs, i)
        code = s.builder.call(take_output, [s.frame, k, i, s.element(outputs, i, Array), shape.get()])
        is_needed = s.equal(code, status(Status.OUTPUTS_NEEDED))
        s.ret_if(s.all(s.differs(code, status(0)), s.builder.not_(is_needed)), code)
        needed.set(s.builder.or_(needed.get(), code))
        shape.set(s.at(shape.get(), s.field(s.argument(k), Argument, "rank"), 8))
    s.give_error(needed.get())
    s.do(refuse_overlap, inputs, outputs)
    return s.done()


def _define_refuse_overlap(shared: Shared) -> Function:
    """Define entry.refuse_overlap(frame, inputs, outputs): check that no output overlaps another array."""
    s = Step(shared, "entry.refuse_overlap", [pointer, pointer])
    _, inputs, outputs = s.arguments
    n_inputs = s.of_table("inputs")
    count = s.builder.add(n_inputs, s.of_table("outputs"))
    lows, highs = s.alloca(i64, count), s.alloca(i64, count)
    shape = s.slot(pointer, s.of_frame("shapes"))
    with s.loop(count) as k:
        spec = s.argument(k)
        name, rank, itemsize = (s.field(spec, Argument, field) for field in ("name", "rank", "itemsize"))
        is_input = s.less(k, n_inputs)
        base = s.builder.select(is_input, inputs, outputs)
        array = s.element(base, s.builder.select(is_input, k, s.builder.sub(k, n_inputs)), Array)
        is_pattern = s.equal(s.field(spec, Argument, "kind"), number(PATTERN))
        size = s.builder.select(is_pattern, number(0), s.bytes_of(shape.get(), rank, itemsize))
        low, high = s.at(lows, k, 8), s.at(highs, k, 8)
        s.builder.call(shared.arrays.reach, [array, shape.get(), rank, itemsize, size, low, high])
        with s.loop(s.builder.select(is_input, number(0), k)) as other:
            meets = s.all(
                s.below(s.item(lows, k), s.item(highs, other)), s.below(s.item(lows, other), s.item(highs, k))
            )
            other_name = s.field(s.argument(other), Argument, "name")
            s.fail_when(meets, Status.OVERLAP, say.OVERLAP, name, other_name)
        shape.set(s.at(shape.get(), rank, 8))
    return s.done()


def _define_prepare_typed(
    shared: Shared, refuse_context: Function, extents: Function, take_output: Function
) -> Function:
    """Define entry.prepare_typed(frame): all steps of the typed entry before the kernel, from dims and data."""
    s = Step(shared, "entry.prepare_typed")
    s.do(refuse_context)
    s.do_of_table("weights")
    n_inputs, dims, data = s.of_table("inputs"), s.of_frame("dims"), s.of_frame("data")
    with s.loop(s.of_table("dims")) as dim:
        value = s.item(dims, dim)
        name = s.item(s.of_table("dim_names"), dim, pointer)
        s.fail_when(s.less(value, number(0)), Status.NEGATIVE, say.NEGATIVE_DIM, name, value)
    s.do_of_table("take_matrices")
    shape = s.slot(pointer, s.of_frame("shapes"))
    with s.loop(n_inputs) as k:
        spec = s.argument(k)
        rank, known = s.field(spec, Argument, "rank"), s.field(spec, Argument, "dims")
        with s.loop(rank) as axis:
            wanted = s.item(known, axis)
            with s.builder.if_else(s.less(wanted, number(0))) as (named, fixed):
                with named:
                    s.store_at(shape.get(), axis, s.item(dims, s.builder.sub(number(-1), wanted)))
                with fixed:
                    s.store_at(shape.get(), axis, wanted)
        with s.when(s.differs(s.field(spec, Argument, "kind"), number(PATTERN))):
            _need_data(s, k, shape.get())
        shape.set(s.at(shape.get(), rank, 8))
    s.do_of_table("check_matrices")
    s.do(extents)
    with s.loop(s.of_table("outputs")) as i:
        k = s.builder.add(n_inputs, i)
        spec = s.argument(k)
        kind = s.field(spec, Argument, "kind")
        with s.when(s.equal(kind, number(PATTERN))):
            s.do_of_table("give_matrix", k, i, shape.get())
        with s.when(s.equal(kind, number(ALLOCATED))):
            array, name = s.item(data, k, pointer), s.field(spec, Argument, "name")
            s.fail_when(s.is_null(array), Status.NULL_POINTER, say.NO_POINTER, name)
            s.do(take_output, k, i, array, shape.get())
        with s.when(s.any(s.equal(kind, number(PLAIN)), s.equal(kind, number(COLUMNS)))):
            _need_data(s, k, shape.get())
        shape.set(s.at(shape.get(), s.field(spec, Argument, "rank"), 8))
    return s.done()


def _need_data(s: Step, k: Value, shape: Value) -> None:
    """Check that argument k has memory unless some extent is 0, and that its size in bytes fits 63 bits."""
    spec = s.argument(k)
    name = s.field(spec, Argument, "name")
    size = s.bytes_of(shape, s.field(spec, Argument, "rank"), s.field(spec, Argument, "itemsize"))
    s.fail_when(s.less(size, number(0)), Status.TOO_LARGE, say.TOO_LARGE, name)
    is_missing = s.all(s.differs(size, number(0)), s.is_null(s.item(s.of_frame("data"), k, pointer)))
    s.fail_when(is_missing, Status.NULL_POINTER, say.NO_POINTER, name)


def _define_finish(shared: Shared) -> Function:
    """Define entry.finish(frame, outputs, status): copy temporaries back on success; free them and kept values.

    Returns the status. outputs: addresses of their arrays; ignored if there is no temporary. Without a heap it does
    nothing.
    """
    s = Step(shared, "entry.finish", [pointer, i32])
    _, outputs, code = s.arguments
    if not shared.has_heap:
        s.ret(code)
        return s.function
    n_inputs, n_outputs, temporaries = s.of_table("inputs"), s.of_table("outputs"), s.of_frame("temporaries")
    shape = s.slot(pointer, s.at(s.of_frame("shapes"), s.of_table("input_ranks"), 8))
    with s.loop(n_outputs) as i:
        k = s.builder.add(n_inputs, i)
        spec, temporary, array = s.argument(k), s.item(temporaries, k, pointer), s.item(outputs, i, pointer)
        rank = s.field(spec, Argument, "rank")
        with s.when(s.all(s.equal(code, status(0)), s.builder.not_(s.is_null(temporary)))):
            packed, strides = s.strides_of(k, array, shape.get(), rank)
            itemsize, data = s.field(spec, Argument, "itemsize"), s.field(array, Array, "data")
            s.builder.call(shared.arrays.copy, [data, strides, temporary, packed, shape.get(), rank, itemsize])
        shape.set(s.at(shape.get(), rank, 8))
    with s.loop(s.builder.add(n_inputs, n_outputs)) as k:
        s.builder.call(shared.free, [s.item(temporaries, k, pointer)])
    with s.loop(s.of_table("kept")) as k:
        s.builder.call(shared.free, [s.cell(s.of_frame("kept"), s.builder.shl(k, number(1)), pointer)])
    s.ret(code)
    return s.function


def _frame(c: Code, context: Value, table: Value) -> Value:
    """Allocate a new frame on the stack, in which the caller sets dims and data."""
    ranks = c.builder.add(c.field(table, Table, "input_ranks"), c.field(table, Table, "output_ranks"))
    count = c.builder.add(c.field(table, Table, "inputs"), c.field(table, Table, "outputs"))
    frame = c.alloca(i8, c.size(Frame))
    temporaries = c.alloca(pointer, count)
    c.clear(temporaries, count, NULL)
    room = c.builder.shl(c.field(table, Table, "kept"), number(1))
    kept = c.alloca(i64, room)
    c.clear(kept, room)
    fields = {"table": table, "context": context, "temporaries": temporaries, "kept": kept}
    fields["shapes"] = c.alloca(i64, c.builder.add(ranks, number(1)))
    for name, value in fields.items():
        c.put_field(frame, Frame, name, value)
    return frame


def _define_refuse_context(shared: Shared) -> Function:
    """Define entry.refuse_context(frame): check the size of the context, and that its fields are valid."""
    s = Step(shared, "entry.refuse_context")
    context = s.of_frame("context")
    s.ret_if(s.is_null(context), status(0))
    is_old = s.less(s.field(context, Context, "struct_size"), number(s.offset(Context, END_OF_SMALLEST_CONTEXT)))
    s.ret_if(is_old, status(Status.WRONG_CONTEXT))
    for name in ("message_size", "num_threads", "workspace_bytes"):
        value, text = s.field(context, Context, name), shared.constants.text(name)
        s.fail_when(s.less(value, number(0)), Status.WRONG_CONTEXT, say.NEGATIVE_FIELD, text, value)
    flags = s.field(context, Context, "flags")
    is_unknown = s.differs(s.builder.and_(flags, number(~CANONICAL)), number(0))
    s.fail_when(is_unknown, Status.WRONG_CONTEXT, say.UNKNOWN_FLAGS, flags, number(CANONICAL))
    blas = s.field(context, Context, "blas")
    with s.when(s.builder.not_(s.is_null(blas))):
        size = s.field(blas, Blas, "struct_size")
        is_unset = s.less(size, number(s.end(Blas, "struct_size")))
        s.fail_when(is_unset, Status.WRONG_CONTEXT, say.NO_BLAS_SIZE, size)
    return s.done()


def _define_uniform(shared: Shared, prepare: Function, run: Function, finish: Function) -> Function:
    c = Code(shared.constants.module, "entry.uniform", i32, [pointer] * 4, attributes=_SHARED)
    context, inputs, outputs, table = c.arguments
    frame = _frame(c, context, table)
    count = c.builder.add(c.field(table, Table, "inputs"), c.field(table, Table, "outputs"))
    c.put_field(frame, Frame, "data", c.alloca(pointer, count))
    c.put_field(frame, Frame, "dims", c.alloca(i64, c.field(table, Table, "dims")))
    n_outputs = c.field(table, Table, "outputs")
    arrays = c.alloca(pointer, n_outputs)
    with c.loop(n_outputs) as i:
        c.store_at(arrays, i, c.element(outputs, i, Array))
    code = c.slot(i32, c.builder.call(prepare, [frame, inputs, outputs]))
    with c.when(c.equal(code.get(), status(0))):
        workspace, room = c.slot(pointer, NULL), c.slot(i64, number(0))
        with c.when(c.builder.not_(c.is_null(context))):
            workspace.set(c.field(context, Context, "workspace"))
            room.set(c.field(context, Context, "workspace_bytes"))
        code.set(c.builder.call(run, [frame, workspace.get(), room.get()]))
    c.ret(c.builder.call(finish, [frame, arrays, code.get()]))
    return c.function


def _define_typed(shared: Shared, prepare: Function, run: Function, finish: Function) -> Function:
    """Define entry.typed(context, dims, data, workspace, table).

    data: for each input the address of its elements, for each output that of its elements or array; for a pattern the
    address of the matrix.
    """
    c = Code(shared.constants.module, "entry.typed", i32, [pointer] * 5, attributes=_SHARED)
    context, dims, data, workspace, table = c.arguments
    frame = _frame(c, context, table)
    c.put_field(frame, Frame, "data", data)
    c.put_field(frame, Frame, "dims", dims)
    n_inputs, n_outputs = c.field(table, Table, "inputs"), c.field(table, Table, "outputs")
    given = c.alloca(pointer, n_outputs)
    with c.loop(n_outputs) as i:
        c.store_at(given, i, c.item(data, c.builder.add(n_inputs, i), pointer))
    code = c.slot(i32, c.builder.call(prepare, [frame]))
    with c.when(c.equal(code.get(), status(0))):
        is_sized = c.differs(c.field(table, Table, "sized"), number(0))
        room = c.slot(i64, c.builder.select(is_sized, number((1 << 63) - 1), number(0)))
        block = c.slot(pointer, workspace)
        with c.when(c.all(c.is_null(workspace), c.builder.not_(c.is_null(context)))):
            block.set(c.field(context, Context, "workspace"))
            room.set(c.field(context, Context, "workspace_bytes"))
        code.set(c.builder.call(run, [frame, block.get(), room.get()]))
    c.ret(c.builder.call(finish, [frame, given, code.get()]))
    return c.function
