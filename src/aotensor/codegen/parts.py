"""Code that many libraries share, in separate modules: it is compiled once and linked into each of them.

    program   kernels, tables, typed entries, manifest                                new for every library
    core      the fixed functions of all entries, entries of Python and SciPy, threads one object per machine
    matrices  the fixed functions for sparse matrices, if a function has any          one object per machine
    products  @aot_gemm.*, @aot_gemm_at.*, if kernels call them                       one object per machine and dtype
    kernels   @aot_direct.*, the steps of sparse direct solvers, if called            one object per machine and dtypes
    rare      @aot.far_angle.f64, called by sin and cos of large numbers              one object per machine
    digest    SHA-256, if the library has a file of weights                           one object per machine

The content of a part depends only on its name, the machine and the compiler, so a cached object equals a new one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from xdsl.dialects.builtin import ModuleOp

import aotensor.ir  # noqa: F401  (before xDSL)
from aotensor.codegen import llvm
from aotensor.codegen.calls.blas import define_blas_calls
from aotensor.codegen.emit import emit_module
from aotensor.codegen.entry.callbacks import define_callbacks
from aotensor.codegen.entry.core import define_core, define_library_entries
from aotensor.codegen.entry.matrices import define_matrices
from aotensor.codegen.entry.names import is_for_python
from aotensor.codegen.entry.python import define_python_entries
from aotensor.codegen.entry.tables import CHECK_MATRICES, GIVE_MATRIX, HIDDEN, Constants
from aotensor.codegen.entry.threads import define_parallel
from aotensor.codegen.llvm import Module
from aotensor.codegen.machine import Machine
from aotensor.codegen.rounding import round_each
from aotensor.codegen.targets.levels import LevelCode, name_by_level
from aotensor.codegen.targets.systems import system_of
from aotensor.codegen.weights.digest import define_compress
from aotensor.passes.gemm.dispatch import declared_products, product_module
from aotensor.passes.kernels.functions import declared_kernels, kernel_module
from aotensor.passes.pipeline import PassRunner, library_recipe
from aotensor.passes.scalar_math.table import RARE_FUNCTIONS, define
from aotensor.passes.target import Target
from aotensor_runtime.manifest import Manifest


@dataclass(frozen=True)
class Part:
    """A module of shared code.

    name: encodes everything it depends on except machine and compiler. make: builds its LLVM IR.

    symbols: the symbols that it defines for kernels.
    """

    name: str
    make: Callable[[Machine], Module]
    symbols: tuple[str, ...] = ()


PartStore: TypeAlias = Callable[[Part, Machine], bytes]
"""Returns the object code of a part."""


def compile_part(part: Part, machine: Machine) -> bytes:
    """Compile a part and return its object code."""
    return machine.object_code(machine.optimise(part.make(machine)))


def core_part(prefix: str, threads: bool, heap: bool = True, freestanding: bool = False) -> Part:
    """The part with the fixed functions, and with the entries for Python and SciPy, which get a prefix.

    threads: include the pool. heap: may they call malloc? freestanding: omit the entries for Python and SciPy?
    """

    def make(machine: Machine) -> Module:
        module = empty_module(machine)
        constants = Constants(module)
        has_pool = threads and system_of(machine.triple).has_threads
        define_core(constants, heap, has_pool)
        define_library_entries(constants, prefix)
        if is_for_python(machine.triple, freestanding):
            define_python_entries(constants, prefix)
            define_callbacks(constants, prefix)
        if has_pool:
            define_parallel(constants)
        return module

    how = f"{'with threads ' if threads else ''}{'' if heap else 'without heap '}{'freestanding ' * freestanding}"
    return Part(f"core {how}{prefix}", make)


def matrix_parts(module: Module, threads: bool, heap: bool = True) -> list[Part]:
    """The part with the fixed functions for sparse matrices, if a module declares one of them.

    threads: may they use the pool? heap: as in `core_part`
    """

    def make(machine: Machine) -> Module:
        module = empty_module(machine)
        define_matrices(Constants(module), threads and system_of(machine.triple).has_threads, heap)
        return module

    is_needed = any(name in module.globals for name in (CHECK_MATRICES, GIVE_MATRIX))
    how = f"{' with threads' if threads else ''}{'' if heap else ' without heap'}"
    return [Part(f"matrices{how}", make)] if is_needed else []


_STRICT_BITS: Final = 256  # the order of a product's sums depends on the vector width
NEVER: Final = 1 << 62
"""Multiply-adds above every product's: never call BLAS."""
STRICT_PRODUCTS: Final = _STRICT_BITS, Target(blas_work=NEVER)
"""Width of the vectors, and facts, of products that have the same bits on every machine."""


def product_parts(module: Module, threads: bool, facts: Target | None = None, strict: bool = False) -> list[Part]:
    """One part for every matrix product that a module declares.

    facts: properties that replace the machine's. strict: must results have the same bits on every machine? Then BLAS is
    not called.
    """
    names = declared_products(f.name for f in module.functions if f.is_declaration)
    return [_product_part(name, threads, facts, strict) for name in names]


def _product_part(symbol: str, threads: bool, facts: Target | None, strict: bool) -> Part:
    def make(machine: Machine) -> Module:
        loops = product_module(symbol)
        bits, known = STRICT_PRODUCTS if strict else (machine.vector_bits, machine.facts)
        PassRunner().run(loops, library_recipe(bits, facts or known))
        module = emit_module(loops, machine, threads=threads)
        if strict:
            round_each(module)
        define_blas_calls(module)
        module.globals[symbol].linkage = HIDDEN
        return module

    told = f"{facts} " if facts is not None else ""
    how = f"{'with threads ' if threads else ''}{'rounding each ' if strict else ''}"
    return Part(f"product {how}{told}{symbol}", make, (symbol,))


def rename_for_level(part: Part) -> Part:
    """A copy of a part with symbols that contain its CPU level, to link several levels together."""

    def make(machine: Machine) -> Module:
        module = part.make(machine)
        name_by_level(LevelCode(machine, module), ())
        return module

    return Part(f"level {part.name}", make, part.symbols)


def kernel_parts(module: Module, strict: bool = False) -> list[Part]:
    """One part for every kernel of a sparse direct solver that a module declares."""
    names = declared_kernels(f.name for f in module.functions if f.is_declaration)
    return [_kernel_part(name, strict) for name in names]


def _kernel_part(symbol: str, strict: bool) -> Part:
    def make(machine: Machine) -> Module:
        module = emit_module(kernel_module(symbol), machine)
        if strict:
            round_each(module)
        module.globals[symbol].linkage = HIDDEN
        return module

    return Part(f"kernel {'rounding each ' if strict else ''}{symbol}", make, (symbol,))


def rare_parts(module: Module, strict: bool = False) -> list[Part]:
    """One part for every function for rare arguments that a module declares."""
    found = [f.name for f in module.functions if f.is_declaration and f.name in RARE_FUNCTIONS]
    return [_rare_part(name, strict) for name in found]


def _rare_part(symbol: str, strict: bool) -> Part:
    def make(machine: Machine) -> Module:
        module = emit_module(ModuleOp([define(symbol)]), machine)
        if strict:
            round_each(module)
        for function in module.functions:
            if function.blocks:
                function.linkage = HIDDEN
        return module

    return Part(f"rare {'rounding each ' if strict else ''}{symbol}", make, (symbol,))


def digest_parts(manifest: Manifest) -> list[Part]:
    """The function that computes the digest of a file of weights, if a library has one."""

    def make(machine: Machine) -> Module:
        module = empty_module(machine)
        define_compress(module, machine.features)
        return module

    return [] if manifest.weights is None else [Part("digest", make)]


def empty_module(machine: Machine) -> Module:
    """An empty LLVM module for a machine."""
    module = llvm.ir.Module(name="aotensor", context=llvm.ir.Context())
    module.triple, module.data_layout = machine.triple, machine.data_layout()
    return module
