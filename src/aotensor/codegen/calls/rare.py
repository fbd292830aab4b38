"""Mark calls that almost never happen, so that they do not prevent vectorization of a loop.

    %r = call double @aot.far_angle.f64(double %x)                      under a branch, in a scalar function

Inlined, the callee's work would be done for every element once LLVM converts the branch to a mask. A plain call
prevents vectorization. So the call lists, for every number of lanes, a function that tests the mask and returns at once
if it is empty (the attribute `vector-function-abi-variant` of LLVM's loop vectorizer).
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final

from aotensor.codegen import llvm
from aotensor.codegen.entry.tables import HIDDEN
from aotensor.codegen.llvm import Builder, Function, Module, Value
from aotensor.passes.scalar_math.table import OUTLINED, is_vector_symbol, vector_symbol

LANES: Final = (2, 4, 8, 16)
"""Numbers of lanes of the variants."""
PURE: Final = ("noinline", "memory(none)", "willreturn", "nounwind")


def mark_rare(function: Function, is_defined: bool) -> None:
    """Prevent inlining of a function of one float, and declare or define its masked vector variants.

    is_defined: are it and its variants defined in this module? Otherwise they are a part of the library.
    """
    llvm.mark_function(function, "cold", *PURE)
    variants = [_declare_variant(function, count) for count in LANES]
    for count, variant in zip(LANES, variants, strict=True):
        if is_defined:
            _define_variant(function, variant, count)
    for one in (function, *variants):
        one.linkage = "internal" if is_defined else HIDDEN


def keep_variants(module: Module) -> None:
    """Keep vector functions, also declared ones, that only attributes of calls name, until LLVM's vectorizer has run.

    Outlined scalar functions are kept unchanged too: LLVM would drop an operand that is the same constant in every
    call.
    """
    variants = [
        f
        for f in module.functions
        if (f.linkage == "internal" and f.blocks and (is_vector_symbol(f.name) or f.name.endswith(OUTLINED)))
        or (f.linkage == HIDDEN and not f.blocks and is_vector_symbol(f.name))
    ]
    if variants:
        array = llvm.ir.ArrayType(llvm.pointer, len(variants))
        used = llvm.ir.GlobalVariable(module, array, "llvm.compiler.used")
        used.linkage, used.section = "appending", "llvm.metadata"
        used.initializer = llvm.ir.Constant(array, [variant.bitcast(llvm.pointer) for variant in variants])


def mark_rare_call(call: Value, symbol: str) -> None:
    """Declare the masked vector variants on a call, for the vectorizer."""
    _mark_pure(call, variants_attribute(symbol, "M", "v", {n: vector_symbol(symbol, n) for n in LANES}))


def mark_outlined_call(call: Value, symbol: str, functions: Container[str]) -> None:
    """Declare the existing vector variants of an outlined scalar function on a call, for the vectorizer.

    functions: symbols of the module's functions.
    """
    plain = symbol.removesuffix(OUTLINED)
    variants = {n: name for n in LANES if (name := vector_symbol(plain, n)) in functions}
    operands = "v" * len(call.args)
    _mark_pure(call, *([variants_attribute(symbol, "N", operands, variants)] if variants else []))


def _mark_pure(call: Value, *attributes: str) -> None:
    for attribute in ("memory(none)", "willreturn", "nounwind", *attributes):
        set.add(call.attributes, attribute)


def variants_attribute(symbol: str, mask: str, operands: str, variants: Mapping[int, str]) -> str:
    """The attribute that lists the vector variants on a call of a scalar function.

    mask: "M" if the variants have a mask operand, else "N". operands: "v" for each vector operand. variants: number of
    lanes → symbol.
    """
    names = ",".join(f"_ZGV_LLVM_{mask}{count}{operands}_{symbol}({name})" for count, name in variants.items())
    return f'"vector-function-abi-variant"="{names}"'


def _declare_variant(function: Function, count: int) -> Function:
    """Declare the variant for a number of lanes."""
    element = function.function_type.return_type
    lanes, mask = llvm.vector(element, count), llvm.vector(llvm.i1, count)
    variant = llvm.function(function.module, vector_symbol(function.name, count), lanes, [lanes, mask])
    llvm.mark_function(variant, *PURE)
    return variant


def _define_variant(function: Function, variant: Function, count: int) -> None:
    """Define a variant that calls the function on every lane if any lane is active; else its result is undefined."""
    lanes = variant.function_type.return_type
    entry, work, done = (variant.append_basic_block(name) for name in ("entry", "work", "done"))
    b: Builder = llvm.ir.IRBuilder(entry)
    wanted = llvm.intrinsic(b, "vector.reduce.or", [variant.args[1]], result=llvm.i1)
    b.cbranch(wanted, work, done)
    b.position_at_end(work)
    position = b.phi(llvm.i64)
    partial = b.phi(lanes)
    result = b.call(function, [b.extract_element(variant.args[0], position)])
    whole = b.insert_element(partial, result, position)
    after = b.add(position, llvm.constant(llvm.i64, 1))
    b.cbranch(b.icmp_unsigned("<", after, llvm.constant(llvm.i64, count)), work, done)
    nothing = llvm.ir.Constant(lanes, None)
    for phi, first, then in ((position, llvm.constant(llvm.i64, 0), after), (partial, nothing, whole)):
        phi.add_incoming(first, entry)
        phi.add_incoming(then, work)
    b.position_at_end(done)
    chosen = b.phi(lanes)
    chosen.add_incoming(nothing, entry)
    chosen.add_incoming(whole, work)
    b.ret(chosen)
