"""The typed entry of a loaded function for native callers: numba, Cython, cffi, SciPy's C callbacks."""

from __future__ import annotations

import ctypes
from functools import cached_property
from typing import Any, Final

from aotensor_runtime.abi import STRUCTS
from aotensor_runtime.signature import FunctionSpec
from aotensor_runtime.typed.parameters import C_TYPES, Parameter, entry_parameters

_SCALARS: Final[dict[str, Any]] = {
    text: getattr(ctypes, f"c_{text.removesuffix('_t')}")
    for text in dict.fromkeys(C_TYPES.values())
    if text not in STRUCTS
}


class EntryPointer:
    """The address and the parameters of a function's typed entry, the C function that the header declares.

    address: as an int, valid as long as the process lives. parameters: in order. `int(pointer)` is the address.
    """

    restype: Final = ctypes.c_int32

    def __init__(self, spec: FunctionSpec, prefix: str, address: int) -> None:
        self.address, self._spec, self._prefix = address, spec, prefix
        self.parameters: tuple[Parameter, ...] = tuple(entry_parameters(spec))

    @cached_property
    def argtypes(self) -> tuple[Any, ...]:
        """The ctypes type of each parameter: `c_int64`, `POINTER(c_double)`, `c_void_p` for the workspace."""
        return tuple(_ctypes_of(parameter) for parameter in self.parameters)

    @cached_property
    def function(self) -> Any:
        """The entry as a ctypes function, which releases the interpreter's lock and returns the status.

        numba calls it from compiled code, and `scipy.LowLevelCallable(pointer.function)` accepts it.
        """
        return ctypes.CFUNCTYPE(self.restype, *self.argtypes)(self.address)

    @property
    def declaration(self) -> str:
        """The declaration in the header: `int32_t f(int64_t n, const double *x, double *out, void *workspace);`."""
        return f"int32_t {self._prefix}{self._spec.name}({', '.join(map(str, self.parameters))});"

    @property
    def cffi(self) -> str:
        """The pointer type for `ffi.cast(pointer.cffi, pointer.address)`; our structs are `void` there."""
        types = (
            str(Parameter("void" if x.type in STRUCTS else x.type, "", x.is_pointer, x.is_read_only)).strip()
            for x in self.parameters
        )
        return f"int32_t (*)({', '.join(types)})"

    def __int__(self) -> int:
        return self.address

    def __repr__(self) -> str:
        return f"<{self.declaration.rstrip(';')} at {self.address:#x}>"


def _ctypes_of(parameter: Parameter) -> Any:
    if parameter.type == "void":
        return ctypes.c_void_p
    kind = STRUCTS.get(parameter.type) or _SCALARS[parameter.type]
    return ctypes.POINTER(kind) if parameter.is_pointer else kind
