"""Translate loop IR to LLVM IR, one to one: without optimisation, but with all known facts as attributes.

A memref argument becomes a pointer and one i64 for each extent (and each stride) that its type leaves unknown.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Final

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    DenseIntOrFPElementsAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    ModuleOp,
)
from xdsl.ir import Operation

from aotensor.codegen import emit_arith, emit_control, emit_memory, emit_parallel, emit_vector, llvm
from aotensor.codegen.calls.lanes import define_lane_function
from aotensor.codegen.calls.rare import keep_variants, mark_rare
from aotensor.codegen.debug_info import DebugInfo
from aotensor.codegen.emit_alias import read_only, view_scopes
from aotensor.codegen.emit_state import SCALAR_FUNCTION_PREFIX, Emitter, Handler, element_bytes, flat_types
from aotensor.codegen.llvm import Function, Module
from aotensor.codegen.machine import Machine
from aotensor.codegen.targets.systems import system_of
from aotensor.codegen.weights.file import Place, WeightsPool
from aotensor.codegen.weights.reads import kept_inside
from aotensor.errors import InternalError
from aotensor.ir.location import Locations, is_located
from aotensor.ir.upstream import ParallelOp, walk
from aotensor.passes.outlining.outline import NO_ALIAS
from aotensor.passes.scalar_math.table import CALLED as LONG
from aotensor.passes.scalar_math.table import RARE_FUNCTIONS, is_lane_function, is_vector_symbol, split_symbol

_HANDLERS: Final[Mapping[type[Operation], Handler]] = {
    **emit_arith.HANDLERS,
    **emit_memory.HANDLERS,
    **emit_control.HANDLERS,
    **emit_parallel.HANDLERS,
    **emit_vector.HANDLERS,
}


def emit_module(
    module: ModuleOp,
    target: Machine,
    *,
    exported: Container[str] = (),
    threads: bool = True,
    sites: Locations | None = None,
    pool: WeightsPool | None = None,
    rare: bool = True,
) -> Module:
    """Translate a loop-level module to LLVM IR.

    exported: symbols with default visibility; every other function that is not private is hidden. threads: may loops
    run on several cores, if the target has threads? sites: if given, instructions have line numbers (`debug_info`).
    pool: if given, receives the large constants, which are read from a file. rare: define functions for rare arguments?
    Otherwise they are declared, and defined by `codegen.parts`.

    Raises: InternalError if the module contains an operation or type that the loop form does not allow.
    """
    result = llvm.ir.Module(name="aotensor", context=llvm.ir.Context())
    result.triple, result.data_layout = target.triple, target.data_layout()
    functions: dict[str, Function] = {}
    definitions: list[func.FuncOp] = []
    places: dict[str, Place] = {}
    inside = kept_inside(module) if pool is not None else frozenset()
    for op in module.ops:
        if isinstance(op, func.FuncOp):
            functions[op.sym_name.data] = _declare(result, op, exported, rare)
            if op.body.blocks and (rare or op.sym_name.data not in RARE_FUNCTIONS):
                definitions.append(op)
        elif isinstance(op, memref.GlobalOp):
            symbol, content = op.sym_name.data, _content(op)
            if pool is not None and pool.accepts(len(content)) and symbol not in inside:
                places[symbol] = pool.add(symbol, str(op.type.element_type), op.type.get_shape(), content)
            else:
                _define_global(result, op, content)
        else:
            raise InternalError(f"emit: {op.name} cannot stand at the top level of loop IR")
    debug_info, loops = DebugInfo(result, sites), dict[object, Function]()
    for op in definitions:
        told = target.vector_bits, threads and system_of(target.triple).has_threads, target.has_half, debug_info
        _define(functions, op, loops, *told, places)
    keep_variants(result)
    if target.for_size:
        for function in result.functions:
            if function.blocks:
                llvm.mark_function(function, "optsize")
    return result


def _declare(module: Module, op: func.FuncOp, exported: Container[str], rare: bool) -> Function:
    symbol, signature = op.sym_name.data, op.function_type
    results = flat_types(signature.outputs)
    if len(results) > 1 or any(isinstance(kind, MemRefType) for kind in signature.outputs):
        raise InternalError(f"emit: function {symbol} must return one scalar or nothing")
    if is_lane_function(symbol):
        return define_lane_function(module, symbol)
    function = llvm.function(module, symbol, results[0] if results else llvm.void, flat_types(signature.inputs))
    llvm.mark_function(function, "nounwind")
    scalar = symbol.startswith(SCALAR_FUNCTION_PREFIX)
    if not op.body.blocks:
        if scalar and split_symbol(symbol)[0] not in RARE_FUNCTIONS:
            raise InternalError(f"emit: scalar function {symbol} has no body and should have been expanded")
        return function
    private = op.sym_visibility is not None and op.sym_visibility.data == "private"
    if private or scalar:
        function.linkage = "internal"
    elif symbol not in exported:
        function.linkage = "hidden"  # a visibility, in the place of the linkage in LLVM's syntax
    if symbol in RARE_FUNCTIONS:
        mark_rare(function, rare)
    elif is_vector_symbol(symbol) or (scalar and results and LONG in op.attributes):
        llvm.mark_function(function, "noinline", "memory(none)", "willreturn")  # for bodies that are long as they are
    elif scalar and results:
        llvm.mark_function(function, "alwaysinline")
    else:  # large, with much work per call; inlined into its only caller, LLVM would simplify it again
        llvm.mark_function(function, "noinline")
        if not private or NO_ALIAS in op.attributes:
            _mark_pointers(function, op)
    return function


def _mark_pointers(function: Function, op: func.FuncOp) -> None:
    """Add attributes to a kernel's pointers: callers guarantee that buffers do not alias, and no pointer is captured.

    Chunks of parallel loops receive the pointers through memory, which LLVM counts as a capture.
    """
    position = 0
    known = ("noalias",) if any(isinstance(x, ParallelOp) for x in walk(op)) else ("noalias", "captures(none)")
    for argument in op.body.block.args:
        if isinstance(argument.type, MemRefType):
            llvm.mark_argument(function, position, *known)
            if read_only(argument):
                llvm.mark_argument(function, position, "readonly")
        position += len(flat_types([argument.type]))


def _define(
    functions: Mapping[str, Function],
    op: func.FuncOp,
    loops: dict[object, Function],
    vector_bits: int,
    threads: bool,
    has_half: bool,
    debug_info: DebugInfo,
    weights: Mapping[str, Place],
) -> None:
    function, block = functions[op.sym_name.data], op.body.block
    scopes = view_scopes(function.module, op)
    told = vector_bits, threads, has_half, debug_info, _first_line(op)
    emitter = Emitter(function, _HANDLERS, functions, scopes, loops, *told, weights)
    emitter.bind(block.args, function.args)
    emitter.run(block.ops)


def _first_line(op: func.FuncOp) -> LocationAttr:
    """The location of a function's first operation that has one, since the function itself has none."""
    return next((inner.location for inner in walk(op.body) if is_located(inner)), UNKNOWN_LOC)


def _content(op: memref.GlobalOp) -> bytes:
    """The elements of a global as in memory."""
    kind, elements = op.type, op.initial_value
    assert isinstance(kind, MemRefType)
    if not isinstance(elements, DenseIntOrFPElementsAttr):
        raise InternalError(f"emit: global {op.sym_name.data} needs its elements")
    return _bytes(elements.get_values()) if kind.element_type == IntegerType(1) else elements.data.data


def _define_global(module: Module, op: memref.GlobalOp, content: bytes) -> None:
    kind, symbol = op.type, op.sym_name.data
    assert isinstance(kind, MemRefType)
    array = llvm.Bytes(content)
    variable = llvm.opaque(llvm.ir.GlobalVariable(module, array.type, symbol))
    variable.initializer = array
    variable.linkage = "internal"
    variable.global_constant = op.constant is not None
    variable.unnamed_addr = variable.global_constant
    variable.align = op.alignment.value.data if op.alignment is not None else element_bytes(kind)


def _bytes(flags: Iterable[int]) -> bytes:
    """The bytes that represent bools in memory."""
    return bytes(1 if flag else 0 for flag in flags)
