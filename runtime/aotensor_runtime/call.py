"""One function of a loaded library: arrays in, arrays out.

A call goes the short way (`fast`) if every argument is already what the signature says; whatever that refuses goes the
long way (`invoke`), which converts arguments and says what is wrong.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from aotensor_runtime.abi import Context
from aotensor_runtime.arguments import match_names
from aotensor_runtime.blas import blas_table
from aotensor_runtime.bound import BoundFunction, Given
from aotensor_runtime.fast import fast_call
from aotensor_runtime.invoke import Entries, result_of
from aotensor_runtime.layout import probe
from aotensor_runtime.manifest import FunctionSpec, Manifest
from aotensor_runtime.sparse.call import SparseCall, invoke_values, sparse_call, sparse_result_of
from aotensor_runtime.sparse.values import Value, to_value
from aotensor_runtime.state import Cell, State

if TYPE_CHECKING:
    from aotensor_runtime.library import Library


class LibraryFunction:
    """A function of a library: call it with arrays, by position or by name.

    `spec` is its signature, `state` its shared variables. Results are new arrays, 0-dimensional for scalars. Calls from
    several threads run at the same time, except those of functions that update shared variables.
    """

    def __init__(
        self,
        library: Library,
        manifest: Manifest,
        spec: FunctionSpec,
        entries: Entries,
        cells: Mapping[str, Cell],
        lock: AbstractContextManager[object],
    ) -> None:
        self.spec, self.library, self.state = spec, library, State(spec, cells, lock)
        self.__name__ = self.__qualname__ = spec.name
        self.__doc__ = spec.doc or None
        self._manifest, self._entries, self._cells, self._lock = manifest, entries, tuple(cells.values()), lock
        self._arguments = [value for value in spec.arguments if value.name not in cells]
        positions = {value.name: i for i, value in enumerate(spec.produced)}
        self._updates = tuple((cells[state], positions[output]) for state, output in spec.updates)
        self._result = sparse_result_of(spec) if spec.sparse_outputs else result_of(spec)
        self._context = Context(struct_size=ctypes.sizeof(Context))
        self._fast: SparseCall = self._first_call

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """The outputs: an array, a list or a dict of arrays; [] where there are only updates.

        Raises: ArgumentTypeError for number, names, dtypes and ranks of arguments; ArgumentValueError for sizes and
        values; ArgumentIndexError for indices; OutOfMemory.
        """
        if self._cells:
            return self._call_with_state(args, kwargs)
        outputs = None if kwargs else self._fast(args)
        return self._result(self._call_long(args, kwargs, ()) if outputs is None else outputs)

    def bind(self, **arrays: object) -> BoundFunction:
        """The function on fixed arrays: all inputs by name, and those outputs whose memory you want to choose.

        Raises: as a call, and ArgumentValueError for arrays that are not row-major.
        """
        self._use_blas()
        state = {name: self.state.value(name) for name in self.state}
        given = Given(self.spec, arrays, state)
        return BoundFunction(self._manifest, self.spec, self._entries, self._context, given)

    def __repr__(self) -> str:
        names = ", ".join(value.name for value in self._arguments)
        return f"<function {self.spec.name}({names}) of library {self._manifest.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return operator.getitem, (self.library, self.spec.name)

    def _use_blas(self) -> None:
        """Fill the table of functions, if this one multiplies matrices or does linear algebra."""
        if self.spec.calls_blas or self.spec.lapack:
            self._context.blas = ctypes.addressof(blas_table())

    def _first_call(self, args: tuple[Any, ...]) -> tuple[Value, ...] | None:
        self._use_blas()
        make = sparse_call if self.spec.is_sparse else fast_call
        self._fast = make(self.spec, self._entries, self._context, probe())
        return self._fast(args)

    def _call_with_state(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Any:
        if not self._updates:
            with self._lock:
                state = tuple([cell.value for cell in self._cells])
            return self._result(self._run(args, kwargs, state))
        with self._lock:
            outputs = self._run(args, kwargs, tuple([cell.value for cell in self._cells]))
            for cell, position in self._updates:
                cell.value = outputs[position]
        return self._result(outputs)

    def _run(
        self, args: tuple[object, ...], kwargs: Mapping[str, object], state: tuple[Value, ...]
    ) -> tuple[Value, ...]:
        outputs = None if kwargs else self._fast(args + state)
        return self._call_long(args, kwargs, state) if outputs is None else outputs

    def _call_long(
        self, args: tuple[object, ...], kwargs: Mapping[str, object], state: tuple[Value, ...]
    ) -> tuple[Value, ...]:
        self._use_blas()
        values = match_names(self.spec.name, self._arguments, args, kwargs)
        converted = (*(to_value(self.spec, x, value) for x, value in zip(values, self._arguments, strict=True)), *state)
        outputs = self._fast(converted)
        if outputs is None:
            outputs = invoke_values(self._manifest, self.spec, self._entries.uniform, self._context, converted)
        return outputs
