"""One function of a loaded library: arrays in, arrays out.

A call uses the fast path (`fast`) if every argument already matches the signature; otherwise the
slow path (`invoke`), which converts arguments and reports errors.
"""

from __future__ import annotations

import ctypes
import operator
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Self

from aotensor_runtime.abi import Context
from aotensor_runtime.arguments import match_names
from aotensor_runtime.arrays.layout import probe
from aotensor_runtime.arrays.memory import WORKSPACE
from aotensor_runtime.arrays.poison import is_poisoned
from aotensor_runtime.blas import blas_table
from aotensor_runtime.bound import BoundFunction, Given, OutArgs, chosen_outputs
from aotensor_runtime.extension import calls, function_class
from aotensor_runtime.fast import CallInto, fast_call, fast_call_into, no_fast_call
from aotensor_runtime.invoke import Entries, result_of
from aotensor_runtime.manifest import FunctionSpec, Manifest
from aotensor_runtime.signature import describe, python_signature
from aotensor_runtime.sparse.call import SparseCall, invoke_values, sparse_call, sparse_call_into, sparse_result_of
from aotensor_runtime.sparse.values import Value, to_value
from aotensor_runtime.state import Cell, State
from aotensor_runtime.threads import checked_threads

if TYPE_CHECKING:
    from aotensor_runtime.library import Library
    from aotensor_runtime.typed.pointer import EntryPointer


class LibraryFunction:
    """A function of a library: call it with arrays, by position or by name.

    `spec` is its signature, `state` its shared variables. Results are new arrays, 0-dimensional for scalars, unless
    `out=` provides arrays. Calls from several threads run at the same time, except those of functions that
    update shared variables.
    """

    def __new__(cls, *_: object) -> Self:
        made: Self = object.__new__(function_class(cls))
        return made

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
        self._manifest, self._entries, self._cells, self._lock = manifest, entries, tuple(cells.values()), lock
        self._arguments = [value for value in spec.arguments if value.name not in cells]
        self.__doc__ = describe(spec)
        self.__signature__ = python_signature([value.name for value in self._arguments])
        positions = {value.name: i for i, value in enumerate(spec.produced)}
        self._updates = tuple((cells[state], positions[output]) for state, output in spec.updates)
        self._result = sparse_result_of(spec) if spec.sparse_outputs else result_of(spec)
        self._context = Context(struct_size=ctypes.sizeof(Context), kept=ctypes.addressof(WORKSPACE))
        self._fast: SparseCall = self._first_call
        names = tuple(value.name for value in self._arguments)
        self._takers = tuple(_taker(names[k:]) for k in range(len(names)))
        self._takes_out, self._takes_threads = "out" not in names, "num_threads" not in names
        self._limited: dict[int, LibraryFunction] = {}
        self._results = {value.name: value for value in spec.results}
        self._into: CallInto | None = None

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Call the function: returns an array, a list or a dict of arrays; [] if there are only updates.

        out: an array for the result; for several a list, or a dict by name, of any number of them.
        They are checked for dtype, extents, overlap with inputs and each other, and for write access, and returned
        instead of new arrays. num_threads: most threads of the call, as in `with_threads`. A function with
        an input of one of these names does not have that option.

        Raises: ArgumentTypeError for number, names, dtypes and ranks of arguments; ArgumentValueError for sizes and
        values; ArgumentIndexError for indices; OutOfMemory.
        """
        given: OutArgs | None = None
        if kwargs:
            if self._takes_threads and "num_threads" in kwargs:
                return self.with_threads(kwargs.pop("num_threads"))(*args, **kwargs)
            if self._takes_out and "out" in kwargs:
                given = chosen_outputs(self.spec, self._results, kwargs.pop("out"))
            if kwargs:
                args = self._by_position(args, kwargs)
        if self._cells:
            return self._call_with_state(args, given)
        outputs = self._fast(args) if given is None else self._fast_into(args, given)
        return self._result(self._call_long(args, (), given) if outputs is None else outputs)

    _call_in_python = __call__

    def _call_converted(self, *args: object) -> Any:
        """The result of a call for which the fast path was refused."""
        return self._result(self._call_long(args, (), None))

    def _by_position(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> tuple[object, ...]:
        """All arguments in order; wrong names are left to the slow path, which reports them."""
        first = len(args)
        if kwargs and first + len(kwargs) == len(self._arguments):
            try:
                return args + self._takers[first](kwargs)
            except KeyError:
                pass
        return tuple(match_names(self.spec.name, self._arguments, args, kwargs))

    def with_threads(self, num_threads: object) -> LibraryFunction:
        """The same function with at most `threads` threads, 1 to 1024, at most 64 per loop; None for the default.

        The default is AOTENSOR_NUM_THREADS when the first loop wants several cores, else the processors that the
        process may use. No result depends on it. BLAS and LAPACK have threads of their own, which this does not limit.

        Raises: ArgumentTypeError for a non-integer, ArgumentValueError for one out of range.
        """
        if num_threads is None:
            return self.library.functions[self.spec.name]
        count = checked_threads(self.spec.name, num_threads)
        if count not in self._limited:
            limited = object.__new__(type(self))  # not `copy`: `__reduce__` would give the library's own
            limited.__dict__.update(self.__dict__)
            limited._context = Context.from_buffer_copy(self._context)
            limited._context.num_threads = count
            limited._fast, limited._into, limited._limited = limited._first_call, None, self._limited
            self._limited[count] = limited
        return self._limited[count]

    def bind(self, **arrays: object) -> BoundFunction:
        """Bind the function to arrays: all inputs by name, and optionally outputs.

        num_threads: as of a call, for those of the bound function.

        Raises: as a call, and ArgumentValueError for arrays that are not row-major.
        """
        if self._takes_threads and "num_threads" in arrays:
            return self.with_threads(arrays.pop("num_threads")).bind(**arrays)
        self._use_blas()
        state = {name: self.state.value(name) for name in self.state}
        given = Given(self.spec, arrays, state)
        return BoundFunction(self._manifest, self.spec, self._entries, self._context, given)

    def workspace_bytes(self, **dims: int) -> int:
        """Bytes of workspace that a call on inputs of these dims needs.   dims: all of `spec.workspace_dims`"""
        return max(self._entries.workspace(*(dims[name] for name in self.spec.workspace_dims)), 0)

    @property
    def pointer(self) -> EntryPointer:
        """The typed entry for numba, Cython, cffi and other C callers: its address and signature.

        It ignores `num_threads`; shared variables are arguments of it.
        """
        from aotensor_runtime.typed.pointer import EntryPointer

        return EntryPointer(self.spec, self._manifest.prefix, self._entries.typed)

    def uniform(self) -> tuple[int, Context]:
        """The address of the entry on strided arrays, with its context, for callers that outlive a call."""
        self._use_blas()
        return self._entries.uniform_address, self._context

    def low_level_callable(self, form: str = "integrand", /, **fixed: object) -> Any:
        """The function as a `scipy.LowLevelCallable`: `scipy.integrate.quad(lib.f.low_level_callable(w=w), 0, 1)`.

        form: "integrand" for `scipy.integrate`, "filter" for `scipy.ndimage.generic_filter`. fixed: constant
        inputs. SciPy passes the others, float64 and of known extents: a number each, or one vector, in the
        order of the function. A failed call returns nan, or the filter's error. Not thread-safe.

        Raises: ArgumentTypeError or ArgumentValueError for inputs that do not fit the form; LibraryError without SciPy.
        """
        from aotensor_runtime.typed.callback import low_level_callable

        return low_level_callable(self, self._entries, form, fixed)

    def __repr__(self) -> str:
        names = ", ".join(value.name for value in self._arguments)
        return f"<function {self.spec.name}({names}) of library {self._manifest.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _found, (self.library, self.spec.name, self._context.num_threads or None)

    def _use_blas(self) -> None:
        """Fill the table of functions, if this one uses BLAS or LAPACK."""
        if self.spec.calls_blas or self.spec.lapack:
            self._context.blas = ctypes.addressof(blas_table())

    def _first_call(self, args: tuple[Any, ...]) -> tuple[Value, ...] | None:
        self._use_blas()
        if not self._manifest.allocates or is_poisoned():
            self._fast = no_fast_call
            return None
        make = sparse_call if self.spec.is_sparse else fast_call
        self._fast = make(self.spec, self._entries, self._context, probe())
        self._use_extension()
        return self._fast(args)

    def _use_extension(self) -> None:
        """Let the C extension run later calls, if it can: without shared variables and sparse matrices."""
        extension: Any = calls()
        if extension is None or self._cells or not isinstance(self._fast, extension.Call):
            return
        names = tuple(sys.intern(value.name) for value in self._arguments)
        is_only = self.spec.output_kind == "single" and len(self.spec.outputs) == 1
        accelerated: Any = self
        out = "out" if is_only and self._takes_out else None
        accelerated.use_call(self._fast, names, None if is_only else self._result, out)

    def _call_with_state(self, args: tuple[object, ...], given: OutArgs | None) -> Any:
        if not self._updates:
            with self._lock:
                state = tuple([cell.value for cell in self._cells])
            return self._result(self._run(args, state, given))
        with self._lock:
            outputs = self._run(args, tuple([cell.value for cell in self._cells]), given)
            for cell, position in self._updates:
                cell.value = outputs[position]
        return self._result(outputs)

    def _run(self, args: tuple[object, ...], state: tuple[Value, ...], given: OutArgs | None) -> tuple[Value, ...]:
        outputs = self._fast(args + state) if given is None else self._fast_into(args + state, given)
        return self._call_long(args, state, given) if outputs is None else outputs

    def _call_long(
        self, args: tuple[object, ...], state: tuple[Value, ...], given: OutArgs | None
    ) -> tuple[Value, ...]:
        self._use_blas()
        values = match_names(self.spec.name, self._arguments, args, {})
        converted = (*(to_value(self.spec, x, value) for x, value in zip(values, self._arguments, strict=True)), *state)
        outputs = self._fast(converted) if given is None else None
        if outputs is None:
            outputs = invoke_values(self._manifest, self.spec, self._entries, self._context, converted, given or {})
        return outputs

    def _fast_into(self, args: tuple[Any, ...], given: OutArgs) -> tuple[Value, ...] | None:
        """The fast path with all outputs given; None if the slow path is needed."""
        layout = probe()
        if layout is None or is_poisoned() or not self._manifest.allocates or len(given) != len(self.spec.outputs):
            return None
        if self._into is None:
            self._use_blas()
            make = sparse_call_into if self.spec.is_sparse else fast_call_into
            self._into = make(self.spec, self._entries, self._context, layout)
        outputs = tuple([given[value.name] for value in self.spec.outputs])
        return outputs if self._into(args, outputs) else None

    def _repr_html_(self) -> str:
        """HTML for notebooks: the arrays, and the C entry."""
        from aotensor_runtime.notebook.library import function_html

        return function_html(self._manifest, self.spec, len(self.library.data))


def _found(library: Library, name: str, num_threads: int | None) -> LibraryFunction:
    """Unpickle a reference to a function of a library."""
    return library.functions[name].with_threads(num_threads)


def _taker(names: tuple[str, ...]) -> Callable[[Mapping[str, object]], tuple[object, ...]]:
    """A function from arguments by name to their tuple in order.   Raises: KeyError for a missing one"""
    if len(names) == 1:
        (name,) = names
        return lambda kwargs: (kwargs[name],)
    return operator.itemgetter(*names)
