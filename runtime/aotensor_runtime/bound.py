"""A function bound to buffers, for calls in loops: each is one C call, without allocation or checks in Python."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np

from aotensor_runtime.abi import CANONICAL, BoundCall, Context, Status
from aotensor_runtime.arguments import as_plain, match_names, new_output
from aotensor_runtime.arrays.layout import DTYPES
from aotensor_runtime.arrays.plain import AnyArray
from aotensor_runtime.errors import ArgumentTypeError, ArgumentValueError
from aotensor_runtime.extension import bound_class, calls
from aotensor_runtime.fast import method_of
from aotensor_runtime.invoke import (
    Descriptors,
    Entries,
    filled,
    raise_status,
    result_of,
    run,
    shape_of,
    shape_sources,
    with_workspace,
)
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, Manifest, OutputSpec, SparseValue
from aotensor_runtime.sparse.call import flat, joiner
from aotensor_runtime.sparse.checked import CheckedPattern, context_for
from aotensor_runtime.sparse.values import Compressed, Value, is_sparse, shown, to_value


class BoundFunction:
    """A function on fixed arrays: write into `inputs`, call, read `outputs`; it returns the same arrays each time.

    inputs, outputs: the arrays and matrices by name. call: the struct for C callers, valid while this object lives.

    Shared variables start from the function's current values and are
    updated from call to call in `inputs`, separately from the library's own. Not thread-safe: bind one for
    each thread.

    A sparse matrix is bound with its values: write into its `data`. Its pattern is fixed: it is copied and checked
    here, and not checked again; that of a CheckedPattern is shared.
    """

    def __new__(cls, *_: object) -> Self:
        made: Self = object.__new__(bound_class(cls))
        return made

    def __init__(
        self, manifest: Manifest, spec: FunctionSpec, entries: Entries, context: Context, given: Given
    ) -> None:
        self.spec, self._manifest, self._entries = spec, manifest, entries
        values = tuple(given.inputs.values())
        arrays = tuple(flat(values))
        own = context_for(context, values)
        self._context, self._workspace = with_workspace(spec, entries, own, arrays)
        outputs = _outputs(manifest, spec, entries, self._context, arrays, given.outputs)
        results = dict(zip((value.name for value in spec.produced), joiner(spec)(outputs, values), strict=True))
        _need_canonical(spec, given.inputs)
        self.inputs: dict[str, Any] = {name: shown(value) for name, value in given.inputs.items()}
        self.outputs: dict[str, Any] = {name: shown(value) for name, value in results.items()}
        self._descriptors = Descriptors(spec, arrays, outputs)
        self._updates = _updates(spec, given.inputs, results)
        is_fixed = not any(isinstance(results[output], Compressed) for _, output in spec.updates)
        self._context.flags = CANONICAL if spec.sparse_inputs and is_fixed else 0
        if spec.sparse_inputs and is_fixed:
            _freeze(given.inputs.values())
        addresses = [ctypes.addressof(x) for x in (self._context, self._descriptors.inputs, self._descriptors.outputs)]
        self.call = BoundCall(entries.uniform_address, *addresses)
        through_ctypes = partial(entries.call_bound, ctypes.c_void_p(ctypes.addressof(self.call)))
        self._run = method_of(entries.run_bound, self.call) or through_ctypes
        self.result = result_of(spec)(tuple(self.outputs.values()))
        self._use_extension(arrays, outputs, addresses)

    def __call__(self) -> Any:
        """Run the function and return the outputs in the form of its results.

        Raises: ArgumentIndexError, ArgumentValueError or OutOfMemory from checks of values.
        """
        if self._run():
            self._fail()
        for state, value in self._updates:
            state[...] = value
        return self.result

    _call_in_python = __call__

    def _use_extension(self, inputs: Sequence[AnyArray], outputs: Sequence[AnyArray], addresses: Sequence[int]) -> None:
        """Let the C extension run the calls, unless they update shared variables.   addresses: for the uniform entry"""
        extension: Any = calls()
        if extension is None or not isinstance(self, extension.Bound) or self._updates:
            return
        typed = self._typed_words(inputs, outputs)
        if typed is not None and len(typed) <= extension.MOST_WORDS:
            self.use_entry(self._entries.typed, typed, self.result)
        else:
            self.use_entry(self._entries.uniform_address, tuple(addresses), self.result)

    def _typed_words(self, inputs: Sequence[AnyArray], outputs: Sequence[AnyArray]) -> tuple[int, ...] | None:
        """The arguments of the typed entry, which takes less time; None if its results may differ.

        It has no context: no BLAS, LAPACK, limit of threads or memory for outputs.
        """
        spec = self.spec
        has_context = spec.takes_context or spec.calls_blas or self._context.num_threads
        if not self._entries.typed or has_context or spec.is_sparse:
            return None
        arrays = (*inputs, *outputs)
        dims = {
            n: extent
            for value, array in zip(spec.values, arrays, strict=True)
            for n, extent in zip(value.shape, array.shape, strict=True)
        }
        data = [array.__array_interface__["data"][0] for array in arrays]
        return (*(dims[name] for name in spec.typed_dims), *data, self._context.workspace)

    def _fail(self) -> None:
        status, message = run(self._entries.uniform, self._context, self._descriptors)
        if status != Status.OK:
            raise_status(self._manifest, self.spec, status, message)


class Given:
    """The checked arguments of `bind`: arrays are not copied, so that later writes to them are seen."""

    def __init__(self, spec: FunctionSpec, arrays: Mapping[str, object], state: Mapping[str, Value]) -> None:
        arguments = [value for value in spec.arguments if value.name not in state]
        names = {value.name for value in arguments}
        results = {value.name: value for value in spec.produced if value.name not in names}
        rest = {name: value for name, value in arrays.items() if name not in results}
        values = match_names(spec.name, arguments, (), rest)
        self.inputs: dict[str, Value] = {
            value.name: _buffer(spec, x, value) for value, x in zip(arguments, values, strict=True)
        }
        self.inputs |= {name: value.copy() for name, value in state.items()}
        self.outputs = {name: _output(spec, arrays[name], results[name]) for name in arrays if name in results}


def _buffer(spec: FunctionSpec, value: object, target: ArgumentSpec | SparseValue) -> Value:
    """An input as a buffer: an array is used directly, a number becomes a new array; so do a matrix's values."""
    converted = to_value(spec, value, target)
    if isinstance(converted, Compressed):
        return _matrix_buffer(spec, value, converted, target.name)
    if isinstance(value, np.ndarray) and converted is not value:
        raise ArgumentTypeError(
            f"{spec.name}: {target.name} has dtype {value.dtype} or bad alignment, so it cannot be bound",
            hint=f"bind an array of dtype {target.dtype}",
        )
    layout = "C" if isinstance(target, SparseValue) else target.layout
    return _contiguous(spec, converted, target.name, layout)


def _matrix_buffer(spec: FunctionSpec, value: Any, found: Compressed, name: str) -> Compressed:
    if not is_sparse(value):
        raise ArgumentTypeError(
            f"{spec.name}: {name} is not a sparse matrix, so it cannot be bound",
            hint=f"bind scipy.sparse.{found.format}_matrix(...)",
        )
    if found.data is not value.data:
        raise ArgumentTypeError(
            f"{spec.name}: {name} has another format or dtype, or unused space after its entries, so it cannot be "
            "bound",
            hint=f"bind {name}.asformat({found.format!r}).astype({found.data.dtype.name!r})",
        )
    data = _contiguous(spec, found.data, f"{name}.data")
    if isinstance(found, CheckedPattern):
        return found
    return Compressed(found.format, found.shape, data, found.indices.copy(), found.indptr.copy(), found.is_array)


def _need_canonical(spec: FunctionSpec, inputs: Mapping[str, Value]) -> None:
    for name, value in inputs.items():
        if isinstance(value, Compressed) and not isinstance(value, CheckedPattern) and not value.is_canonical:
            raise ArgumentValueError(
                f"{spec.name}: {name} has entries out of order or twice, so it cannot be bound",
                hint=f"call {name}.sum_duplicates() first",
            )


def _freeze(values: Iterable[Value]) -> None:
    """Make patterns read-only, since they are not checked again."""
    for value in values:
        if isinstance(value, Compressed):
            value.indices.flags.writeable = value.indptr.flags.writeable = False


def _updates(
    spec: FunctionSpec, inputs: Mapping[str, Value], outputs: Mapping[str, Value]
) -> tuple[tuple[AnyArray, AnyArray], ...]:
    """Arrays of shared variables, each with its next value."""
    pairs: list[tuple[AnyArray, AnyArray]] = []
    for state, output in spec.updates:
        both = [x.arrays[1:] if isinstance(x, Compressed) else (x,) for x in (inputs[state], outputs[output])]
        if [x.shape for x in both[0]] != [x.shape for x in both[1]]:
            raise ArgumentValueError(f"{spec.name}: the update of {state} changes its size, so it cannot be bound")
        pairs += zip(*both, strict=True)
    return tuple(pairs)


def _output(spec: FunctionSpec, value: object, target: OutputSpec | SparseValue) -> AnyArray:
    if isinstance(target, SparseValue):
        raise ArgumentTypeError(
            f"{spec.name}: output {target.name} is a sparse matrix, whose memory cannot be chosen",
            hint="its arrays stay the same from call to call: see .outputs",
        )
    return _contiguous(spec, _writable(spec, value, target, "cannot be chosen"), target.name, target.layout)


OutArgs: TypeAlias = dict[str, AnyArray]
"""Outputs by name, with the arrays to write them to."""


def chosen_outputs(spec: FunctionSpec, results: Mapping[str, OutputSpec | SparseValue], out: object) -> OutArgs | None:
    """The arrays of a call's `out`: one, or several in the form of the result; None for none.

    results: the function's results, by name.

    Raises: ArgumentTypeError for another number, unknown names, other dtypes or ranks; ArgumentValueError for arrays
    that are read-only. Extents and overlaps are checked by the library.
    """
    if out is None:
        return None
    if isinstance(out, Mapping):
        unknown = [name for name in out if name not in results]
        if unknown:
            known = f"its outputs are {', '.join(results) or 'none'}"
            raise ArgumentTypeError(f"{spec.name} has no output {unknown[0]!r}", hint=known)
        given = {str(name): value for name, value in out.items()}
    else:
        values = out if isinstance(out, list | tuple) else [out]
        if len(values) != len(results):
            raise ArgumentTypeError(f"{spec.name} has {len(results)} outputs, but out has {len(values)}")
        given = dict(zip(results, values, strict=True))
    return {
        name: _writable(spec, value, results[name], "cannot be given") for name, value in given.items()
        if value is not None
    }  # fmt: skip


def _writable(spec: FunctionSpec, value: object, target: OutputSpec | SparseValue, how: str) -> AnyArray:
    """An array for an output, of any layout.   how: the use that a sparse matrix does not allow, for the message"""
    if isinstance(target, SparseValue):
        raise ArgumentTypeError(f"{spec.name}: output {target.name} is a sparse matrix, whose memory {how}")
    has_dtype = isinstance(value, np.ndarray) and value.dtype == DTYPES[target.dtype]
    if type(value) is not np.ndarray or not has_dtype:
        as_plain(spec, value, target.name)
    if not isinstance(value, np.ndarray) or not has_dtype or value.ndim != len(target.shape):
        raise ArgumentTypeError(
            f"{spec.name}: output {target.name} needs an array of dtype {target.dtype} and rank {len(target.shape)}"
        )
    flags = value.flags
    if not flags.writeable:
        raise ArgumentValueError(f"{spec.name}: output {target.name} is read-only")
    if not flags.aligned or any(stride % value.itemsize for stride in value.strides):
        raise ArgumentValueError(f"{spec.name}: output {target.name} is not aligned for its dtype")
    return value


def _contiguous(spec: FunctionSpec, array: AnyArray, name: str, layout: str = "C") -> AnyArray:
    is_column_major = layout == "F"
    if not (array.flags.f_contiguous if is_column_major else array.flags.c_contiguous):
        order, make = ("column", "asfortranarray") if is_column_major else ("row", "ascontiguousarray")
        raise ArgumentValueError(
            f"{spec.name}: {name} is not {order}-major, so it cannot be bound", hint=f"bind numpy.{make} of it"
        )
    return array


def _outputs(
    manifest: Manifest,
    spec: FunctionSpec,
    entries: Entries,
    context: Context,
    inputs: tuple[AnyArray, ...],
    given: Mapping[str, AnyArray],
) -> tuple[AnyArray, ...]:
    """Buffers of all outputs: given arrays, else new ones; a first call finds extents that only the library knows."""
    outputs: list[AnyArray | None] = []
    patterns = {group.first for group in spec.sparse_outputs}
    for i, value in enumerate(spec.outputs):
        sources = None if i in patterns else shape_sources(spec, value)
        new = None if sources is None else new_output(shape_of(sources, inputs), DTYPES[value.dtype], value.layout)
        outputs.append(given.get(value.name, new))
    call = Descriptors(spec, inputs, outputs)
    status, message = run(entries.uniform, context, call)
    if status not in (Status.OK, Status.OUTPUTS_NEEDED):
        raise_status(manifest, spec, status, message)
    return filled(spec, call, outputs)
