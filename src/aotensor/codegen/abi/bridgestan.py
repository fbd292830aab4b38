"""The interface of BridgeStan 2: a log density, its derivatives and its transforms, for all clients of BridgeStan.

The table of a model is made from `DensityModel`; the kernels are in `bridgestan_model`, `bridgestan_calls`,
`bridgestan_start` and `bridgestan_r`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType, ModuleType
from typing import Final

from aotensor.codegen.abi import (
    arrays,
    bridgestan_calls,
    bridgestan_model,
    bridgestan_r,
    bridgestan_start,
    bridgestan_table,
    calls,
    json_reader,
    linear_algebra,
    messages,
)
from aotensor.codegen.abi.interface import Layer
from aotensor.codegen.abi.substitutes import blas_words, missing_lapack, refuse_lapack
from aotensor.codegen.abi.translate import add_kernels
from aotensor.codegen.entry.code import NULL, status
from aotensor.codegen.entry.names import Symbols
from aotensor.codegen.entry.tables import Constants
from aotensor.codegen.llvm import Bytes, Value, ir
from aotensor_runtime.abi import DTYPE_CODES, DTYPE_SIZES
from aotensor_runtime.manifest import FunctionSpec, Manifest

VERSION: Final = (bridgestan_table.MAJOR, bridgestan_table.MINOR, bridgestan_table.PATCH)
_SOURCES: Final[tuple[ModuleType, ...]] = (
    arrays, messages, calls, json_reader, linear_algebra, bridgestan_model, bridgestan_calls, bridgestan_start,
    bridgestan_r,
)  # fmt: skip
_NUMBERS: Final = ("bs_major_version", "bs_minor_version", "bs_patch_version")
_OF_HESSIAN: Final = ("bs_log_density_hessian", "bs_log_density_hessian_R")
_OF_PRODUCT: Final = ("bs_log_density_hessian_vector_product", "bs_log_density_hessian_vector_product_R")
_SECOND: Final = ("hessian", "product")
_ROLES: Final = ("log_density", "gradient", "hessian", "product", "constrain", "unconstrain")
READABLE: Final = ("float64", "float32", "int64", "int32", "bool")
"""The dtypes of data that JSON is read into."""


@dataclass(frozen=True)
class ReadValue:
    """A value that is read from JSON: a data value of the model, or a parameter.

    shape: extents, None for any extent. default: shape and row-major elements, if there is a default. first: position
    of a parameter's first element in the constrained vector. start, count: its part of the unconstrained vector.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...]
    default: tuple[tuple[int, ...], bytes] | None = None
    first: int = 0
    start: int = 0
    count: int = 0


@dataclass(frozen=True)
class DensityModel(Layer):
    """A model for BridgeStan.

    functions_of: role → function of the library. Without the roles `hessian` or `product`, their symbols are missing.
    constrained, transformed, unconstrained: names of the elements of these vectors, in Stan's notation.
    """

    title: str
    about: str
    data: tuple[ReadValue, ...]
    parameters: tuple[ReadValue, ...]
    constrained: tuple[str, ...]
    transformed: tuple[str, ...]
    unconstrained: tuple[str, ...]
    functions_of: Mapping[str, str]
    name = "bridgestan"
    version = ".".join(map(str, VERSION))

    @property
    def symbols(self) -> tuple[str, ...]:  # type: ignore[override]
        """All exported symbols, in the order of BridgeStan's header, then those of the R interface."""
        return (*_NUMBERS, *self._kernels())

    def _kernels(self) -> list[str]:
        left_out = {
            *(_OF_HESSIAN if "hessian" not in self.functions_of else ()),
            *(_OF_PRODUCT if "product" not in self.functions_of else ()),
        }
        return [name for name in _ALL if name not in left_out]

    def without_unsupported(self, functions: Sequence[FunctionSpec]) -> DensityModel:
        """A copy without second derivatives that need LAPACK functions for which there are no kernels.

        Raises: UnsupportedError if the log density or its gradient needs such functions.
        """
        specs, kept = {spec.name: spec for spec in functions}, {}
        for role, name in self.functions_of.items():
            if role in _SECOND and missing_lapack(specs[name]):
                continue
            refuse_lapack(self.name, specs[name])
            kept[role] = name
        return replace(self, functions_of=kept)

    def add(self, constants: Constants, manifest: Manifest) -> None:
        module = constants.module
        for name, number in zip(_NUMBERS, VERSION, strict=True):
            found = ir.GlobalVariable(module, ir.IntType(32), name)
            found.initializer, found.global_constant = status(number), True
        known = self._kernels()
        exported = {name: name for name in known}
        add_kernels(constants, _SOURCES, exported, self._words(constants, manifest), set(_ALL) - set(known))

    def _words(self, constants: Constants, manifest: Manifest) -> list[Value | int | str]:
        module = constants.module
        entries = [
            module.globals[Symbols.in_library(manifest, self.functions_of[role]).uniform]
            if role in self.functions_of
            else NULL
            for role in _ROLES
        ]
        return [
            len(self.data),
            _records(constants, self.data),
            len(self.parameters),
            _records(constants, self.parameters),
            len(self.unconstrained),
            len(self.constrained),
            len(self.transformed),
            constants.text(self.title),
            constants.text(self.about),
            constants.text(",".join(self.constrained)),
            constants.text(",".join((*self.constrained, *self.transformed))),
            constants.text(",".join(self.unconstrained)),
            *entries,
            *blas_words(),
        ]


_ALL: Final = tuple(
    name
    for source in _SOURCES
    for name, x in vars(source).items()
    if name.startswith("bs_") and isinstance(x, FunctionType) and inspect.getmodule(x) is source
)
"""The kernels that are exported."""


def _records(constants: Constants, values: Sequence[ReadValue]) -> Value:
    words: list[Value | int] = []
    for value in values:
        default: list[Value | int] = [0, 0]
        if value.default is not None:
            shape, elements = value.default
            default = [constants.data("abi.default", Bytes(elements or b"\0"), align=16), constants.numbers(shape)]
        words += [
            constants.text(value.name),
            len(value.shape),
            DTYPE_CODES[value.dtype],
            DTYPE_SIZES[value.dtype],
            constants.numbers([-1 if n is None else n for n in value.shape]),
            *default,
            value.first,
            constants.numbers(_column_major(value.shape)),
            value.start,
            value.count,
        ]
    return constants.words("abi.values", words)


def _column_major(shape: Sequence[int | None]) -> list[int]:
    """The strides of a column-major array, in elements."""
    strides, step = [], 1
    for n in shape:
        strides.append(step)
        step *= n or 0
    return strides
