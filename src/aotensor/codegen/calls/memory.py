"""Memory functions of the C library, called with 64-bit sizes on every target.

%p = call ptr @malloc(i64 %size)                    if addresses have 64 bits
%p = call ptr @entry.malloc(i64 %size)              otherwise: malloc accepts 32 bits, and fails for more
"""

from __future__ import annotations

from typing import Final

from aotensor.codegen.entry.code import Code, number
from aotensor.codegen.entry.layout import pointer_bytes
from aotensor.codegen.llvm import Function, Module, Value, function, i32, i64, pointer

_MOST: Final = (1 << 32) - 1
_SIZES: Final = {
    "malloc": (True,),
    "aligned_alloc": (True, True),
    "realloc": (False, True),
    "memcpy": (False, False, True),
}
"""Functions of the C library → which of their arguments are sizes; the others are addresses."""


def sized(module: Module, name: str) -> Function:
    """Get or define `malloc`, `aligned_alloc`, `realloc` or `memcpy` with 64-bit sizes; return the function."""
    kinds = [i64 if is_size else pointer for is_size in _SIZES[name]]
    if pointer_bytes(module) == 8:
        return function(module, name, pointer, kinds)
    wrapper = f"entry.{name}"
    if wrapper in module.globals:
        return module.globals[wrapper]
    narrow = function(module, name, pointer, [i32 if is_size else pointer for is_size in _SIZES[name]])
    code = Code(module, wrapper, pointer, kinds)
    fitting = [_fitting(code, x) if is_size else x for x, is_size in zip(code.arguments, _SIZES[name], strict=True)]
    code.ret(code.builder.call(narrow, fitting))
    return code.function


def _fitting(code: Code, size: Value) -> Value:
    """Convert a size to 32 bits; a larger size becomes the largest one, whose allocation fails."""
    b = code.builder
    return b.trunc(b.select(code.below(size, number(_MOST)), size, number(_MOST)), i32)
