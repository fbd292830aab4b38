"""Calls of the caller's LAPACK table: the bodies of `@aot_lapack_potrf.f64` and the like.

Each passes its arguments by address, as Fortran requires, and returns `info`. The presence of the function was checked
before the kernel started (see `entry.steps`).
"""

from __future__ import annotations

from typing import Final

from aotensor.codegen.entry.code import Code, number
from aotensor.codegen.entry.threads import PARALLEL, rest
from aotensor.codegen.llvm import Module, Type, Value, constant, f32, f64, i8, i32, i64, ir, pointer, void
from aotensor.passes.lapack.routines import COMPLEX_ROUTINES, PREFIX, ROUTINES, TOO_LARGE, function_name
from aotensor_runtime.abi import Blas, Context

_ELEMENTS: Final = {"f32": f32, "f64": f64, "c64": f32, "c128": f64}
_BYTES: Final = {"f32": 4, "f64": 8, "c64": 4, "c128": 8}
_TABLES: Final = ((ROUTINES, ("f32", "f64")), (COMPLEX_ROUTINES, ("c64", "c128")))
_SMALLEST: Final = -(1 << 31)


def define_lapack_calls(module: Module) -> None:
    """Define the `@aot_lapack_*` that the module declares.

    The result is `info`, 0 for a function without it, or TOO_LARGE, without a call, if an integer does not fit 32
    bits.
    """
    for table, suffixes in _TABLES:
        for routine, letters in table.items():
            for suffix in suffixes:
                symbol = f"{PREFIX}{routine}.{suffix}"
                if symbol in module.globals and not module.globals[symbol].blocks:
                    _define(module, symbol, letters, suffix)


def _define(module: Module, symbol: str, letters: str, suffix: str) -> None:
    element = _ELEMENTS[suffix]
    kinds: dict[str, list[Type]] = {
        "c": [i8], "i": [i64], "f": [element], "a": [pointer, i64, i64], "p": [pointer, i64, i64], "I": [],
    }  # fmt: skip
    code = Code(module, symbol, i32, [*(kind for letter in letters for kind in kinds[letter]), pointer])
    given = list(code.arguments)
    info = code.on_stack(constant(i32, 0))
    addresses = [_address(code, letter, [given.pop(0) for _ in kinds[letter]], info, suffix) for letter in letters]
    kind = ir.FunctionType(void, [pointer] * len(addresses))
    if PARALLEL in module.globals:
        rest(code, forever=True)  # the caller's functions have threads of their own
    table = code.field(given[0], Context, "blas")
    code.call_field(table, Blas, function_name(symbol), kind, addresses)
    code.ret(code.builder.load(info, typ=i32))


def _address(code: Code, letter: str, values: list[Value], info: Value, suffix: str) -> Value:
    """Convert one argument to Fortran's convention: return its address. letter: its kind in the signature."""
    match letter:
        case "I":
            return info
        case "i":
            (value,) = values
            fits = code.all(code.less(value, number(TOO_LARGE + 1)), code.less(number(_SMALLEST - 1), value))
            code.ret_if(code.builder.not_(fits), constant(i32, TOO_LARGE))
            return code.on_stack(code.builder.trunc(value, i32))
        case "a" | "p":
            buffer, _, start = values
            return code.at(buffer, start, _BYTES[suffix] if letter == "a" else 4)
        case _:
            return code.on_stack(values[0])
