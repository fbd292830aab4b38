"""FMI 3.0: a function of static shapes as a Functional Mock-up Unit, whose outputs are computed when they are read."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Final

from aotensor.codegen.abi import arrays, linear_algebra, messages
from aotensor.codegen.abi.fmi import instance, typed, values
from aotensor.codegen.abi.fmi.variables import DERIVATIVES, Variable, derivative_name, token_of, variables_of
from aotensor.codegen.abi.interface import Layer
from aotensor.codegen.abi.language import WORD
from aotensor.codegen.abi.substitutes import blas_words, refuse_lapack
from aotensor.codegen.abi.translate import add_kernels
from aotensor.codegen.entry.code import NULL
from aotensor.codegen.entry.names import Symbols
from aotensor.codegen.entry.tables import Constants
from aotensor.codegen.llvm import Value
from aotensor_runtime.abi import DTYPE_CODES
from aotensor_runtime.manifest import FunctionSpec, Manifest

_SOURCES: Final = (arrays, messages, linear_algebra, instance, values, typed)


@dataclass(frozen=True)
class FmiLayer(Layer):
    """The functions of FMI over one function, the model, and its derivatives.

    FMI wants every function to be there: those for what a model does not have return fmi3Error, with a message.
    """

    model: str
    name = "fmi"
    version = "3.0"
    symbols = tuple(
        name
        for source in _SOURCES
        for name, x in vars(source).items()
        if name.startswith("fmi3") and isinstance(x, FunctionType) and inspect.getmodule(x) is source
    )

    def fitted(self, functions: Sequence[FunctionSpec]) -> FmiLayer:
        """The same.   Raises: UnsupportedError if the model needs more of LAPACK than there are kernels of"""
        for spec in functions:
            if spec.name == self.model:
                refuse_lapack(self.name, spec)
        return self

    def add(self, constants: Constants, manifest: Manifest) -> None:
        exported = {name: name for name in self.symbols}
        add_kernels(constants, _SOURCES, exported, self._words(constants, manifest), prefix="abi.fmi.")

    def _words(self, constants: Constants, manifest: Manifest) -> list[Value | int | str]:
        spec = manifest.function(self.model)
        found = variables_of(spec)
        records: list[Value | int] = []
        end = instance.HEAD + sum(_padded(x.count * x.size) for x in found)
        place, slot = instance.HEAD, end
        for x in found:
            records += _record(constants, x, place, slot if x.is_continuous else 0)
            place += _padded(x.count * x.size)
            slot += x.count * WORD if x.is_continuous else 0
        entries: list[Value] = [constants.module.globals[Symbols.in_library(manifest, self.model).uniform]]
        for role in DERIVATIVES:
            name = derivative_name(spec, role, manifest.functions)
            symbol = None if name is None else Symbols.in_library(manifest, name).uniform
            entries.append(NULL if symbol is None else constants.module.globals[symbol])
        return [
            len(spec.inputs),
            len(spec.outputs),
            constants.words("abi.variables", records),
            slot,
            end - instance.STATE_AT,
            *entries,
            constants.text(token_of(spec)),
            *blas_words(),
        ]


def _padded(size: int) -> int:
    """The next multiple of the bytes of a word."""
    return -(-size // WORD) * WORD


def _record(constants: Constants, x: Variable, place: int, slot: int) -> list[Value | int]:
    shape: Value | int = constants.numbers(x.shape) if x.shape else 0
    return [constants.text(x.name), DTYPE_CODES[x.dtype], x.size, x.count, place, len(x.shape), shape, slot]
