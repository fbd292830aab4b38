"""The interface of SUNDIALS: the functions that CVODES and IDAS call, for each right-hand side of a library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from aotensor.codegen.abi import arrays, linear_algebra
from aotensor.codegen.abi.interface import Layer, entry, forms
from aotensor.codegen.abi.substitutes import blas_words, missing_lapack, refuse_lapack
from aotensor.codegen.abi.sundials import kernels
from aotensor.codegen.abi.translate import add_kernels
from aotensor.codegen.entry.tables import Constants
from aotensor.codegen.llvm import Bytes, Value
from aotensor_runtime.manifest import FunctionSpec, Manifest

ROLES: Final = ("rhs", "jacobian", "product", "adjoint", "quadrature", "tangent")
"""What our functions compute, in the order of the table."""
_NEEDS: Final = {
    "cv_rhs": "rhs", "cv_jac": "jacobian", "cv_jac_dense": "jacobian",
    "cv_jac_b": "jacobian", "cv_jac_b_dense": "jacobian", "cv_jtimes": "product", "cv_rhs_b": "adjoint",
    "cv_quad_rhs_b": "quadrature", "cv_sens_rhs": "tangent", "ida_res": "rhs", "ida_jac": "jacobian",
    "ida_jac_dense": "jacobian", "ida_jtimes": "product",
}  # fmt: skip
"""Exported kernel → the role of the function that it calls."""


@dataclass(frozen=True)
class RightHandSide:
    """The right-hand side f(t, y, *p) of a differential equation.

    n: number of states. parameters: shape of each parameter. indptr, indices: pattern of the Jacobian by rows, with all
    diagonal entries. functions_of: role → our function, without derivatives that an op lacks.
    """

    name: str
    n: int
    parameters: tuple[tuple[int, ...], ...]
    indptr: tuple[int, ...]
    indices: tuple[int, ...]
    functions_of: Mapping[str, str]

    @property
    def size(self) -> int:
        """The total number of elements of all parameters."""
        return sum(int(np.prod(shape)) for shape in self.parameters)

    @property
    def kernels(self) -> dict[str, str]:
        """Exported kernel → its symbol."""
        return {kernel: f"{self.name}_{kernel}" for kernel, role in _NEEDS.items() if role in self.functions_of}


@dataclass(frozen=True)
class SundialsLayer(Layer):
    """The right-hand sides of a library, as an interface layer."""

    models: tuple[RightHandSide, ...]
    name = "sundials"
    version = "6"

    @property
    def symbols(self) -> tuple[str, ...]:  # type: ignore[override]
        """The exported symbols of all right-hand sides."""
        return tuple(symbol for model in self.models for symbol in model.kernels.values())

    def without_unsupported(self, functions: Sequence[FunctionSpec]) -> SundialsLayer:
        """A copy without derivatives that need LAPACK functions for which there are no kernels.

        Raises: UnsupportedError if a right-hand side itself needs them.
        """
        specs, kept = {spec.name: spec for spec in functions}, []
        for model in self.models:
            refuse_lapack(self.name, specs[model.functions_of["rhs"]])
            fitting = {role: name for role, name in model.functions_of.items() if not missing_lapack(specs[name])}
            kept.append(replace(model, functions_of=fitting))
        return SundialsLayer(tuple(kept))

    def add(self, constants: Constants, manifest: Manifest) -> None:
        for model in self.models:
            exported = model.kernels
            left_out = set(_NEEDS) - set(exported)
            words = _words(constants, model, manifest)
            add_kernels(
                constants, (arrays, linear_algebra, kernels), exported, words, left_out, prefix=f"abi.{model.name}."
            )


def _words(constants: Constants, model: RightHandSide, manifest: Manifest) -> list[Value | int | str]:
    indptr, columns = np.array(model.indptr), np.array(model.indices)
    rows = np.repeat(np.arange(model.n), np.diff(indptr))
    order = np.lexsort((rows, columns))
    column_pointers = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=model.n))])
    diagonal = np.flatnonzero(rows == columns)
    tables = (indptr, columns, column_pointers, rows[order], order, diagonal, rows)
    return [
        model.n,
        len(columns),
        model.size,
        len(model.parameters),
        *forms(constants, model.parameters),
        *(entry(constants, manifest, model.functions_of.get(role)) for role in ROLES),
        *(constants.data("abi.pattern", Bytes(numbers.astype("<i4").tobytes()), align=8) for numbers in tables),
        *blas_words(),
    ]
