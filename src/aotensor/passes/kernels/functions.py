"""Kernels that are functions of their own, in modules that are compiled once per machine (`codegen.parts`).

A kernel has one function for each combination of dtypes of its vectors, which its symbol names:
@aot_direct.factor_columns.f64.32.32.64 has float64 for numbers and vectors of int32 and int64 indices.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerType, MemRefType, ModuleOp, UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from aotensor.ir.loop_builder import LoopBuilder, memref_type_of
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import element_type, index
from aotensor.ir.upstream import walk
from aotensor.kernels.source import VECTORS, Kernel, source_of
from aotensor.passes.kernels.expressions import Argument
from aotensor.passes.kernels.translate import Translation
from aotensor.passes.kernels.values import Number, Vector, number_of
from aotensor.passes.outlining.outline import NO_ALIAS
from aotensor.sparse.direct import cholesky, lu, lu_solve, ordering, selected_inverse, triangle

PREFIX: Final = "aot_direct."

KERNELS: Final = {
    x.__name__: x
    for module in (cholesky, lu, lu_solve, ordering, selected_inverse, triangle)
    for x in vars(module).values()
    if inspect.isfunction(x) and x.__module__ == module.__name__
}
"""The kernels that are functions of their own, by name."""


def call_kernel(
    b: LoopBuilder, module: ModuleOp, kernel: Kernel, arguments: Sequence[Argument], dtype: str
) -> Scalar | None:
    """Call a kernel with numbers and 1-D buffers; declare it in the module if needed.

    dtype: the dtype of its floats. Returns the index that the kernel returns, or None.
    """
    signature = source_of(kernel).arguments
    values = [_passed(b, x, kind, dtype) for x, (_, kind) in zip(arguments, signature, strict=True)]
    kinds = [x.type for x in values]
    widths = [str(x.element_type.width.data) for x in kinds
              if isinstance(x, MemRefType) and isinstance(x.element_type, IntegerType)]  # fmt: skip
    symbol = ".".join([f"{PREFIX}{kernel.__name__}", dtype.replace("float", "f"), *widths])
    results = [index for _ in source_of(kernel).results]
    if not any(isinstance(op, func.FuncOp) and op.sym_name.data == symbol for op in module.body.block.ops):
        module.body.block.add_op(func.FuncOp.external(symbol, kinds, results))
    call = func.CallOp(symbol, values, results)
    b.builder.insert(call)
    return Scalar(call.results[0], "index") if results else None


def _passed(b: LoopBuilder, x: Argument, annotation: str, dtype: str) -> SSAValue:
    """An argument as an operand of a call."""
    if isinstance(x, SSAValue):
        return x
    if isinstance(x, Vector):
        return x.buffer
    assert x is not None and not isinstance(x, tuple | Mapping)
    return number_of(b, x, dtype if annotation == "Real" else "index").ssa


def declared_kernels(symbols: Iterable[str]) -> list[str]:
    """Filter a sequence of symbols: return the names of kernels."""
    return [x for x in symbols if x.startswith(PREFIX)]


def kernel_module(symbol: str) -> ModuleOp:
    """Return a module that defines one kernel and the kernels that it calls."""
    module = ModuleOp([])
    wanted = [symbol]
    for name in wanted:  # grows: a kernel may call further ones
        _define(module, name)
        known = [op.sym_name.data for op in module.body.block.ops if isinstance(op, func.FuncOp) and op.body.blocks]
        calls = (op.callee.string_value() for op in walk(module) if isinstance(op, func.CallOp))
        wanted += [x for x in dict.fromkeys(calls) if x not in known and x not in wanted]
    for op in [op for op in module.body.block.ops if isinstance(op, func.FuncOp) and op.is_declaration]:
        Rewriter.erase_op(op)
    return module


def _define(module: ModuleOp, symbol: str) -> None:
    """Define the function of a symbol, which encodes the kernel's name and the dtypes of its vector arguments."""
    name, number, *widths = symbol.removeprefix(PREFIX).split(".")
    kernel, dtype, integers = KERNELS[name], number.replace("f", "float"), iter(widths)
    source = source_of(kernel)
    kinds: list[Attribute] = []
    for _, kind in source.arguments:
        own = {"Index": "index", "Indices": f"int{next(integers)}" if kind == "Indices" else ""}.get(kind, dtype)
        kinds.append(vector_type(own) if kind in VECTORS else element_type(own))
    op = func.FuncOp(symbol, (kinds, [index for _ in source.results]), visibility="private")
    op.attributes[NO_ALIAS] = UnitAttr()
    module.body.block.add_op(op)
    b = LoopBuilder(Builder(InsertPoint.at_end(op.body.block)))
    arguments: list[Argument] = []
    for (name, kind), x in zip(source.arguments, op.body.block.args, strict=True):
        x.name_hint = name
        arguments.append({"Index": Scalar(x, "index"), "Real": Scalar(x, dtype)}.get(kind, x))

    def call(b: LoopBuilder, kernel: Kernel, arguments: Sequence[Argument], real: str) -> list[Number]:
        found = call_kernel(b, module, kernel, arguments, real)
        return [] if found is None else [found]

    with b.active():
        found = Translation(b, kernel, dtype, call).run(arguments)
    b.builder.insert(func.ReturnOp(*(number_of(b, x, "index").ssa for x in found)))


def vector_type(dtype: str) -> MemRefType[Attribute]:
    """memref<?xT>, the type of vector arguments of kernels, for dtype T."""
    return memref_type_of(element_type(dtype), [None])
