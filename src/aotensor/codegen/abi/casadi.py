"""CasADi's convention for external functions, and so acados': `f` and its derivatives, with sparsities.

Each function of the convention is a block: vectors of entries in column-major order go to one uniform entry of ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from aotensor.codegen.abi import arrays, casadi_kernels, linear_algebra
from aotensor.codegen.abi.interface import Layer, entry
from aotensor.codegen.abi.substitutes import blas_words, missing_lapack, refuse_lapack
from aotensor.codegen.abi.translate import add_kernels
from aotensor.codegen.entry.tables import Constants
from aotensor.codegen.llvm import Value
from aotensor_runtime.manifest import FunctionSpec, Manifest

_SUFFIXES: Final = {
    "evaluate": "", "n_in": "_n_in", "n_out": "_n_out", "name_in": "_name_in", "name_out": "_name_out",
    "sparsity_in": "_sparsity_in", "sparsity_out": "_sparsity_out", "work": "_work", "alloc_mem": "_alloc_mem",
    "init_mem": "_init_mem", "free_mem": "_free_mem", "checkout": "_checkout", "release_mem": "_release",
    "incref": "_incref", "decref": "_decref",
}  # fmt: skip
"""Kernel → what follows the name of the function in its symbol."""


@dataclass(frozen=True)
class Slot:
    """An input or output.

    pattern: rows, columns, column pointers, rows of entries. is_passed: our entry has it. shape: of the column-major
    array that our entry has, None for a vector of the entries.
    """

    name: str
    pattern: tuple[int, ...]
    is_passed: bool = True
    shape: tuple[int, ...] | None = None

    @property
    def length(self) -> int:
        """The number of entries."""
        return self.pattern[2 + self.pattern[1]]


@dataclass(frozen=True)
class Block:
    """A function of the convention.   function: of ours, which computes it. is_needed: the interface needs it"""

    name: str
    function: str
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    is_needed: bool = False


@dataclass(frozen=True)
class CasadiLayer(Layer):
    """Blocks for CasADi.   owners: our functions whose names are those of blocks"""

    blocks: tuple[Block, ...]
    owners: tuple[str, ...]
    name = "casadi"
    version = "3"

    @property
    def symbols(self) -> tuple[str, ...]:  # type: ignore[override]
        """All symbols of all blocks."""
        return tuple(block.name + suffix for block in self.blocks for suffix in _SUFFIXES.values())

    @property
    def functions(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those whose names CasADi's entries take."""
        return self.owners

    def fitted(self, functions: Sequence[FunctionSpec]) -> CasadiLayer:
        """Derivatives are left out where they need more of LAPACK than there are kernels of."""
        specs, kept = {spec.name: spec for spec in functions}, []
        for block in self.blocks:
            if block.is_needed:
                refuse_lapack(self.name, specs[block.function])
            if not missing_lapack(specs[block.function]):
                kept.append(block)
        return CasadiLayer(tuple(kept), self.owners)

    def add(self, constants: Constants, manifest: Manifest) -> None:
        for block in self.blocks:
            exported = {kernel: block.name + suffix for kernel, suffix in _SUFFIXES.items()}
            sources = (arrays, linear_algebra, casadi_kernels)
            words = _words(constants, block, entry(constants, manifest, block.function))
            add_kernels(constants, sources, exported, words, prefix=f"abi.{block.name}.")


def _words(constants: Constants, block: Block, function: Value) -> list[Value | int | str]:
    sides = (block.inputs, block.outputs)
    names = [constants.pointers([constants.text(slot.name) for slot in side]) for side in sides]
    patterns = [constants.pointers([constants.numbers(slot.pattern) for slot in side]) for side in sides]
    lengths = [constants.numbers([slot.length if slot.is_passed else -1 for slot in side]) for side in sides]
    counts = [len(side) for side in sides]
    forms = [constants.words("abi.forms", [x for slot in side for x in _form(constants, slot)]) for side in sides]
    return [*counts, *names, *patterns, function, *lengths, *forms, *blas_words()]


def _form(constants: Constants, slot: Slot) -> list[Value | int]:
    """Rank, shape and strides of the array that our entry gets."""
    shape = (slot.length,) if slot.shape is None else slot.shape
    strides = [prod(shape[:axis]) for axis in range(len(shape))]
    return [len(shape), constants.numbers(shape), constants.numbers(strides)]
