"""The messages of the fixed functions: templates, filled in by one function of the library.

A template is a C string in which byte 1 + k is a placeholder for integer k, and byte 17 + k for text k of the given
values (k < 8).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from aotensor.codegen.entry.code import NULL, Code, number
from aotensor.codegen.entry.tables import Constants, Description
from aotensor.codegen.llvm import Function, Value, constant, i8, i32, i64, ir, pointer
from aotensor.codegen.weights.state import declare_base
from aotensor_runtime.abi import DTYPE_NAMES, Context, Status
from aotensor_runtime.manifest import Check, FunctionSpec

STATUS_TEXTS: Final[dict[Status, str]] = {
    Status.OK: "success",
    Status.NULL_POINTER: "a pointer that is needed is NULL",
    Status.WRONG_DTYPE: "an array has another dtype than the signature says",
    Status.WRONG_RANK: "an array has another rank than the signature says",
    Status.WRONG_EXTENT: "an extent differs from the signature, or from the same dim elsewhere",
    Status.NEGATIVE: "an extent is negative",
    Status.TOO_LARGE: "an array or the workspace is too large",
    Status.OVERLAP: "the memory of an output overlaps an input, another output or itself",
    Status.NO_MEMORY: "no memory left",
    Status.OUTPUTS_NEEDED: "an output has no data, and the context has no allocate",
    Status.WRONG_CONTEXT: "struct_size of the context is not set, or a field of it has a number without a meaning",
    Status.NOT_PLAIN: "an argument needs conversion first",
    Status.NO_FUNCTION: "a function of BLAS or LAPACK is needed, but aotensor_context.blas does not have it",
    Status.BAD_STRUCTURE: "a sparse matrix has an indptr that does not start at 0, rise and end with nnz",
    Status.BAD_INDEX: "a sparse matrix has an index outside of its rows or columns",
    Status.NOT_CONVERGED: "a solver that must converge did not",
    Status.NO_WEIGHTS: "the file of weights is not there, or cannot be read",
    Status.WRONG_WEIGHTS: "the weights have another size or digest than those that the library was compiled with",
}
"""Status → the text that aotensor_status_message returns."""

NO_POINTER: Final = "{s0}: {s1} is NULL"
NO_POINTER_SHAPE: Final = "{s0}: shape of {s1} is NULL"
WRONG_DTYPE: Final = "{s0}: {s1} has dtype {s2}, expected {s3}"
WRONG_RANK: Final = "{s0}: {s1} has rank {i2}, expected {i3}"
WRONG_EXTENT: Final = "{s0}: extent {i2} of {s1} is {i3}, expected {i4}"
WRONG_DIM: Final = "{s0}: dim {s2} of {s1} is {i3}, but {s5} has {s2} = {i4}"
NEGATIVE: Final = "{s0}: extent {i2} of {s1} is negative, {i3}"
NEGATIVE_DIM: Final = "{s0}: dim {s1} is negative, {i2}"
TOO_LARGE: Final = "{s0}: {s1} is too large to address"
TOO_LARGE_WORKSPACE: Final = "{s0}: the workspace is too large to address"
OVERLAP: Final = "{s0}: output {s1} overlaps {s2}"
OVERLAP_SELF: Final = "{s0}: elements of output {s1} overlap each other"
STRIDES_OF_NOTHING: Final = "{s0}: output {s1} has strides, but no data"
NEGATIVE_FIELD: Final = "{s0}: {s1} of the context is negative, {i2}"
UNKNOWN_FLAGS: Final = "{s0}: flags of the context are {i1}, expected 0 or {i2}"
NO_BLAS_SIZE: Final = "{s0}: struct_size of blas is {i1}, expected sizeof(aotensor_blas)"
NO_MEMORY: Final = "{s0}: no memory for {i2} bytes of {s1}"
NO_FUNCTION: Final = "{s0}: LAPACK function {s1} is needed, but aotensor_context.blas does not have it"
NO_MEMORY_SORTED: Final = "{s0}: no memory for a sorted copy of {s1}"
NO_MEMORY_INSIDE: Final = "{s0}: no memory for a buffer whose size depends on values"
NO_HEAP_WORKSPACE: Final = "{s0}: a workspace of {i1} bytes is needed, as the library allocates none"
NO_HEAP_COPY: Final = "{s0}: {s1} is not row-major, and the library allocates no memory for a copy"
NO_HEAP_COLUMNS: Final = "{s0}: {s1} is not column-major, and the library allocates no memory for a copy"
NO_HEAP_SORTED: Final = "{s0}: {s1} has unsorted or double entries, and the library allocates no memory for a copy"
OUTPUTS_NEEDED: Final = "{s0}: output {s1} has no data, and the context has no allocate"

WRONG_ROWS: Final = "{s0}: {s1} has {i2} {s3}, expected {i4}"
WRONG_ROWS_DIM: Final = "{s0}: {s1} has {i2} {s3}, but {s5} = {i4}"
NEGATIVE_COUNT: Final = "{s0}: {s1} has nnz = {i2}"
WRONG_COUNT: Final = "{s0}: output {s1} has room for {i2} stored entries, expected {i3}"
WRONG_POINTERS: Final = "{s0}: {s1}.indptr has {i2} elements, expected {i3} for {i4} {s5}"
WRONG_BLOCKS: Final = "{s0}: {s1} has {i2} {s3}, expected a multiple of {i4}, as its blocks have"
BAD_START: Final = "{s0}: {s1}: indptr starts with {i2}, expected 0"
BAD_END: Final = "{s0}: {s1}: indptr ends with {i2}, but there are {i3} stored entries"
BAD_ORDER: Final = "{s0}: {s1}: indptr decreases at {s2} {i3}, from {i4} to {i5}"
BAD_INDEX: Final = "{s0}: {s1}: {s2} {i3} has {s4} {i5}, but there are {i6} {s7}"


def template(text: str) -> bytes:
    """Encode a readable template as a C string: {i0} stands for integer 0, {s1} for text 1."""
    return re.sub(
        rb"\{([is])([0-7])\}",
        lambda match: bytes([int(match[2]) + (1 if match[1] == b"i" else 17)]),
        text.encode(),
    )


def check_template(spec: FunctionSpec, check: Check) -> bytes:
    """The template of a check's message: integer 0 is the found value, integer 1 the expected one."""
    text = f"{spec.name}: {check.message}"
    return text.encode().translate(None, bytes(range(32))).replace(b"{found}", b"\x01").replace(b"{expected}", b"\x02")


def define_fail(constants: Constants) -> Function:
    """Define i32 entry.fail(context, status, template, values): write the message if there is room; return `status`."""
    attributes = ("optsize", "cold", "noinline")
    c = Code(constants.module, "entry.fail", i32, [pointer, i32, pointer, pointer], attributes=attributes)
    context, result, text, values = c.arguments
    c.ret_if(c.is_null(context), result)
    buffer, size = c.field(context, Context, "message"), c.field(context, Context, "message_size")
    c.ret_if(c.any(c.is_null(buffer), c.less(size, number(1))), result)
    _fill_in(c, constants, buffer, c.builder.sub(size, number(1)), text, values)
    c.ret(result)
    return c.function


def _fill_in(c: Code, constants: Constants, buffer: Value, room: Value, text: Value, values: Value) -> None:
    """Copy `text` to `buffer`, with its placeholders replaced: at most `alloca` characters, and a NUL."""
    b = c.builder
    copy = _define_append(constants)
    write, digits = _define_digits(constants), c.alloca(i8, _DIGITS)
    source, used = c.slot(pointer, text), c.slot(i64, number(0))
    head, body, done = (b.append_basic_block(name) for name in ("next", "character", "done"))
    b.branch(head)
    b.position_at_end(head)
    character = b.load(source.get(), typ=i8)
    source.set(b.gep(source.get(), [number(1)], source_etype=i8))
    b.cbranch(c.equal(character, constant(i8, 0)), done, body)
    b.position_at_end(body)
    code = b.zext(character, i64)
    is_text = c.all(c.less(number(16), code), c.less(code, number(25)))
    piece = c.slot(pointer, digits)
    with b.if_else(is_text) as (then, otherwise):
        with then:
            piece.set(c.cell(values, b.sub(code, number(17)), pointer))
        with otherwise, b.if_else(c.less(code, number(9))) as (integer, plain):
            with integer:
                value = c.cell(values, b.sub(code, number(1)))
                piece.set(b.call(write, [digits, value]))
            with plain:
                b.store(character, digits)
                b.store(constant(i8, 0), c.at(digits, 1, 1))
    used.set(b.call(copy, [buffer, room, used.get(), piece.get()]))
    b.branch(head)
    b.position_at_end(done)
    b.store(constant(i8, 0), c.at(buffer, used.get(), 1))


def _define_append(constants: Constants) -> Function:
    """Define i64 entry.append(buffer, room, used, text): append text after `used` characters; return the new `used`."""
    c = Code(constants.module, "entry.append", i64, [pointer, i64, i64, pointer], attributes=("optsize", "noinline"))
    b = c.builder
    buffer, room, start, text = c.arguments
    used = c.slot(i64, start)
    head, body, done = (b.append_basic_block(name) for name in ("next", "character", "done"))
    b.branch(head)
    b.position_at_end(head)
    character = b.load(c.at(text, b.sub(used.get(), start), 1), typ=i8)
    b.cbranch(c.all(c.differs(character, constant(i8, 0)), c.less(used.get(), room)), body, done)
    b.position_at_end(body)
    b.store(character, c.at(buffer, used.get(), 1))
    used.add(1)
    b.branch(head)
    b.position_at_end(done)
    c.ret(used.get())
    return c.function


_DIGITS: Final = 24
"""Bytes of a number's text: 19 digits, a sign, NUL."""


def _define_digits(constants: Constants) -> Function:
    """Define char *entry.digits(buffer, number): write decimal digits to the end of the buffer; return their start.

    It replaces printf, which differs between C libraries and is large in a WebAssembly module.
    """
    c = Code(constants.module, "entry.digits", pointer, [pointer, i64], attributes=("optsize", "noinline"))
    b = c.builder
    buffer, value = c.arguments
    is_negative = c.less(value, number(0))
    rest = c.slot(i64, b.select(is_negative, b.sub(number(0), value), value))  # unsigned, since −2⁶³ has no negative
    cursor, goes_on = c.slot(pointer, c.at(buffer, _DIGITS - 1, 1)), c.slot(i64, number(1))

    def write(character: Value) -> None:
        cursor.set(c.at(cursor.get(), -1, 1))
        b.store(character, cursor.get())

    b.store(constant(i8, 0), cursor.get())
    with c.loop_while(lambda: c.differs(goes_on.get(), number(0))):
        digit = b.urem(rest.get(), number(10))
        write(b.add(b.trunc(digit, i8), constant(i8, ord("0"))))
        rest.set(b.udiv(rest.get(), number(10)))
        goes_on.set(rest.get())
    with c.when(is_negative):
        write(constant(i8, ord("-")))
    c.ret(cursor.get())
    return c.function


def dtype_names(constants: Constants) -> Value:
    """A table from dtype code to name; code 0 stands for any unknown dtype."""
    return constants.pointers(
        [constants.text("unknown"), *(constants.text(name) for _, name in sorted(DTYPE_NAMES.items()))]
    )


def define_status_message(constants: Constants, name: str, description: Value) -> None:
    """Define const char *aotensor_status_message(status): a text for every status that the library returns.

    description: the library's `Description`
    """
    c = Code(constants.module, name, pointer, [i32], exported=True)
    code = c.builder.sext(c.arguments[0], i64)
    texts = [STATUS_TEXTS[Status(k)] for k in range(len(STATUS_TEXTS))]
    table = constants.pointers([constants.text(text) for text in texts])
    has_checks = c.builder.not_(c.is_null(c.field(description, Description, "check_message")))
    with c.when(has_checks):
        kind = ir.FunctionType(pointer, [i32])
        own = c.call_field(description, Description, "check_message", kind, [c.arguments[0]])
        c.ret_if(c.builder.not_(c.is_null(own)), own)
    with c.when(c.below(code, number(len(texts)))):
        c.ret(c.item(table, code, pointer))
    c.ret(constants.text("unknown status"))


def define_check_message(
    constants: Constants, name: str, private: str, checks: Mapping[int, str], missing: Mapping[int, str]
) -> Value:
    """const char *aotensor_check_message_<library>(status): the text of a check of this library, NULL for the rest.

    Returns the internal function that does it, NULL if there is no text.

    checks: text by status code. private: name of the internal function. missing: texts for a library with a file of
    weights, as long as these are not in memory.
    """
    exported = Code(constants.module, name, pointer, [i32], exported=True)
    if not checks and not missing:
        exported.ret(NULL)
        return NULL
    c = Code(constants.module, private, pointer, [i32], attributes=("optsize", "noinline"))
    code = c.builder.sext(c.arguments[0], i64)
    codes = constants.numbers(list(checks))
    texts = constants.pointers([constants.text(text) for text in checks.values()])
    with c.loop(number(len(checks))) as k, c.when(c.equal(c.item(codes, k), code)):
        c.ret(c.item(texts, k, pointer))
    if missing:
        with c.when(c.is_null(c.builder.load_atomic(declare_base(constants.module), "acquire", 8, typ=pointer))):
            for status, text in missing.items():
                c.ret_if(c.equal(code, number(status)), constants.text(text))
    c.ret(NULL)
    exported.ret(exported.builder.call(c.function, exported.arguments))
    return c.function
