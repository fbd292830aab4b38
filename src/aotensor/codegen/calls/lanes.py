"""Functions that are single machine instructions, for scalars and for vectors.

    %y = call double @aot.scaled.f64(double %x, double %n)      in a scalar function, in a loop that LLVM vectorizes

LLVM's loop vectorizer does not vectorize intrinsics of one machine. So each is a function with vector variants, which
its calls list (as in `rare.py`). Weak functions are not inlined, as another definition might replace them; after
vectorization, `inline_lane_functions` makes them internal and inlines them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from aotensor.codegen import llvm
from aotensor.codegen.calls.rare import LANES, PURE, variants_attribute
from aotensor.codegen.llvm import Builder, Function, Module, ModuleRef, Type, Value
from aotensor.passes.scalar_math.table import is_lane_function, split_symbol, vector_symbol

_NATIVE: Final = 8  # lanes of float64 in a register
_CURRENT_ROUNDING: Final = 4
# 2**(k/16) as the nearest float64, and the remainder
_SIXTEENTHS: Final = tuple(2.0 ** (k / 16) for k in range(16))
_RESTS: Final = (
    0.0, 8.551889705537965e-17, -3.046782079812471e-17, 8.912812676025408e-17,
    3.982015231465646e-17, 4.658027591836937e-17, 2.5382502794888315e-17, 7.70094837980299e-17,
    -9.667293313452913e-17, -3.483994556892796e-17, 7.949834809697621e-17, 2.4707192569797888e-17,
    8.199010020581497e-17, 2.960140695448873e-17, 3.283107224245627e-17, -1.0619946056195963e-16,
)  # fmt: skip


def _read(table: Sequence[float]) -> Callable[[Builder, list[Value]], Value]:
    """Return a builder of a table lookup: an entry of 16 by the low four bits of each lane; other bits are ignored.

    Written as assembly: if few lanes of the intrinsic's result are read, LLVM's code generator uses other positions of
    its operands (LLVM 22; `tests/codegen/test_lanes.py` has programs).
    """

    def elements(b: Builder, operands: list[Value]) -> Value:
        kind = llvm.vector(llvm.f64, _NATIVE)
        bits = b.bitcast(operands[0], kind)
        low, high = (llvm.constant(kind, table[start : start + _NATIVE]) for start in (0, _NATIVE))
        signature = llvm.ir.FunctionType(kind, [kind] * 3)
        return b.asm(signature, "vpermi2pd $3, $2, $0", "=v,0,v,v", [bits, low, high], side_effect=False)

    return elements


def _scaled(b: Builder, operands: list[Value]) -> Value:
    """Build x·2**⌊n⌋ for each lane."""
    kind = operands[0].type
    every, rounding = llvm.constant(llvm.i8, -1), llvm.constant(llvm.i32, _CURRENT_ROUNDING)
    name = "x86.avx512.mask.scalef.pd.512"
    return llvm.intrinsic(b, name, [*operands, llvm.ir.Constant(kind, None), every, rounding], overloads=[])


_FORMULAS: Final[Mapping[str, tuple[list[Type], Callable[[Builder, list[Value]], Value]]]] = {
    "aot.sixteenth_power.f64": ([llvm.i64], _read(_SIXTEENTHS)),
    "aot.rest_of_sixteenth_power.f64": ([llvm.i64], _read(_RESTS)),
    "aot.scaled.f64": ([llvm.f64, llvm.f64], _scaled),
}
_TABLES: Final = {"aot.sixteenth_power.f64": _SIXTEENTHS, "aot.rest_of_sixteenth_power.f64": _RESTS}


def define_lane_function(module: Module, symbol: str) -> Function:
    """Define the function of a symbol, with all vector variants that LLVM may call; return the function."""
    scalar, lanes = split_symbol(symbol)
    if scalar not in module.globals:
        _define_scalar(module, scalar)
        for count in LANES:
            _define_variant(module, scalar, count)
    if lanes is not None and symbol not in module.globals:
        _define_variant(module, scalar, lanes)
    return module.globals[symbol]


def mark_lane_call(call: Value, symbol: str) -> None:
    """Declare the vector variants of a scalar function on a call, for the vectorizer."""
    attributes = ["memory(none)", "willreturn", "nounwind"]
    if symbol in _FORMULAS:
        operands = "v" * len(_FORMULAS[symbol][0])
        attributes.append(variants_attribute(symbol, "N", operands, {n: vector_symbol(symbol, n) for n in LANES}))
    for attribute in attributes:
        set.add(call.attributes, attribute)


def inline_lane_functions(module: ModuleRef, builder: Any) -> ModuleRef:
    """Inline all calls of lane functions, and remove these functions; return the module.

    Their definitions prevent inlining until then, and llvmlite cannot change the attributes of a function of a parsed
    module (`add_function_attribute` adds them to its result up to 0.50); so the text is parsed again.

    builder: the PassBuilder of the preceding pipeline.
    """
    if not any(is_lane_function(function.name) and not function.is_declaration for function in module.functions):
        return module
    again: ModuleRef = llvm.binding.parse_assembly(
        _DEFINITION.sub(_inlined, str(module)), llvm.binding.create_context()
    )
    passes = llvm.binding.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(again, builder)
    return again


_DEFINITION: Final = re.compile(
    r"^define (?:weak |hidden |internal )*([^@\n]*@\"?([\w.]+)\"?\(.*\)[^#\n]*)#\d+", re.MULTILINE
)


def _inlined(match: re.Match[str]) -> str:
    """The first line of a function definition; for a lane function with attributes that permit inlining."""
    if not is_lane_function(match[2]):
        return match[0]
    return f"define internal {match[1]}alwaysinline memory(none) willreturn nounwind"


def _define(module: Module, symbol: str, result: Type, operands: list[Type]) -> tuple[Function, Builder]:
    function = llvm.function(module, symbol, result, operands)
    function.linkage = "weak hidden"
    llvm.mark_function(function, *PURE)
    return function, llvm.ir.IRBuilder(function.append_basic_block("entry"))


def _define_scalar(module: Module, symbol: str) -> None:
    """Define the scalar function: a load from the table in memory, or the first lane of a vector."""
    kinds, formula = _FORMULAS[symbol]
    function, b = _define(module, symbol, llvm.f64, kinds)
    if symbol in _TABLES:
        b.ret(_read_memory(b, f"{symbol}.table", _TABLES[symbol], function.args[0]))
        return
    first = llvm.constant(llvm.i32, 0)
    wide = [
        b.insert_element(llvm.ir.Constant(llvm.vector(x.type, _NATIVE), llvm.ir.Undefined), x, first)
        for x in function.args
    ]
    b.ret(b.extract_element(formula(b, wide), first))


def _read_memory(b: Builder, name: str, table: Sequence[float], bits: Value) -> Value:
    """Build a table lookup in memory."""
    module: Module = b.module
    kind = llvm.ir.ArrayType(llvm.f64, len(table))
    elements = llvm.opaque(llvm.ir.GlobalVariable(module, kind, name))
    elements.initializer = llvm.ir.Constant(kind, [llvm.constant(llvm.f64, x) for x in table])
    elements.linkage, elements.global_constant = "internal", True
    position = b.and_(bits, llvm.constant(llvm.i64, len(table) - 1))
    return b.load(b.gep(elements, [position], source_etype=llvm.f64), typ=llvm.f64)


def _define_variant(module: Module, symbol: str, count: int) -> None:
    """Define the vector variant: the first lanes of a longer vector, or several native vectors in sequence."""
    kinds, formula = _FORMULAS[symbol]
    wide = [llvm.vector(kind, count) for kind in kinds]
    function, b = _define(module, vector_symbol(symbol, count), llvm.vector(llvm.f64, count), wide)
    parts = [
        formula(b, [_lanes(b, x, range(start, start + _NATIVE)) for x in function.args])
        for start in range(0, count, _NATIVE)
    ]
    while len(parts) > 1:
        pairs = zip(parts[::2], [*parts[1::2], parts[-1]], strict=False)
        parts = [_concatenate(b, x, y) for x, y in pairs]
    b.ret(_lanes(b, parts[0], range(count)))


def _concatenate(b: Builder, x: Value, y: Value) -> Value:
    """Concatenate the lanes of two vectors of one type."""
    count = llvm.count_of(x.type)
    assert count is not None
    return _lanes(b, x, range(2 * count), y)


def _lanes(b: Builder, x: Value, chosen: range, other: Value | None = None) -> Value:
    """Select lanes by number from a vector, or from two; lanes beyond the last are undefined."""
    count = llvm.count_of(x.type)
    assert count is not None
    if other is None and chosen == range(count):
        return x
    last = count if other is None else 2 * count
    numbers = [min(k, last - 1) for k in chosen]
    rest = llvm.ir.Constant(x.type, llvm.ir.Undefined) if other is None else other
    return b.shuffle_vector(x, rest, llvm.constant(llvm.vector(llvm.i32, len(numbers)), numbers))
