"""CasADi's interface for external functions, which acados uses too: `f` and its derivatives, with sparsities.

Each function of the interface is a block: it passes vectors of entries in column-major order to one of our uniform
entries.
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
    """An input or output of a CasADi function.

    pattern: number of rows, number of columns, column pointers, row indices. is_passed: does our entry have this
    argument? shape: shape of our entry's column-major array; None if it is the vector of the entries.
    """

    name: str
    pattern: tuple[int, ...]
    is_passed: bool = True
    shape: tuple[int, ...] | None = None

    @property
    def length(self) -> int:
        """The number of stored entries."""
        return self.pattern[2 + self.pattern[1]]


@dataclass(frozen=True)
class Block:
    """A function of CasADi's interface. function: our function that computes it.

    is_needed: is it an error if it cannot be exported?
    """

    name: str
    function: str
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    is_needed: bool = False


@dataclass(frozen=True)
class CasadiLayer(Layer):
    """All blocks of a library for CasADi. owners: our functions that have the name of a block."""

    blocks: tuple[Block, ...]
    owners: tuple[str, ...]
    name = "casadi"
    version = "3"

    @property
    def symbols(self) -> tuple[str, ...]:  # type: ignore[override]
        """All exported symbols of all blocks."""
        return tuple(block.name + suffix for block in self.blocks for suffix in _SUFFIXES.values())

    @property
    def functions(self) -> tuple[str, ...]:  # type: ignore[override]
        """Our functions whose names CasADi's entries use."""
        return self.owners

    def without_unsupported(self, functions: Sequence[FunctionSpec]) -> CasadiLayer:
        """A copy without derivatives that need LAPACK functions for which there are no kernels.

        Raises: UnsupportedError if a needed function needs them.
        """
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
    """The rank, shape and strides of the array that our entry gets for a slot."""
    shape = (slot.length,) if slot.shape is None else slot.shape
    strides = [prod(shape[:axis]) for axis in range(len(shape))]
    return [len(shape), constants.numbers(shape), constants.numbers(strides)]
