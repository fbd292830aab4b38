"""FMI 3.0: a function of static shapes as a Functional Mock-up Unit, whose outputs are computed when they are read."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Final

import numpy as np

from aotensor.codegen.abi import arrays, calls, linear_algebra, messages
from aotensor.codegen.abi.fmi import instance, typed, values
from aotensor.codegen.abi.fmi.variables import (
    DERIVATIVES,
    Variable,
    derivative_name,
    start_text,
    token_of,
    variables_of,
)
from aotensor.codegen.abi.interface import Layer, entry
from aotensor.codegen.abi.language import WORD
from aotensor.codegen.abi.substitutes import blas_words, refuse_lapack
from aotensor.codegen.abi.translate import add_kernels
from aotensor.codegen.entry.tables import Constants
from aotensor.codegen.llvm import Value
from aotensor.core.types import Array
from aotensor_runtime.abi import DTYPE_CODES
from aotensor_runtime.manifest import FunctionSpec, InterfaceSpec, Manifest

_SOURCES: Final = (arrays, messages, calls, linear_algebra, instance, values, typed)


@dataclass(frozen=True)
class FmiLayer(Layer):
    """The functions of FMI for one function of a library, the model, and its derivatives.

    FMI wants every function to be there: those for what a model does not have return fmi3Error, with a message.

    starts: start values of the inputs, None for zeros. dependencies: for each output, the inputs and how it depends.
    """

    model: str
    starts: tuple[Array | None, ...]
    dependencies: tuple[dict[int, str], ...]
    name = "fmi"
    version = "3.0"
    symbols = tuple(
        name
        for source in _SOURCES
        for name, x in vars(source).items()
        if name.startswith("fmi3") and isinstance(x, FunctionType) and inspect.getmodule(x) is source
    ) + tuple(typed.VARIANTS)

    @property
    def spec(self) -> InterfaceSpec:
        """With the start values and dependencies that modelDescription.xml has."""
        dependencies = [" ".join(f"{k}:{kind}" for k, kind in one.items()) for one in self.dependencies]
        starts = tuple(map(start_text, self.starts))
        return replace(super().spec, starts=starts if any(starts) else (), dependencies=tuple(dependencies))

    def without_unsupported(self, functions: Sequence[FunctionSpec]) -> FmiLayer:
        """Return the layer unchanged.

        Raises: UnsupportedError if the model needs LAPACK functions for which there are no kernels.
        """
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
        functions = [self.model, *(derivative_name(spec, role, manifest.functions) for role in DERIVATIVES)]
        return [
            len(spec.inputs),
            len(spec.outputs),
            constants.words("abi.variables", records),
            slot,
            end - instance.STATE_AT,
            *(entry(constants, manifest, function) for function in functions),
            constants.text(token_of(spec, self.spec.starts)),
            self._start(constants, found, end - instance.STATE_AT),
            *blas_words(),
        ]

    def _start(self, constants: Constants, variables: Sequence[Variable], size: int) -> Value | int:
        """The first state of an instance; 0 if that is all zeros."""
        if all(x is None or not x.any() for x in self.starts):
            return 0
        state = bytearray(size)
        place = instance.HEAD - instance.STATE_AT
        for x, value in zip(variables, self.starts, strict=False):
            if value is not None:
                state[place : place + x.count * x.size] = value.astype(value.dtype.newbyteorder("<")).tobytes()
            place += _padded(x.count * x.size)
        return constants.numbers([int(word) for word in np.frombuffer(bytes(state), "<i8")])


def _padded(size: int) -> int:
    """Round a size in bytes up to a multiple of the word size."""
    return -(-size // WORD) * WORD


def _record(constants: Constants, x: Variable, place: int, slot: int) -> list[Value | int]:
    shape: Value | int = constants.numbers(x.shape) if x.shape else 0
    return [constants.text(x.name), DTYPE_CODES[x.dtype], x.size, x.count, place, len(x.shape), shape, slot]
