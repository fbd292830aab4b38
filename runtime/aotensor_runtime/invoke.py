"""The slow path into a library: ctypes descriptors, and errors with the library's messages."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import numpy as np

from aotensor_runtime.abi import DTYPE_CODES, Array, Context, Status
from aotensor_runtime.arguments import new_array, new_output, pattern
from aotensor_runtime.arrays.layout import DTYPES
from aotensor_runtime.arrays.plain import AnyArray
from aotensor_runtime.arrays.poison import poison
from aotensor_runtime.errors import (
    AotensorError,
    ArgumentConvergenceError,
    ArgumentIndexError,
    ArgumentLinAlgError,
    ArgumentTypeError,
    ArgumentValueError,
    LibraryError,
    OutOfMemory,
)
from aotensor_runtime.manifest import FunctionSpec, Manifest, OutputSpec

MESSAGE_BYTES: Final = 2048

CALLBACKS: Final = ("aotensor_integrand", "aotensor_filter")
"""The callback entries for SciPy that every library has."""

Source = tuple[int, int]
"""The source of an extent: (input, axis), or (-1, the extent itself)."""

_STATUS_ERRORS: Final[dict[int, type[AotensorError]]] = {
    Status.NULL_POINTER: ArgumentTypeError,
    Status.WRONG_DTYPE: ArgumentTypeError,
    Status.WRONG_RANK: ArgumentTypeError,
    Status.WRONG_EXTENT: ArgumentValueError,
    Status.NEGATIVE: ArgumentValueError,
    Status.TOO_LARGE: ArgumentValueError,
    Status.OVERLAP: ArgumentValueError,
    Status.NO_MEMORY: OutOfMemory,
    Status.BAD_STRUCTURE: ArgumentValueError,
    Status.BAD_INDEX: ArgumentIndexError,
    Status.NOT_CONVERGED: ArgumentConvergenceError,
}

_CHECK_ERRORS: Final[dict[str, type[AotensorError]]] = {
    "index": ArgumentIndexError,
    "type": ArgumentTypeError,
    "memory": OutOfMemory,
    "linalg": ArgumentLinAlgError,
    "convergence": ArgumentConvergenceError,
}
"""Errors by `Check.kind`; all other kinds are about values."""


@dataclass(frozen=True)
class Entries:
    """One function's entries in a loaded library, as ctypes functions that release the interpreter's lock.

    uniform: (context, inputs, outputs) → status. workspace: (dims...) → bytes.
    call_python: (call, tuple, tuple) → status. extents_python: (call, tuple, buffer) → status.
    call_bound: (call) → status, without argument types; the argument is a ctypes object already.
    run_bound: address of the Python method that does the same, 0 in an older library. typed: address
    of the typed entry. integrand, filter: addresses of CALLBACKS, 0 in an older library.
    """

    uniform: Callable[..., int]
    workspace: Callable[..., int]
    call_python: Callable[[Any, int, int], int]
    extents_python: Callable[[Any, int, Any], int]
    call_bound: Callable[[Any], int]
    uniform_address: int
    run_bound: int = 0
    typed: int = 0
    integrand: int = 0
    filter: int = 0


class Descriptors:
    """The descriptor arrays of one call; keeps arrays, shapes and strides alive as long as C may read them."""

    def __init__(self, spec: FunctionSpec, inputs: Sequence[AnyArray], outputs: Sequence[AnyArray | None]) -> None:
        self._keep: list[Any] = []
        self.inputs = (Array * max(len(inputs), 1))(*(self._describe(array) for array in inputs))
        described = (
            self._blank(value) if array is None else self._describe(array)
            for array, value in zip(outputs, spec.outputs, strict=True)
        )
        self.outputs = (Array * max(len(outputs), 1))(*described)

    def _describe(self, array: AnyArray) -> Array:
        words = ctypes.c_int64 * max(array.ndim, 1)
        shape, strides = words(*array.shape), words(*(stride // array.itemsize for stride in array.strides))
        self._keep += [array, shape, strides]
        code = DTYPE_CODES[array.dtype.name]
        return Array(
            array.__array_interface__["data"][0], ctypes.addressof(shape), ctypes.addressof(strides), array.ndim, code
        )

    def _blank(self, value: OutputSpec) -> Array:
        """An output whose extents the library will write."""
        rank = len(value.shape)
        shape = (ctypes.c_int64 * max(rank, 1))()
        self._keep.append(shape)
        return Array(None, ctypes.addressof(shape), None, rank, DTYPE_CODES[value.dtype])

    def extents(self, output: int) -> tuple[int, ...]:
        """Extents of an output, as given or as the library has written them."""
        array = self.outputs[output]
        return tuple((ctypes.c_int64 * array.rank).from_address(array.shape)) if array.rank else ()


def shape_sources(spec: FunctionSpec, output: OutputSpec) -> tuple[Source, ...] | None:
    """The source of each extent of an output, None if the library alone knows one."""
    axes: dict[int | str | None, Source] = {}
    for k, value in enumerate(spec.inputs):
        for axis, n in enumerate(value.shape):
            if isinstance(n, str):
                axes.setdefault(n, (k, axis))
    sources = [(-1, n) if isinstance(n, int) else axes.get(n) for n in output.shape]
    return None if None in sources else tuple(source for source in sources if source is not None)


def shape_of(sources: Sequence[Source], inputs: Sequence[AnyArray]) -> tuple[int, ...]:
    """A shape from the sources of its extents."""
    return tuple(n if k < 0 else inputs[k].shape[n] for k, n in sources)


def result_of(spec: FunctionSpec) -> Callable[[tuple[Any, ...]], Any]:
    """A function from all outputs to a call's result, in the user's form."""
    hidden = {output for _, output in spec.updates}
    shown = [(i, value.name) for i, value in enumerate(spec.produced) if value.name not in hidden]
    match spec.output_kind:
        case "single":
            return operator.itemgetter(shown[0][0])
        case "list":
            return list if len(shown) == len(spec.produced) else lambda outputs: [outputs[i] for i, _ in shown]
        case "dict":
            return lambda outputs: {name: outputs[i] for i, name in shown}
        case "none":
            return lambda outputs: []


def invoke(
    manifest: Manifest,
    spec: FunctionSpec,
    uniform: Callable[..., int],
    context: Context,
    inputs: Sequence[AnyArray],
    given: Mapping[str, AnyArray],
) -> tuple[AnyArray, ...]:
    """Call a function on arrays of the right dtypes and ranks; returns new arrays, or the ones given by name.

    context: it is copied, since the call needs a message buffer of its own.

    Raises: the error of the status, with the library's message.
    """
    outputs: list[AnyArray | None] = []
    patterns = {group.first for group in spec.sparse_outputs}
    for i, value in enumerate(spec.outputs):
        sources = None if i in patterns else shape_sources(spec, value)
        if value.name in given:
            outputs.append(given[value.name])
        else:
            outputs.append(
                None if sources is None else new_output(shape_of(sources, inputs), DTYPES[value.dtype], value.layout)
            )
    call = Descriptors(spec, inputs, outputs)
    status, message = run(uniform, context, call)
    if status == Status.OUTPUTS_NEEDED:
        for i, value in enumerate(spec.outputs):
            if outputs[i] is None and i not in patterns:
                outputs[i] = new_output(call.extents(i), DTYPES[value.dtype], value.layout)
        call = Descriptors(spec, inputs, outputs)
        status, message = run(uniform, context, call)
    if status != Status.OK:
        raise_status(manifest, spec, status, message)
    return filled(spec, call, outputs)


def with_workspace(
    spec: FunctionSpec, entries: Entries, context: Context, inputs: Sequence[AnyArray]
) -> tuple[Context, AnyArray]:
    """A copy of a context with workspace for a call on these inputs, and that memory, which the copy refers to."""
    found = {
        n: extent
        for x, array in zip(spec.inputs, inputs, strict=True)
        for n, extent in zip(x.shape, array.shape, strict=True)
    }
    size = entries.workspace(*(found[name] for name in spec.workspace_dims))
    workspace = poison(np.empty(max(size, 0), dtype="uint8"))
    own = Context.from_buffer_copy(context)
    own.workspace, own.workspace_bytes = workspace.ctypes.data, workspace.size
    return own, workspace


def filled(spec: FunctionSpec, call: Descriptors, outputs: Sequence[AnyArray | None]) -> tuple[AnyArray, ...]:
    """All outputs; those allocated by the library get the extents that it has written."""
    patterns = {group.first for group in spec.sparse_outputs}

    def new(i: int) -> AnyArray:
        shape = call.extents(i)
        return pattern(shape) if i in patterns else new_array(shape, DTYPES[spec.outputs[i].dtype])

    return tuple(new(i) if array is None else array for i, array in enumerate(outputs))


def run(uniform: Callable[..., int], context: Context, call: Descriptors) -> tuple[int, str]:
    """Status and message of one call."""
    own = Context.from_buffer_copy(context)
    message = ctypes.create_string_buffer(MESSAGE_BYTES)
    own.message, own.message_size = ctypes.addressof(message), MESSAGE_BYTES
    status = uniform(ctypes.addressof(own), ctypes.addressof(call.inputs), ctypes.addressof(call.outputs))
    return status, message.value.decode(errors="replace")


def raise_status(manifest: Manifest, spec: FunctionSpec, status: int, message: str) -> NoReturn:
    """Raise the error of a status."""
    failed = manifest.check(status)
    if failed is not None:
        kind = _CHECK_ERRORS.get(failed[1].kind, ArgumentValueError)
    else:
        kind = _STATUS_ERRORS.get(status, LibraryError)
    hint = "install scipy: BLAS and LAPACK are taken from it" if status == Status.NO_FUNCTION else None
    raise kind(message or f"{spec.name}: status {status}", hint=hint)
