"""A function with fixed buffers, for loops: a call is one ctypes call, without allocation or checks in Python."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from aotensor_runtime.abi import BoundCall, Context, Status
from aotensor_runtime.arguments import AnyArray, match_names, to_array
from aotensor_runtime.errors import ArgumentTypeError, ArgumentValueError
from aotensor_runtime.invoke import Descriptors, Entries, raise_status, result_of, run, shape_of, shape_sources
from aotensor_runtime.layout import DTYPES
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, Manifest, OutputSpec


class BoundFunction:
    """A function on fixed arrays: write into `inputs`, call, read `outputs`; it returns the same arrays each time.

    inputs, outputs: the arrays by name. Shared variables start from the function's current values and are carried on
    from call to call, in `inputs`, apart from the library's own. Not for two threads at once: bind one for each.
    """

    def __init__(
        self, manifest: Manifest, spec: FunctionSpec, entries: Entries, context: Context, given: Given
    ) -> None:
        self.spec, self._manifest, self._entries = spec, manifest, entries
        self.inputs: dict[str, AnyArray] = given.inputs
        arrays = tuple(given.inputs.values())
        self.outputs: dict[str, AnyArray] = _outputs(manifest, spec, entries, context, arrays, given.outputs)
        self._call = Descriptors(spec, arrays, tuple(self.outputs.values()))
        self._workspace = np.empty(max(entries.workspace(*_dims(spec, arrays)), 0), dtype="uint8")
        self._context = Context.from_buffer_copy(context)
        self._context.workspace, self._context.workspace_bytes = self._workspace.ctypes.data, self._workspace.size
        places = [ctypes.addressof(place) for place in (self._context, self._call.inputs, self._call.outputs)]
        self._bound = BoundCall(entries.uniform_address, *places)
        self._run = partial(entries.call_bound, ctypes.c_void_p(ctypes.addressof(self._bound)))
        self._updates = tuple((self.inputs[state], self.outputs[output]) for state, output in spec.updates)
        self.result = result_of(spec)(tuple(self.outputs.values()))

    def __call__(self) -> Any:
        """The outputs, as the function gives them.

        Raises: ArgumentIndexError, ArgumentValueError or OutOfMemory from checks of values.
        """
        if self._run():
            self._fail()
        for state, value in self._updates:
            state[...] = value
        return self.result

    def _fail(self) -> None:
        status, message = run(self._entries.uniform, self._context, self._call)
        if status != Status.OK:
            raise_status(self._manifest, self.spec, status, message)


class Given:
    """What `bind` was given, checked: arrays as they are, so that later writes to them are seen."""

    def __init__(self, spec: FunctionSpec, arrays: Mapping[str, object], state: Mapping[str, AnyArray]) -> None:
        arguments = [value for value in spec.inputs if value.name not in state]
        names = {value.name for value in arguments}
        results = {value.name: value for value in spec.outputs if value.name not in names}
        rest = {name: value for name, value in arrays.items() if name not in results}
        values = match_names(spec.name, arguments, (), rest)
        self.inputs = {value.name: _buffer(spec, x, value) for value, x in zip(arguments, values, strict=True)}
        self.inputs |= {name: value.copy() for name, value in state.items()}
        self.outputs = {name: _output(spec, arrays[name], results[name]) for name in arrays if name in results}


def _buffer(spec: FunctionSpec, value: object, target: ArgumentSpec) -> AnyArray:
    """An input as a buffer: an array stays itself, a number becomes a new array."""
    array = to_array(spec, value, target)
    if isinstance(value, np.ndarray) and array is not value:
        raise ArgumentTypeError(
            f"{spec.name}: {target.name} has dtype {value.dtype} or bad alignment, so it cannot be bound",
            hint=f"bind an array of dtype {target.dtype}",
        )
    return _contiguous(spec, array, target.name)


def _output(spec: FunctionSpec, value: object, target: OutputSpec) -> AnyArray:
    if not isinstance(value, np.ndarray) or value.dtype != DTYPES[target.dtype] or value.ndim != len(target.shape):
        raise ArgumentTypeError(
            f"{spec.name}: output {target.name} needs an array of dtype {target.dtype} and rank {len(target.shape)}"
        )
    if not value.flags.writeable:
        raise ArgumentValueError(f"{spec.name}: output {target.name} is read-only")
    return _contiguous(spec, value, target.name)


def _contiguous(spec: FunctionSpec, array: AnyArray, name: str) -> AnyArray:
    if not array.flags.c_contiguous:
        raise ArgumentValueError(
            f"{spec.name}: {name} is not row-major, so it cannot be bound", hint="bind numpy.ascontiguousarray of it"
        )
    return array


def _outputs(
    manifest: Manifest,
    spec: FunctionSpec,
    entries: Entries,
    context: Context,
    inputs: tuple[AnyArray, ...],
    given: Mapping[str, AnyArray],
) -> dict[str, AnyArray]:
    """Every output: the given array, else a new one; the first call sizes those that only the library can size."""
    outputs: dict[str, AnyArray | None] = {}
    for value in spec.outputs:
        sources = shape_sources(spec, value)
        new = None if sources is None else np.empty(shape_of(sources, inputs), DTYPES[value.dtype])
        outputs[value.name] = given.get(value.name, new)
    call = Descriptors(spec, inputs, tuple(outputs.values()))
    status, message = run(entries.uniform, context, call)
    if status not in (Status.OK, Status.OUTPUTS_NEEDED):
        raise_status(manifest, spec, status, message)
    return {
        value.name: array if array is not None else np.empty(call.extents(i), DTYPES[value.dtype])
        for i, (value, array) in enumerate(zip(spec.outputs, outputs.values(), strict=True))
    }


def _dims(spec: FunctionSpec, inputs: tuple[AnyArray, ...]) -> list[int]:
    """Values of the dims, in order."""
    found: dict[str, int] = {}
    for value, array in zip(spec.inputs, inputs, strict=True):
        for n, extent in zip(value.shape, array.shape, strict=True):
            if isinstance(n, str):
                found[n] = extent
    return [found[name] for name in spec.dims]
