"""Modules that the kernels of a library share (matrix products, sparse solver steps), and source lines of the model."""

from __future__ import annotations

import linecache

from xdsl.dialects import func
from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, ModuleOp

from aotensor.codegen.machine import Machine
from aotensor.codegen.parts import STRICT_PRODUCTS
from aotensor.codegen.targets.machine_properties import product_facts
from aotensor.ir.location import Locations
from aotensor.passes.gemm.dispatch import declared_products, product_module
from aotensor.passes.kernels.functions import declared_kernels, kernel_module
from aotensor.passes.pipeline import PassRunner, library_recipe
from aotensor.passes.target import Target


def shared_modules(
    kernels: ModuleOp, machine: Machine, fp: str, allocates: bool, facts: Target | None
) -> list[ModuleOp]:
    """Modules with the matrix products and the sparse solver steps that kernels declare.

    fp, allocates, facts: options of the kernels' compilation.
    """
    declared = [op.sym_name.data for op in kernels.ops if isinstance(op, func.FuncOp) and not op.body.blocks]
    found = []
    bits, usual = STRICT_PRODUCTS
    for symbol in declared_products(declared):
        module = product_module(symbol)
        PassRunner().run(module, library_recipe(bits, product_facts(machine, fp, allocates, facts) or usual))
        found.append(module)
    return [*found, *(kernel_module(symbol) for symbol in declared_kernels(declared))]


def line_of(sites: Locations, where: LocationAttr) -> tuple[str, str]:
    """The position and the text of a source line, ("model.py:12", "loss = ..."); empty if a location has none."""
    if not isinstance(where, FileLineColLoc):
        return "", ""
    source = linecache.getline(sites.path(where), where.line.data).strip()
    return f"{where.filename.data}:{where.line.data}", source
