"""Functions of scalars as `scipy.LowLevelCallable`: SciPy's loops call the library without Python."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from aotensor_runtime.abi import ValueCall
from aotensor_runtime.bound import BoundFunction
from aotensor_runtime.errors import ArgumentTypeError, ArgumentValueError, LibraryError
from aotensor_runtime.invoke import Entries
from aotensor_runtime.signature import ArgumentSpec, FunctionSpec, SparseValue, kind_of

if TYPE_CHECKING:
    from aotensor_runtime.call import LibraryFunction

_NUMBERS: Final = ctypes.POINTER(ctypes.c_double)
_INTEGRAND: Final = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int, _NUMBERS, ctypes.c_void_p)
_FILTER: Final = ctypes.CFUNCTYPE(ctypes.c_int, _NUMBERS, ctypes.c_ssize_t, _NUMBERS, ctypes.c_void_p)


def low_level_callable(function: LibraryFunction, entries: Entries, form: str, fixed: Mapping[str, object]) -> Any:
    """A callback: inputs in `fixed` are constant, the caller's numbers are the others, float64 of known extents.

    form: "integrand", `double (int, double *, void *)`, or "filter", `int (double *, npy_intp, double *, void *)`.

    Raises: ArgumentTypeError or ArgumentValueError for a function, input or form that does not fit;
    LibraryError for a library without such entries, or without SciPy.
    """
    spec = function.spec
    if form not in ("integrand", "filter"):
        raise ArgumentValueError(f"{spec.name}: form must be 'integrand' or 'filter', not {form!r:.60}")
    if spec.updates:
        raise ArgumentTypeError(f"{spec.name}: it updates shared variables, which callbacks of SciPy cannot do")
    address = entries.integrand if form == "integrand" else entries.filter
    if not address:
        raise LibraryError(f"{spec.name}: an earlier aotensor built this library", hint="compile it again")
    free = [value for value in spec.arguments if value.default is None and value.name not in fixed]
    shapes = {value.name: _shape(spec, value) for value in free}
    numbers = np.zeros(sum(map(math.prod, shapes.values())))
    bound = function.bind(**fixed, **_parts(numbers, shapes))
    value = _single(spec, bound)
    call = ValueCall(bound.call, numbers.ctypes.data, numbers.size, value.ctypes.data)
    try:
        from scipy import LowLevelCallable
    except ImportError as error:
        raise LibraryError(
            f"{spec.name}: low_level_callable needs SciPy, which is not installed", hint="pip install scipy"
        ) from error
    pointer: Any = (_INTEGRAND if form == "integrand" else _FILTER)(address)
    pointer.keeps = (call, bound, numbers)  # memory that the library reads while SciPy holds the pointer
    return LowLevelCallable(pointer, ctypes.c_void_p(ctypes.addressof(call)))


def _shape(spec: FunctionSpec, value: ArgumentSpec | SparseValue) -> tuple[int, ...]:
    if isinstance(value, SparseValue) or value.dtype != "float64":
        raise ArgumentTypeError(
            f"{spec.name}: {value.name} is {kind_of(value)}, and callbacks of SciPy receive float64 numbers",
            hint=f"fix it: low_level_callable({value.name}=...)",
        )
    extents = tuple(n for n in value.shape if isinstance(n, int))
    if len(extents) != len(value.shape):
        raise ArgumentTypeError(
            f"{spec.name}: {value.name} is {kind_of(value)}, whose size is not known",
            hint="give its extents as numbers in the model, or fix it",
        )
    return extents


def _parts(numbers: np.ndarray[Any, np.dtype[np.float64]], shapes: Mapping[str, Sequence[int]]) -> dict[str, object]:
    """Consecutive views of the caller's numbers."""
    parts: dict[str, object] = {}
    first = 0
    for name, shape in shapes.items():
        parts[name] = numbers[first : first + math.prod(shape)].reshape(shape)
        first += math.prod(shape)
    return parts


def _single(spec: FunctionSpec, bound: BoundFunction) -> Any:
    """The array of the only result."""
    values = list(bound.outputs.values())
    if len(values) != 1 or not isinstance(values[0], np.ndarray) or values[0].dtype != "float64" or values[0].size != 1:
        found = ", ".join(kind_of(value) for value in spec.results) or "nothing"
        raise ArgumentTypeError(
            f"{spec.name}: callbacks of SciPy must return one float64 number, and this returns {found}"
        )
    return values[0]
