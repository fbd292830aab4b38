"""The fast path into a library: one ctypes call on the tuples of Python objects.

For a bound function it is a Python method implemented in the library: ctypes takes longer than a small function.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np

from aotensor_runtime.abi import DTYPE_CODES, METHOD_OFFSET, BoundCall, BoundMethod, Context, PythonCall, Status
from aotensor_runtime.arguments import LARGE, new_array, new_columns
from aotensor_runtime.arrays.layout import DTYPES, Layout
from aotensor_runtime.arrays.plain import AnyArray
from aotensor_runtime.extension import calls
from aotensor_runtime.invoke import Entries, Source, shape_sources
from aotensor_runtime.manifest import FunctionSpec

FastCall: TypeAlias = Callable[[tuple[Any, ...]], "tuple[AnyArray, ...] | None"]
"""From all inputs to all outputs; None if the slow path is needed, which then also reports errors."""

CallInto: TypeAlias = Callable[[tuple[Any, ...], tuple[AnyArray, ...]], bool]
"""From all inputs and given outputs to whether the call was made; if not, the slow path is needed."""


def no_fast_call(_: tuple[Any, ...]) -> None:
    """Always None, for a Python with an unknown object layout."""


def fast_call(spec: FunctionSpec, entries: Entries, context: Context, layout: Layout | None) -> FastCall:
    """The fast path of one function. The caller keeps `context` alive; it has neither message nor workspace."""
    if layout is None:
        return no_fast_call
    plan = plan_of(spec, entries, context, layout)
    dtypes = [DTYPES[value.dtype] for value in spec.outputs]
    makers = [new_columns if value.layout == "F" else _EMPTY for value in spec.outputs]
    sources = [shape_sources(spec, value) for value in spec.outputs]
    if None in sources:
        ranks = [len(value.shape) for value in spec.outputs]
        return _by_extents(entries, plan, list(zip(ranks, dtypes, makers, strict=True)))
    extension: Any = calls()
    if extension is not None:
        shapes = [tuple(source or ()) for source in sources]
        return _by_extension(extension, entries, plan, list(zip(dtypes, makers, shapes, strict=True)))
    rules = [_shape_rule(spec, source or ()) for source in sources]
    is_plain = makers == [_EMPTY]
    if is_plain and isinstance(rules[0], tuple):
        return _one_static(entries, plan, rules[0], dtypes[0])
    if is_plain and isinstance(rules[0], int):
        return _one_like(entries, plan, rules[0], dtypes[0])
    return _by_rules(entries, plan, list(zip(rules, dtypes, makers, strict=True)))


def fast_call_into(spec: FunctionSpec, entries: Entries, context: Context, layout: Layout) -> CallInto:
    """The fast path of one function into given outputs. The caller keeps `context` alive, as for `fast_call`."""
    plan, native = plan_of(spec, entries, context, layout), entries.call_python
    return lambda args, outputs: not native(plan, id(args), id(outputs))


def plan_of(spec: FunctionSpec, entries: Entries, context: Context, layout: Layout) -> Plan:
    """The description of the function for `aotensor_call_python`."""
    for value in spec.values:
        layout.know(value.dtype)
    dtypes = _int32s([DTYPE_CODES[value.dtype] for value in spec.values])
    ranks = _int32s([len(value.shape) for value in spec.outputs])
    call = PythonCall(
        layout=layout.address,
        entry=entries.uniform_address,
        context=ctypes.addressof(context),
        dtypes=ctypes.addressof(dtypes),
        output_ranks=ctypes.addressof(ranks),
        inputs=len(spec.inputs),
        outputs=len(spec.outputs),
        strides=sum(len(value.shape) for value in spec.values),
    )
    plan = Plan(ctypes.addressof(call))
    plan.keep = (call, dtypes, ranks, context, layout)
    return plan


def _int32s(values: list[int]) -> ctypes.Array[ctypes.c_int32]:
    return (ctypes.c_int32 * max(len(values), 1))(*values)


_Shape: TypeAlias = tuple[int, ...]
_DType: TypeAlias = "np.dtype[Any]"
_Make: TypeAlias = "Callable[[Sequence[int], _DType], AnyArray]"
_Rule: TypeAlias = "_Shape | int | list[Source]"
"""A shape: fixed, that of input number k, or composed."""


class Plan(ctypes.c_void_p):
    """The address of a PythonCall, with references to the memory that it uses."""

    keep: tuple[Any, ...]


def _shape_rule(spec: FunctionSpec, sources: tuple[Source, ...]) -> _Rule:
    if all(k < 0 for k, _ in sources):
        return tuple(n for _, n in sources)
    k = sources[0][0]
    is_whole = sources == tuple((k, axis) for axis in range(len(spec.inputs[k].shape)))
    return k if is_whole else list(sources)


_EMPTY: Final = new_array
_NOT_ARRAYS: Final = (AttributeError, IndexError, TypeError, ValueError, MemoryError)
"""Errors of reading the shape of an argument that is not an array of the right rank."""
_SIZED: Final = (int(Status.OUTPUTS_NEEDED), int(Status.OK))


def _by_extension(
    extension: Any, entries: Entries, plan: Plan, specs: list[tuple[_DType, _Make, tuple[Source, ...]]]
) -> FastCall:
    """The same in C."""
    rules = tuple(
        (dtype, dtype.itemsize, np.empty if make is _EMPTY else make, make, shape) for dtype, make, shape in specs
    )
    native = ctypes.cast(entries.call_python, ctypes.c_void_p).value  # type: ignore[arg-type]
    call: FastCall = extension.Call(native, plan.value, plan, LARGE, rules)
    return call


def _one_static(entries: Entries, plan: Plan, shape: _Shape, dtype: _DType) -> FastCall:
    native = entries.call_python

    def call(args: tuple[Any, ...]) -> tuple[AnyArray, ...] | None:
        outputs = (_EMPTY(shape, dtype),)
        return None if native(plan, id(args), id(outputs)) else outputs

    return call


def _one_like(entries: Entries, plan: Plan, k: int, dtype: _DType) -> FastCall:
    native = entries.call_python

    def call(args: tuple[Any, ...]) -> tuple[AnyArray, ...] | None:
        try:
            outputs = (_EMPTY(args[k].shape, dtype),)
        except _NOT_ARRAYS:
            return None
        return None if native(plan, id(args), id(outputs)) else outputs

    return call


def _by_rules(entries: Entries, plan: Plan, specs: list[tuple[_Rule, _DType, _Make]]) -> FastCall:
    native = entries.call_python

    def call(args: tuple[Any, ...]) -> tuple[AnyArray, ...] | None:
        arrays = []
        try:
            for rule, dtype, make in specs:
                if isinstance(rule, int):
                    arrays.append(make(args[rule].shape, dtype))
                elif isinstance(rule, tuple):
                    arrays.append(make(rule, dtype))
                else:
                    arrays.append(make([n if k < 0 else args[k].shape[n] for k, n in rule], dtype))
        except _NOT_ARRAYS:
            return None
        outputs = tuple(arrays)
        return None if native(plan, id(args), id(outputs)) else outputs

    return call


def _by_extents(entries: Entries, plan: Plan, specs: list[tuple[int, _DType, _Make]]) -> FastCall:
    """For outputs with extents that only the library knows: ask for extents first."""
    sizes, native = entries.extents_python, entries.call_python
    words = ctypes.c_int64 * max(sum(rank for rank, *_ in specs), 1)

    def call(args: tuple[Any, ...]) -> tuple[AnyArray, ...] | None:
        extents = words()
        if sizes(plan, id(args), extents) not in _SIZED:
            return None
        arrays, first = [], 0
        for rank, dtype, make in specs:
            arrays.append(make(extents[first : first + rank], dtype))
            first += rank
        outputs = tuple(arrays)
        return None if native(plan, id(args), id(outputs)) else outputs

    return call


# --- methods -------------------------------------------------------------------------------------------------------

Run: TypeAlias = Callable[[], int]
_NO_ARGUMENTS: Final = 4  # METH_NOARGS


class _Definition(ctypes.Structure):
    """PyMethodDef"""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


def method_of(address: int, call: BoundCall) -> Run | None:
    """A Python method that calls `aotensor_run_bound` at this address; None for an unknown object layout of Python.

    The caller keeps the memory of the call alive. The interpreter's lock is released while it runs.
    """
    found = _interpreter()
    if not address or found is None:
        return None
    make, functions = found
    method = BoundMethod(*functions, call)
    run: Run = make(ctypes.addressof(_definition(address)), bytes(method), None)
    return run


@cache
def _definition(address: int) -> _Definition:
    """A PyMethodDef; never freed, as methods point to it."""
    return _Definition(b"run_bound", address, _NO_ARGUMENTS, None)


@cache
def _interpreter() -> tuple[Any, tuple[int, ...]] | None:
    """CPython's constructor of methods, and the functions that a method calls; None for other interpreters."""
    sample = b"where is the content of bytes"
    if sys.implementation.name != "cpython" or bytes.__basicsize__ - 1 != METHOD_OFFSET:
        return None
    if ctypes.string_at(id(sample) + METHOD_OFFSET, len(sample)) != sample:
        return None
    names = ("PyEval_SaveThread", "PyEval_RestoreThread", "PyLong_FromLong")
    addresses = (ctypes.cast(ctypes.pythonapi[name], ctypes.c_void_p).value or 0 for name in names)
    kind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return kind(("PyCFunction_NewEx", ctypes.pythonapi)), tuple(addresses)
