"""C99 of functions: lowered again for one core and without vectors, with the products and solvers that they call."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import func
from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, ModuleOp

from aotensor.codegen.c_source.file import c_file
from aotensor.codegen.parts import STRICT_PRODUCTS
from aotensor.codegen.targets.facts import product_facts
from aotensor.driver.definition import Definition
from aotensor.driver.recipe import Lowered, Options, lower
from aotensor.ir.location import Locations
from aotensor.passes.direct.translate import declared_kernels, kernel_module
from aotensor.passes.gemm.dispatch import declared_products, product_module
from aotensor.passes.pipeline import PassRunner, library_recipe
from aotensor_runtime.manifest import Manifest


def c_source(functions: Sequence[Definition], options: Options, manifest: Manifest) -> str:
    """The text of `<name>.c` for the functions of a library.

    options, manifest: of the library

    Raises: UnsupportedError for what C source does not have; as `recipe.lower`.
    """
    lowered = lower(functions, replace(options, scalar=True, threads=False), texts=())
    modules = [lowered.module, *_shared(lowered)]
    return c_file(modules, manifest, lambda where: _line(lowered.sites, where))


def _shared(lowered: Lowered) -> list[ModuleOp]:
    """The matrix products and the steps of sparse solvers that kernels declare."""
    declared = [op.sym_name.data for op in lowered.module.ops if isinstance(op, func.FuncOp) and not op.body.blocks]
    found = []
    bits, facts = STRICT_PRODUCTS
    for symbol in declared_products(declared):
        module = product_module(symbol)
        PassRunner().run(
            module,
            library_recipe(
                bits,
                product_facts(lowered.machine, lowered.options.fp, lowered.options.allocates, lowered.options.facts)
                or facts,
            ),
        )
        found.append(module)
    return [*found, *(kernel_module(symbol) for symbol in declared_kernels(declared))]


def _line(sites: Locations, where: LocationAttr) -> tuple[str, str]:
    """("model.py:12", "loss = ...")"""
    if not isinstance(where, FileLineColLoc):
        return "", ""
    source = linecache.getline(sites.path(where), where.line.data).strip()
    return f"{where.filename.data}:{where.line.data}", source
