"""Ipopt's C interface: five callbacks for each nonlinear program of a library, and their problem object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from aotensor.codegen.abi import arrays, linear_algebra
from aotensor.codegen.abi.interface import Layer, entry, forms, workspace
from aotensor.codegen.abi.ipopt import kernels
from aotensor.codegen.abi.substitutes import blas_words, missing_lapack, refuse_lapack
from aotensor.codegen.abi.translate import add_kernels
from aotensor.codegen.entry.tables import Constants
from aotensor.codegen.llvm import Bytes, Value
from aotensor_runtime.manifest import FunctionSpec, Manifest

_CALLBACKS: Final = ("eval_f", "eval_g", "eval_grad_f", "eval_jac_g", "eval_h")
"""In the order of CreateIpoptProblem."""
_SUFFIXES: Final = {"problem": "ipopt_problem", "free_problem": "ipopt_free", **{name: name for name in _CALLBACKS}}
"""Kernel → what follows the name of the program in its symbol."""


@dataclass(frozen=True)
class Program:
    """A nonlinear program of a library.

    n, m: numbers of variables and of constraints. parameters: shape of each parameter. jacobian, hessian: row and
    column indices of the stored entries. point: our function for f and g. slopes: our function for their derivatives.
    curvature: our function for the Hessian, or None.
    """

    name: str
    n: int
    m: int
    parameters: tuple[tuple[int, ...], ...]
    jacobian: tuple[tuple[int, ...], tuple[int, ...]]
    hessian: tuple[tuple[int, ...], tuple[int, ...]]
    point: str
    slopes: str
    curvature: str | None

    @property
    def kernels(self) -> dict[str, str]:
        """Exported kernel → its symbol; without `eval_h` if the program has no Hessian."""
        return {
            kernel: f"{self.name}_{suffix}"
            for kernel, suffix in _SUFFIXES.items()
            if kernel != "eval_h" or self.curvature is not None
        }


@dataclass(frozen=True)
class IpoptLayer(Layer):
    """The nonlinear programs of a library, as an interface layer."""

    programs: tuple[Program, ...]
    name = "ipopt"
    version = "3"

    @property
    def symbols(self) -> tuple[str, ...]:  # type: ignore[override]
        """The exported symbols of all programs."""
        return tuple(symbol for program in self.programs for symbol in program.kernels.values())

    def without_unsupported(self, functions: Sequence[FunctionSpec]) -> IpoptLayer:
        """A copy without Hessians that need LAPACK functions for which there are no kernels.

        Raises: UnsupportedError if values or first derivatives need them.
        """
        specs, kept = {spec.name: spec for spec in functions}, []
        for program in self.programs:
            for name in (program.point, program.slopes):
                refuse_lapack(self.name, specs[name])
            is_whole = program.curvature is None or not missing_lapack(specs[program.curvature])
            kept.append(program if is_whole else replace(program, curvature=None, hessian=((), ())))
        return IpoptLayer(tuple(kept))

    def add(self, constants: Constants, manifest: Manifest) -> None:
        for program in self.programs:
            exported = program.kernels
            sources = (arrays, linear_algebra, kernels)
            left_out = {name for name in _CALLBACKS if name not in exported}
            words = _words(constants, program, manifest)
            add_kernels(constants, sources, exported, words, left_out, prefix=f"abi.{program.name}.")


def _words(constants: Constants, program: Program, manifest: Manifest) -> list[Value | int | str]:
    functions = program.point, program.slopes, program.curvature
    entries = [entry(constants, manifest, function) for function in functions]

    def coordinates(values: Sequence[int]) -> Value:
        data = np.asarray(values, "<i4").tobytes()
        return constants.data("abi.coordinates", Bytes(data or b"\0"), align=8)

    return [
        program.n,
        program.m,
        len(program.jacobian[0]),
        len(program.hessian[0]),
        *entries,
        len(program.parameters),
        *forms(constants, program.parameters),
        *(coordinates(values) for values in (*program.jacobian, *program.hessian)),
        program.n,
        program.n,
        program.n + 1,
        *(name if name in program.kernels else 0 for name in _CALLBACKS),
        *(workspace(constants, manifest, function) for function in functions),
        *blas_words(),
    ]
