"""Entries for Python: they convert tuples of Python objects to the uniform entry's arguments, without Python code.

Objects are only read: types are compared by address, and offsets are those that the runtime has tested. An object that
is not a plain NumPy array of the right dtype (or a float for a float64 scalar) gives NOT_PLAIN, and the runtime
converts it.
"""

from __future__ import annotations

from aotensor.codegen.entry.code import NULL, Code, number, status
from aotensor.codegen.entry.tables import Constants
from aotensor.codegen.llvm import Function, Value, i32, i64, ir, pointer, void
from aotensor_runtime.abi import (
    DTYPE_CODES,
    DTYPE_SIZES,
    METHOD_OFFSET,
    Array,
    BoundCall,
    BoundMethod,
    PythonCall,
    PythonLayout,
    Status,
)


def define_python_entries(constants: Constants, prefix: str) -> None:
    """Define aotensor_call_python, aotensor_extents_python, aotensor_call_bound and aotensor_run_bound."""
    view = _define_view(constants)
    describe = _define_describe(constants, view)
    _define_call(constants, describe, f"{prefix}aotensor_call_python")
    _define_extents(constants, describe, f"{prefix}aotensor_extents_python")
    _define_bound(constants, f"{prefix}aotensor_call_bound")
    _define_method(constants, f"{prefix}aotensor_run_bound")


def _define_call(constants: Constants, describe: Function, name: str) -> None:
    """Define i32 aotensor_call_python(call, inputs, outputs): inputs and outputs are tuples that outlive the call."""
    c = Code(constants.module, name, i32, [pointer, pointer, pointer], exported=True)
    call, inputs, outputs = c.arguments
    n_inputs, n_outputs = c.field(call, PythonCall, "inputs"), c.field(call, PythonCall, "outputs")
    arrays, cursor, end = _room(c, call)
    results = c.element(arrays, n_inputs, Array)
    c.give_error(c.builder.call(describe, [call, inputs, number(0), n_inputs, arrays, cursor, end]))
    c.give_error(c.builder.call(describe, [call, outputs, n_inputs, n_outputs, results, cursor, end]))
    c.ret(_call_entry(c, call, arrays, results))


def _define_extents(constants: Constants, describe: Function, name: str) -> None:
    """Define i32 aotensor_extents_python(call, inputs, extents): write the extents of all outputs.

    It returns OUTPUTS_NEEDED, or OK if no output needs memory: then the call is complete.
    """
    c = Code(constants.module, name, i32, [pointer, pointer, pointer], exported=True)
    call, inputs, extents = c.arguments
    n_inputs = c.field(call, PythonCall, "inputs")
    arrays, cursor, end = _room(c, call)
    results = c.element(arrays, n_inputs, Array)
    c.give_error(c.builder.call(describe, [call, inputs, number(0), n_inputs, arrays, cursor, end]))
    ranks, shape = c.field(call, PythonCall, "output_ranks"), c.slot(pointer, extents)
    with c.loop(c.field(call, PythonCall, "outputs")) as k:
        array, rank = c.element(results, k, Array), c.builder.sext(c.item(ranks, k, i32), i64)
        nothing = number(0)  # the dtype is the library's
        fields = {"data": NULL, "shape": shape.get(), "strides": NULL, "rank": rank, "dtype": nothing}
        for field, value in fields.items():
            c.put_field(array, Array, field, value)
        shape.set(c.at(shape.get(), rank, 8))
    c.ret(_call_entry(c, call, arrays, results))


def _define_bound(constants: Constants, name: str) -> None:
    """Define i32 aotensor_call_bound(call): execute a bound call."""
    c = Code(constants.module, name, i32, [pointer], exported=True)
    call = c.arguments[0]
    kind = ir.FunctionType(i32, [pointer, pointer, pointer])
    arguments = [c.field(call, BoundCall, field) for field in ("context", "inputs", "outputs")]
    c.ret(c.call_field(call, BoundCall, "entry", kind, arguments))


def _define_method(constants: Constants, name: str) -> None:
    """Define void *aotensor_run_bound(self, nothing): aotensor_call_bound as a Python method, which returns an int.

    self: a `bytes` object that contains a BoundMethod. The interpreter's lock is released while the entry runs.
    """
    c = Code(constants.module, name, pointer, [pointer, pointer], exported=True)
    method = c.at(c.arguments[0], number(METHOD_OFFSET), 1)
    call = c.at(method, number(BoundMethod.call.offset), 1)
    thread = c.call_field(method, BoundMethod, "save_thread", ir.FunctionType(pointer, []), [])
    kind = ir.FunctionType(i32, [pointer, pointer, pointer])
    arguments = [c.field(call, BoundCall, field) for field in ("context", "inputs", "outputs")]
    code = c.call_field(call, BoundCall, "entry", kind, arguments)
    c.call_field(method, BoundMethod, "restore_thread", ir.FunctionType(void, [pointer]), [thread])
    as_number = ir.FunctionType(pointer, [i64])
    c.ret(c.call_field(method, BoundMethod, "as_number", as_number, [c.builder.sext(code, i64)]))


def _room(c: Code, call: Value) -> tuple[Value, Value, Value]:
    """Allocate stack memory: (array descriptors, address of the pointer to the next free stride, end of strides)."""
    count = c.builder.add(c.field(call, PythonCall, "inputs"), c.field(call, PythonCall, "outputs"))
    arrays, room = c.structs(Array, count), c.field(call, PythonCall, "strides")
    strides, cursor = c.alloca(i64, room), c.alloca(pointer, 1)
    c.store_at(cursor, 0, strides)
    return arrays, cursor, c.at(strides, room, 8)


def _call_entry(c: Code, call: Value, arrays: Value, results: Value) -> Value:
    kind = ir.FunctionType(i32, [pointer, pointer, pointer])
    return c.call_field(call, PythonCall, "entry", kind, [c.field(call, PythonCall, "context"), arrays, results])


def _define_describe(constants: Constants, view: Function) -> Function:
    """Define i32 entry.describe(call, objects, first, count, arrays, cursor, end): describe `count` tuple items."""
    c = Code(constants.module, "entry.describe", i32, [pointer, pointer, i64, i64, pointer, pointer, pointer])
    call, objects, first, count, arrays, cursor, end = c.arguments
    layout, dtypes = c.field(call, PythonCall, "layout"), c.field(call, PythonCall, "dtypes")
    size = c.builder.load(_inside(c, objects, layout, "tuple_size"), typ=i64)
    c.ret_if(c.differs(size, count), status(Status.NOT_PLAIN))
    with c.loop(count) as i:
        value = c.item(_inside(c, objects, layout, "tuple_items"), i, pointer)
        dtype = c.builder.sext(c.item(dtypes, c.builder.add(first, i), i32), i64)
        c.give_error(c.builder.call(view, [layout, value, dtype, c.element(arrays, i, Array), cursor, end]))
    c.ret(status(0))
    return c.function


def _define_view(constants: Constants) -> Function:
    """Define i32 entry.view(layout, object, dtype, array, cursor, end): describe one object; strides at *cursor."""
    c = Code(constants.module, "entry.view", i32, [pointer, pointer, i64, pointer, pointer, pointer])
    layout, value, dtype, array, cursor, end = c.arguments
    c.put_field(array, Array, "dtype", dtype)
    c.put_field(array, Array, "shape", NULL)
    c.put_field(array, Array, "strides", NULL)
    kind = c.builder.load(_inside(c, value, layout, "object_type"), typ=pointer)
    with c.when(c.differs(kind, c.field(layout, PythonLayout, "array_type"))):
        is_float = c.any(
            *(c.equal(kind, c.field(layout, PythonLayout, name)) for name in ("float_type", "float64_type"))
        )
        fits = c.all(is_float, c.equal(dtype, number(DTYPE_CODES["float64"])))
        c.ret_if(c.builder.not_(fits), status(Status.NOT_PLAIN))
        c.put_field(array, Array, "data", _inside(c, value, layout, "float_value"))
        c.put_field(array, Array, "rank", number(0))
        c.ret(status(0))
    expected = c.item(c.field(layout, PythonLayout, "dtypes"), dtype, pointer)
    found = c.builder.load(_inside(c, value, layout, "array_dtype"), typ=pointer)
    c.ret_if(c.differs(found, expected), status(Status.NOT_PLAIN))
    for field in ("data", "shape"):
        c.put_field(array, Array, field, c.builder.load(_inside(c, value, layout, f"array_{field}"), typ=pointer))
    rank = c.builder.sext(c.builder.load(_inside(c, value, layout, "array_rank"), typ=i32), i64)
    c.put_field(array, Array, "rank", rank)
    target = c.item(cursor, 0, pointer)
    after = c.at(target, rank, 8)
    c.ret_if(c.below(end, after), status(Status.NOT_PLAIN))
    c.put_field(array, Array, "strides", target)
    _convert_strides(c, constants, value, layout, dtype, rank, target)
    c.store_at(cursor, 0, after)
    c.ret(status(0))
    return c.function


def _convert_strides(
    c: Code, constants: Constants, value: Value, layout: Value, dtype: Value, rank: Value, target: Value
) -> None:
    """Convert strides from bytes to elements at `target`; return NOT_PLAIN if one is not a multiple."""
    shifts = [0] + [DTYPE_SIZES[name].bit_length() - 1 for name in DTYPE_CODES]
    shift = c.item(constants.numbers(shifts), dtype)
    strides = c.builder.load(_inside(c, value, layout, "array_strides"), typ=pointer)
    with c.loop(rank) as axis:
        stride = c.item(strides, axis)
        step = c.builder.ashr(stride, shift)
        c.ret_if(c.differs(c.builder.shl(step, shift), stride), status(Status.NOT_PLAIN))
        c.store_at(target, axis, step)


def _inside(c: Code, value: Value, layout: Value, name: str) -> Value:
    """The address of a field of a Python object, by its offset in the layout."""
    return c.at(value, c.field(layout, PythonLayout, name), 1)
