"""Ceres Solver and GTSAM: C prototypes of residuals, and a C++ header with a cost function and a factor of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Final

from aotensor.codegen.abi.ceres import SUFFIX
from aotensor.codegen.declarations.text import prototype
from aotensor_runtime.manifest import ArgumentSpec, FunctionSpec, InterfaceSpec, Manifest
from aotensor_runtime.typed.parameters import C_TYPES, parameter_names

_PARAMETERS: Final = ("void *user_data", "double **parameters", "double *residuals", "double **jacobians")
_HEAD: Final = """\
/* {library}: cost functions of Ceres Solver{least}, made by aotensor {version}. Link with the library.
 * With AOTENSOR_WITH_GTSAM defined, factors of GTSAM (4.2 or later); with AOTENSOR_WITHOUT_CERES, only these. */
#ifndef {guard}
#define {guard}

#include "{library}.h"

#include <cstring>
#ifndef AOTENSOR_WITHOUT_CERES
{includes}#endif
#ifdef AOTENSOR_WITH_GTSAM
#include <gtsam/config.h>
#include <gtsam/nonlinear/NonlinearFactor.h>

#include <stdexcept>
#ifndef AOTENSOR_GTSAM_JACOBIAN
#if GTSAM_VERSION_NUMERIC >= 40300
#define AOTENSOR_GTSAM_JACOBIAN gtsam::OptionalMatrixType
#else
#define AOTENSOR_GTSAM_JACOBIAN boost::optional<gtsam::Matrix &>
#endif
#endif
#endif
"""
_COST: Final = """\
#ifndef AOTENSOR_WITHOUT_CERES
/* {doc} */
class {name}_cost_function final : public ceres::SizedCostFunction<{sizes}> {{
 public:
  {explicit}{name}_cost_function({parameters}) {{{copies}}}

  bool Evaluate(double const *const *parameters, double *residuals, double **jacobians) const override {{
    {data}
    return {name}_ceres({user_data}, const_cast<double **>(parameters), residuals, jacobians) != 0;
  }}
{manifolds}{members}}};
#endif
"""
_FACTOR: Final = """\
#ifdef AOTENSOR_WITH_GTSAM
/* {doc} */
class {name}_factor : public gtsam::NoiseModelFactorN<{types}> {{
 public:
  using Base = gtsam::NoiseModelFactorN<{types}>;

  {name}_factor(
      {parameters})
      : Base(gtsam_model{keys}) {{{copies}}}

  gtsam::NonlinearFactor::shared_ptr clone() const override {{
    return gtsam::NonlinearFactor::shared_ptr(new {name}_factor(*this));
  }}

  gtsam::Vector evaluateError(
      {arguments}) const override {{
    {data}
    gtsam::Vector error({residuals});
    {matrices}
    double *parameters[] = {{{addresses}}};
    double *jacobians[] = {{{targets}}};
    if (!{name}_ceres({user_data}, parameters, error.data(), jacobians)) throw std::runtime_error("{name} failed");
    {results}
    return error;
  }}
{members}}};
#endif
"""
_BREAK: Final = ",\n      "
_MANIFOLDS: Final = {
    "quaternion": "QuaternionManifold", "eigen_quaternion": "EigenQuaternionManifold",
    "sphere": "SphereManifold<{n}>", "line": "LineManifold<{half}>",
}  # fmt: skip

_FILES: Final = {
    "quaternion": "manifold", "eigen_quaternion": "manifold", "sphere": "sphere_manifold", "line": "line_manifold",
}  # fmt: skip
"""Manifold → the header of Ceres that has it."""


def ceres_declarations(manifest: Manifest, interface: InterfaceSpec) -> list[str]:
    """The C prototype of each residual."""
    lines = []
    for residual in _residuals(manifest, interface):
        given = residual.data
        where = (
            f"a const void *[{len(given)}], where {', '.join(x.name for x in given)} are" if given else "not looked at"
        )
        blocks = ", ".join(f"{x.name}[{x.shape[0]}]" for x in residual.blocks)
        lines.append(
            f"/* ceres_cost_function_t of Ceres Solver's C interface, for the parameter blocks {blocks}.\n"
            f" * user_data: {where}. jacobians: row-major, NULL or with NULLs for those that are not wanted.\n"
            " * It returns 1, or 0 for a null pointer and for a check that fails. C++ has classes:"
            f" {manifest.name}_ceres.h */"
        )
        lines.append(prototype("int", residual.spec.name + SUFFIX, _PARAMETERS))
    return ["\n".join(lines)]


def ceres_header(manifest: Manifest) -> str | None:
    """The text of `<library>_ceres.h`; None for a library without this interface."""
    found = next((x for x in manifest.interfaces if x.name == "ceres"), None)
    if found is None:
        return None
    guard = re.sub(r"\W", "_", f"AOTENSOR_LIBRARY_{manifest.name}_CERES_H".upper())
    residuals = list(_residuals(manifest, found))
    manifolds = {x.manifold for residual in residuals for x in residual.blocks} - {""}
    needed = ["sized_cost_function", *sorted({_FILES[x] for x in manifolds})]
    includes = "".join(f"#include <ceres/{name}.h>\n" for name in needed)
    least = " (2.1 or later)" if manifolds else ""
    names = {"library": manifest.name, "version": manifest.aotensor, "guard": guard}
    parts = [_HEAD.format(**names, includes=includes, least=least)]
    for residual in residuals:
        parts.append(residual.cost_function())
        if not any(x.manifold for x in residual.blocks):
            parts.append(residual.factor())
    return "\n".join([*parts, f"#endif /* {guard} */\n"])


def _residuals(manifest: Manifest, interface: InterfaceSpec) -> Iterator[_Residual]:
    for symbol in interface.symbols:
        yield _Residual(manifest.function(symbol.removesuffix(SUFFIX)))


@dataclass
class _Residual:
    """Writes the C++ classes of a residual."""

    spec: FunctionSpec

    @cached_property
    def names(self) -> dict[str, str]:
        """Input name → its name in C."""
        return dict(zip((x.name for x in self.spec.inputs), parameter_names(self.spec), strict=False))

    @property
    def blocks(self) -> list[ArgumentSpec]:
        return [x for x in self.spec.inputs if not x.is_data]

    @property
    def data(self) -> list[ArgumentSpec]:
        return [x for x in self.spec.inputs if x.is_data]

    @property
    def _size(self) -> int | str | None:
        return self.spec.outputs[0].shape[0]

    def cost_function(self) -> str:
        """The text of a class that derives from ceres::SizedCostFunction."""
        sizes = ", ".join(str(n) for n in (self._size, *(x.shape[0] for x in self.blocks)))
        given = [self._parameter(x) for x in self.data]
        return _COST.format(
            doc=self._doc("Parameter blocks"),
            name=self.spec.name,
            sizes=sizes,
            explicit="explicit " if len(given) == 1 else "",
            parameters=", ".join(given),
            manifolds="".join(self._manifold(x) for x in self.blocks if x.manifold),
            **self._storage(),
        )

    def factor(self) -> str:
        """The text of a class that derives from gtsam::NoiseModelFactorN, for vectors."""
        blocks = self.blocks
        types = [f"Eigen::Matrix<double, {x.shape[0]}, 1>" for x in blocks]
        names = [self.names[x.name] for x in blocks]
        pairs = list(zip(types, names, strict=True))
        orders = ["ColMajor" if x.shape[0] == 1 else "RowMajor" for x in blocks]
        matrices = [
            f"Eigen::Matrix<double, {self._size}, {x.shape[0]}, Eigen::{order}> J{k};"
            for k, (x, order) in enumerate(zip(blocks, orders, strict=True))
        ]
        storage = self._storage()
        return _FACTOR.format(
            doc=self._doc("Variables are vectors"),
            name=self.spec.name,
            types=", ".join(types),
            parameters=_BREAK.join([
                "const gtsam::SharedNoiseModel &gtsam_model", *(f"gtsam::Key gtsam_{name}_key" for name in names),
                *(self._parameter(x) for x in self.data),
            ]),
            keys="".join(f", gtsam_{name}_key" for name in names),
            arguments=_BREAK.join([
                *(f"const {kind} &{name}_block" for kind, name in pairs),
                *(f"AOTENSOR_GTSAM_JACOBIAN H{k}" for k in range(len(blocks))),
            ]),
            residuals=self._size,
            matrices="\n    ".join(matrices),
            addresses=", ".join(f"const_cast<double *>({name}_block.data())" for name in names),
            targets=", ".join(f"H{k} ? J{k}.data() : nullptr" for k in range(len(blocks))),
            results="\n    ".join(f"if (H{k}) *H{k} = J{k};" for k in range(len(blocks))),
            **storage,
        )  # fmt: skip

    def _doc(self, kind: str) -> str:
        names = ", ".join(x.name for x in self.blocks)
        note = f" Data, which is copied: {', '.join(x.name for x in self.data)}." if self.data else ""
        return f"{self.spec.name}: {self._size} residuals. {kind}, in order: {names}.{note}"

    def _parameter(self, x: ArgumentSpec) -> str:
        return f"const {C_TYPES[x.dtype]} *{self.names[x.name]}"

    def _manifold(self, x: ArgumentSpec) -> str:
        n = int(x.shape[0])
        kind = _MANIFOLDS[x.manifold].format(n=n, half=n // 2)
        return (
            f"\n  /* For ceres::Problem::SetManifold of {x.name}; the problem owns it. */\n"
            f"  static ceres::Manifold *{self.names[x.name]}_manifold() {{ return new ceres::{kind}(); }}\n"
        )

    def _storage(self) -> dict[str, str]:
        """The texts of members that hold data, and of statements that fill and pass them."""
        if not self.data:
            return {"copies": "", "members": "", "data": "", "user_data": "nullptr"}
        copies, members = [], []
        for x in self.data:
            name, count = self.names[x.name], prod(int(n) for n in x.shape)
            if count:
                copies.append(f"std::memcpy({name}_data_, {name}, sizeof {name}_data_);")
            members.append(f"  {C_TYPES[x.dtype]} {name}_data_[{max(count, 1)}];")
        addresses = ", ".join(f"{self.names[x.name]}_data_" for x in self.data)
        return {
            "copies": "\n    " + "\n    ".join(copies) + "\n  ",
            "members": "\n private:\n" + "\n".join(members) + "\n",
            "data": f"const void *data[] = {{{addresses}}};",
            "user_data": "data",
        }
