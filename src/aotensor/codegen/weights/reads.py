"""Reads of weights in kernels: the address of a constant in the mapped file, and alias facts for LLVM.

%base = load ptr, ptr @weights.base, !nonnull, !align 64, !dereferenceable
%constant = getelementptr inbounds i8, ptr %base, i64 offset
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp

from aotensor.codegen import llvm
from aotensor.codegen.llvm import Builder, Module, Node, Value
from aotensor.codegen.weights.file import Place
from aotensor.codegen.weights.state import declare_base
from aotensor.ir.upstream import walk
from aotensor_runtime.weights.spec import WEIGHTS_ALIGNMENT

_SCOPE: Final = "weights"


def address_of(builder: Builder, place: Place) -> Value:
    """The address of a constant, which is known to be readable."""
    module = builder.module
    base = builder.load(declare_base(module), typ=llvm.pointer)
    facts: Mapping[str, list[Value]] = {
        "nonnull": [],
        "align": [llvm.constant(llvm.i64, WEIGHTS_ALIGNMENT)],
        "dereferenceable": [llvm.constant(llvm.i64, place.offset + place.size)],
    }
    for name, operands in facts.items():
        base.set_metadata(name, llvm.node(module, operands))
    for name, fact in scope_of_reads(module).items():
        base.set_metadata(name, fact)
    return builder.gep(base, [llvm.constant(llvm.i64, place.offset)], inbounds=True, source_etype=llvm.i8)


def kept_inside(module: ModuleOp) -> frozenset[str]:
    """The constants that the library must hold itself: the workspace entry, which runs without weights, reads them."""
    sizes = [op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data.endswith(".workspace_bytes")]
    reads = (op for f in sizes for op in walk(f) if isinstance(op, memref.GetGlobalOp))
    return frozenset(op.name_.root_reference.data for op in reads)


def scope_of_reads(module: Module) -> dict[str, Node]:
    """Metadata of accesses to weights: nothing writes to them."""
    return {"alias.scope": llvm.node(module, [_scope(module)])}


def no_weights_metadata(module: Module, scope: Mapping[str, Node]) -> dict[str, Node]:
    """Metadata of other accesses: those of `scope`, and that they touch no weights."""
    others: list[Any] = list(scope["noalias"].operands) if "noalias" in scope else []
    return {**scope, "noalias": llvm.node(module, [*others, _scope(module)])}


def _scope(module: Module) -> Node:
    return llvm.node(module, [f"{_SCOPE}.file", llvm.node(module, [_SCOPE])])
