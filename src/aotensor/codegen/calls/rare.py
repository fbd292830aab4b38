"""Calls that almost never happen must not keep a loop from being vectorised.

    %r = call double @aot.far_angle.f64(double %x)                      under a branch, in a scalar function

Inlined, the callee's work is done for every element as soon as LLVM turns the branch into a mask. As a plain call it
forbids vectors. So the call names, for every number of lanes, a function that looks at the mask and returns at once
if it is empty (the ABI that LLVM's loop vectoriser knows as `vector-function-abi-variant`).
"""

from __future__ import annotations

from typing import Final

from aotensor.codegen import llvm
from aotensor.codegen.llvm import Builder, Function, Module, Value
from aotensor.passes.scalar_math.table import vector_symbol

RARE_FUNCTIONS: Final = ("aot.far_angle.f64",)
LANES: Final = (2, 4, 8, 16)
"""Of the variants."""
PURE: Final = ("noinline", "memory(none)", "willreturn", "nounwind")


def mark_rare(function: Function) -> None:
    """Keep a function of one float apart from its callers, and define its variants for vectors under a mask."""
    llvm.mark_function(function, "cold", *PURE)
    variants = [_define_variant(function, count) for count in LANES]
    module = function.module
    array = llvm.ir.ArrayType(llvm.pointer, len(variants))
    used = llvm.ir.GlobalVariable(module, array, "llvm.compiler.used")  # or the variants are gone before they are used
    used.linkage, used.section = "appending", "llvm.metadata"
    used.initializer = llvm.ir.Constant(array, [variant.bitcast(llvm.pointer) for variant in variants])


def mark_rare_call(call: Value, symbol: str) -> None:
    """Tell the vectoriser about the variants."""
    for attribute in ("memory(none)", "willreturn", "nounwind", variants_attribute(symbol, "M", "v")):
        set.add(call.attributes, attribute)


def variants_attribute(symbol: str, mask: str, operands: str) -> str:
    """What names the variants on a call.   mask: "M" if they take one, else "N". operands: "v" for each"""
    names = ",".join(f"_ZGV_LLVM_{mask}{count}{operands}_{symbol}({vector_symbol(symbol, count)})" for count in LANES)
    return f'"vector-function-abi-variant"="{names}"'


def _define_variant(function: Function, count: int) -> Function:
    """The function on every lane, if any lane is wanted; else nothing of meaning."""
    module: Module = function.module
    element = function.function_type.return_type
    lanes, mask = llvm.vector(element, count), llvm.vector(llvm.i1, count)
    variant = llvm.function(module, vector_symbol(function.name, count), lanes, [lanes, mask])
    variant.linkage = "internal"
    llvm.mark_function(variant, *PURE)
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
    return variant
