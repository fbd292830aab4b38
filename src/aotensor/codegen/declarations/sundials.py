"""C declarations for SUNDIALS: macros and prototypes of each right-hand side."""

from __future__ import annotations

from typing import Final

from aotensor.codegen.declarations.text import prototype
from aotensor_runtime.manifest import InterfaceSpec, Manifest

_COMMON: Final = """\
#if defined(SUNDIALS_SINGLE_PRECISION) || defined(SUNDIALS_EXTENDED_PRECISION)
#error "this library computes with double, as SUNDIALS does if it is built with SUNDIALS_DOUBLE_PRECISION"
#endif
struct _generic_N_Vector;
struct _generic_SUNMatrix;"""
_VECTOR: Final = "struct _generic_N_Vector *"
_MATRIX: Final = "struct _generic_SUNMatrix *"
_PROTOTYPES: Final = {
    "cv_rhs": ("CVRhsFn", "double t, V y, V ydot, void *user_data"),
    "cv_jac": ("CVLsJacFn, for a sparse matrix by rows or by columns",
               "double t, V y, V fy, M Jac, void *user_data, V tmp1, V tmp2, V tmp3"),
    "cv_jac_dense": ("CVLsJacFn, for a dense matrix",
                     "double t, V y, V fy, M Jac, void *user_data, V tmp1, V tmp2, V tmp3"),
    "cv_jtimes": ("CVLsJacTimesVecFn", "V v, V Jv, double t, V y, V fy, void *user_data, V tmp"),
    "cv_rhs_b": ("CVRhsFnB: -(df/dy)^T yB; subtract the gradient of an integrand of yours",
                 "double t, V y, V yB, V yBdot, void *user_dataB"),
    "cv_quad_rhs_b": ("CVQuadRhsFnB: (df/dp)^T yB", "double t, V y, V yB, V qBdot, void *user_dataB"),
    "cv_sens_rhs": ("CVSensRhsFn, of the first Ns elements of the parameters",
                    "int Ns, double t, V y, V ydot, V *yS, V *ySdot, void *user_data, V tmp1, V tmp2"),
    "cv_jac_b": (
        "CVLsJacFnB, for a sparse matrix by rows or by columns: -(df/dy)^T",
        "double t, V y, V yB, V fyB, M JacB, void *user_dataB, V tmp1B, V tmp2B, V tmp3B",
    ),
    "cv_jac_b_dense": (
        "CVLsJacFnB, for a dense matrix: -(df/dy)^T",
        "double t, V y, V yB, V fyB, M JacB, void *user_dataB, V tmp1B, V tmp2B, V tmp3B",
    ),
    "ida_res": ("IDAResFn: yp - f", "double tt, V yy, V yp, V rr, void *user_data"),
    "ida_jac": ("IDALsJacFn, for a sparse matrix by rows or by columns",
                "double t, double c_j, V y, V yp, V r, M Jac, void *user_data, V tmp1, V tmp2, V tmp3"),
    "ida_jac_dense": ("IDALsJacFn, for a dense matrix",
                      "double t, double c_j, V y, V yp, V r, M Jac, void *user_data, V tmp1, V tmp2, V tmp3"),
    "ida_jtimes": ("IDALsJacTimesVecFn",
                   "double tt, V yy, V yp, V rr, V v, V Jv, double c_j, void *user_data, V tmp1, V tmp2"),
}  # fmt: skip
"""Suffix of a function's name → SUNDIALS' type, and the parameters: V a vector, M a matrix."""


def sundials_declarations(manifest: Manifest, interface: InterfaceSpec) -> list[str]:
    """The C types, then the macros and prototypes of every right-hand side."""
    found = [_COMMON]
    for symbol in interface.symbols:
        name = symbol.removesuffix("_cv_rhs")
        if name != symbol:
            found.append(_model(manifest, interface, name))
    return found


def _model(manifest: Manifest, interface: InterfaceSpec, name: str) -> str:
    spec = manifest.function(name)
    known = {one.name: one for one in manifest.functions}
    lines = [f"#define {name.upper()}_SUNDIALS_N {spec.inputs[1].shape[0]}"]
    if f"{name}_jacobian" in known:
        entries = known[f"{name}_jacobian"].outputs[0].shape[0]
        lines.append(f"#define {name.upper()}_SUNDIALS_NNZ {entries} /* entries of the Jacobian, with the diagonal */")
    if f"{name}_quadrature" in known:
        lines.append(f"#define {name.upper()}_SUNDIALS_NP {known[f'{name}_quadrature'].outputs[0].shape[0]}")
    given = [value.name for value in spec.arguments[2:]]
    where = f"a const double *[{len(given)}], where {', '.join(given)} are" if given else "not looked at"
    lines.append(f"\n/* User functions of SUNDIALS 6 and 7. user_data: {where}. They return 0, 1 if a value is not")
    lines.append(" * finite, and -1 for anything else. */")
    for suffix, (kind, parameters) in _PROTOTYPES.items():
        if f"{name}_{suffix}" in interface.symbols:
            words = parameters.replace("V *", f"{_VECTOR}*").replace("V ", _VECTOR).replace("M ", _MATRIX)
            lines += [f"\n/* {kind} */", prototype("int", f"{name}_{suffix}", words.split(", "))]
    return "\n".join(lines)
