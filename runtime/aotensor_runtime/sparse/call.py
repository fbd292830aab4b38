"""Calls with sparse matrices: each argument becomes four arrays, results are assembled from four arrays.

The fast path passes the arrays to native code, as `fast` does. Outputs whose sizes only the library knows get their
memory while it runs, through a callback, so that nothing is checked, sorted or counted twice.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from threading import local
from typing import Any, Final, TypeAlias

import numpy as np

from aotensor_runtime.abi import Context
from aotensor_runtime.arguments import new_output, pattern
from aotensor_runtime.arrays.layout import DTYPES, Layout
from aotensor_runtime.arrays.plain import AnyArray
from aotensor_runtime.arrays.poison import is_poisoned
from aotensor_runtime.fast import CallInto, FastCall, fast_call, no_fast_call, plan_of
from aotensor_runtime.invoke import Entries, invoke, result_of, with_workspace
from aotensor_runtime.manifest import FunctionSpec, Manifest, SparseValue
from aotensor_runtime.sparse.checked import CheckedPattern, context_for, trusting
from aotensor_runtime.sparse.values import Compressed, Value, from_arrays, is_sparse_array, shown

SparseCall: TypeAlias = Callable[[tuple[Any, ...]], "tuple[Value, ...] | None"]
"""From all inputs to all outputs, sparse ones as matrices; None if the slow path is needed."""

_ALLOCATE: Final = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64)
)


def sparse_call(spec: FunctionSpec, entries: Entries, context: Context, layout: Layout | None) -> SparseCall:
    """The fast path of one function with sparse inputs or outputs."""
    if layout is None:
        return no_fast_call
    make = _by_allocation if spec.is_allocating else fast_call
    native, without_check = (make(spec, entries, own, layout) for own in (context, trusting(context)))
    flatten, join, are_checked = _flattener(spec), joiner(spec), _checker(spec)

    def call(args: tuple[Any, ...]) -> tuple[Value, ...] | None:
        arrays = flatten(args)
        if arrays is None:
            return None
        outputs = without_check(arrays) if are_checked(args) else native(arrays)
        return None if outputs is None else join(outputs, args)

    return call


def sparse_call_into(spec: FunctionSpec, entries: Entries, context: Context, layout: Layout) -> CallInto:
    """The fast path of one function with sparse inputs into given outputs, which are dense."""
    plans = [plan_of(spec, entries, own, layout) for own in (context, trusting(context))]
    native, flatten, are_checked = entries.call_python, _flattener(spec), _checker(spec)

    def call(args: tuple[Any, ...], outputs: tuple[AnyArray, ...]) -> bool:
        arrays = flatten(args)
        return arrays is not None and not native(plans[are_checked(args)], id(arrays), id(outputs))

    return call


def invoke_values(
    manifest: Manifest,
    spec: FunctionSpec,
    entries: Entries,
    context: Context,
    values: Sequence[Value],
    given: Mapping[str, AnyArray],
) -> tuple[Value, ...]:
    """The slow path: from converted inputs to outputs, which are written to given ones if there are some.

    Libraries without allocation get a workspace, and row-major arrays; a poisoned call gets a workspace, too.

    Raises: as `invoke`
    """
    arrays = flat(values)
    context = context_for(context, values)
    if not manifest.allocates:
        layouts = [value.layout for value in spec.inputs]
        arrays = [np.asarray(x, order="F" if layout == "F" else "C") for x, layout in zip(arrays, layouts, strict=True)]
    if not manifest.allocates or is_poisoned():
        context, _memory = with_workspace(spec, entries, context, arrays)
    return joiner(spec)(invoke(manifest, spec, entries.uniform, context, arrays, given), values)


def flat(values: Sequence[Value]) -> list[AnyArray]:
    """The arrays of all values, concatenated."""
    return [array for x in values for array in (x.arrays if isinstance(x, Compressed) else (x,))]


def sparse_result_of(spec: FunctionSpec) -> Callable[[tuple[Any, ...]], Any]:
    """A function from all outputs to a call's result, with sparse matrices as SciPy's classes."""
    finish = result_of(spec)

    def result(outputs: tuple[Value, ...]) -> Any:
        return finish(tuple([shown(x) for x in outputs]))

    return result


def _flattener(spec: FunctionSpec) -> Callable[[tuple[Any, ...]], tuple[Any, ...] | None]:
    """Arguments as the arrays of a library; None where one is not a matrix of the right format."""
    formats = [(value.format, value.blocksize) if isinstance(value, SparseValue) else None for value in spec.arguments]
    count = len(formats)

    def flatten(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        if len(args) != count:
            return None
        arrays: list[Any] = []
        try:
            for x, expected in zip(args, formats, strict=True):
                if expected is None:
                    arrays.append(x)
                elif x.format != expected[0] or (expected[1] is not None and x.blocksize != expected[1]):
                    return None
                elif type(x) is CheckedPattern:
                    arrays += x.arrays
                else:
                    arrays += (pattern(x.shape), x.data, x.indices, x.indptr)
        except (AttributeError, TypeError, ValueError):
            return None
        return tuple(arrays)

    return flatten


def _checker(spec: FunctionSpec) -> Callable[[tuple[Any, ...]], bool]:
    """A function from the arguments of a call to whether all sparse ones are CheckedPatterns, and there is one."""
    sources = [k for k, value in enumerate(spec.arguments) if isinstance(value, SparseValue)]
    if not sources:
        return lambda args: False
    if len(sources) == 1:
        (source,) = sources
        return lambda args: type(args[source]) is CheckedPattern
    return lambda args: all(type(args[k]) is CheckedPattern for k in sources)


def joined_inputs(spec: FunctionSpec, arrays: Sequence[AnyArray]) -> list[Value]:
    """Values of all inputs from all their arrays."""
    values: list[Value] = []
    start = 0
    for value in spec.arguments:
        count = 4 if isinstance(value, SparseValue) else 1
        part = arrays[start : start + count]
        values.append(from_arrays(value, part, False) if isinstance(value, SparseValue) else part[0])
        start += count
    return values


def joiner(spec: FunctionSpec) -> Callable[[tuple[AnyArray, ...], Sequence[Any]], tuple[Value, ...]]:
    """A function from all output arrays to values; matrices are SciPy's sparse arrays if an argument is one."""
    produced = spec.produced
    sources = [k for k, value in enumerate(spec.arguments) if isinstance(value, SparseValue)]

    def join(outputs: tuple[AnyArray, ...], args: Sequence[Any]) -> tuple[Value, ...]:
        is_array = any(is_sparse_array(args[k]) for k in sources)
        values: list[Value] = []
        start = 0
        for value in produced:
            if isinstance(value, SparseValue):
                values.append(from_arrays(value, outputs[start : start + 4], is_array))
                start += 4
            else:
                values.append(outputs[start])
                start += 1
        return tuple(values)

    return join if spec.sparse_outputs else lambda outputs, _: outputs


def _by_allocation(spec: FunctionSpec, entries: Entries, context: Context, layout: Layout) -> FastCall:
    """One native call with a callback that allocates outputs of unknown size."""
    ranks = [len(value.shape) for value in spec.outputs]
    dtypes = [DTYPES[value.dtype] for value in spec.outputs]
    patterns = {group.first for group in spec.sparse_outputs}
    ends = np.cumsum([0, *ranks]).tolist()
    spans = [slice(first, last) for first, last in pairwise(ends)]
    words, calls = ctypes.c_int64 * max(ends[-1], 1), local()

    def allocate(_: int, number: int, size: int, shape: Any) -> int | None:
        try:
            block = new_output(shape[: ranks[number]], dtypes[number])
        except MemoryError:
            return None
        calls.blocks[number] = block
        return int(block.__array_interface__["data"][0])

    own = Context.from_buffer_copy(context)
    callback = _ALLOCATE(allocate)
    own.allocate = ctypes.cast(callback, ctypes.c_void_p).value
    plan = plan_of(spec, entries, own, layout)
    plan.keep += (callback,)
    native = entries.extents_python

    def call(arrays: tuple[Any, ...]) -> tuple[AnyArray, ...] | None:
        extents = words()
        blocks = calls.blocks = {}
        if native(plan, id(arrays), extents):
            return None
        outputs = []
        for k, span in enumerate(spans):
            block = blocks.get(k)
            if block is None:
                shape = tuple(extents[span])
                block = pattern(shape) if k in patterns else np.empty(shape, dtypes[k])
            outputs.append(block)
        return tuple(outputs)

    return call
