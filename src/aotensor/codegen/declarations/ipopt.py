"""C declarations for Ipopt: the problem of each nonlinear program, and its callbacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aotensor_runtime.manifest import InterfaceSpec, Manifest

_COMMON: Final = """\
#ifndef AOTENSOR_IPOPT_PROBLEM
#define AOTENSOR_IPOPT_PROBLEM
/* Include Ipopt's IpStdCInterface.h before this header: its truth values are int before Ipopt 3.14, and bool since. */
#if defined(__IPSTDCINTERFACE_H__) && !defined(IPOPT_CALLCONV)
typedef int aotensor_ipopt_bool;
#else
#include <stdbool.h>
typedef bool aotensor_ipopt_bool;
#endif
typedef aotensor_ipopt_bool (*aotensor_eval_f)(int n, double *x, aotensor_ipopt_bool new_x, double *obj_value,
                                               void *user_data);
typedef aotensor_ipopt_bool (*aotensor_eval_g)(int n, double *x, aotensor_ipopt_bool new_x, int m, double *g,
                                               void *user_data);
typedef aotensor_ipopt_bool (*aotensor_eval_grad_f)(int n, double *x, aotensor_ipopt_bool new_x, double *grad_f,
                                                    void *user_data);
typedef aotensor_ipopt_bool (*aotensor_eval_jac_g)(int n, double *x, aotensor_ipopt_bool new_x, int m, int nele_jac,
                                                   int *iRow, int *jCol, double *values, void *user_data);
typedef aotensor_ipopt_bool (*aotensor_eval_h)(int n, double *x, aotensor_ipopt_bool new_x, double obj_factor, int m,
                                               double *lambda, aotensor_ipopt_bool new_lambda, int nele_hess,
                                               int *iRow, int *jCol, double *values, void *user_data);
typedef struct aotensor_ipopt_problem {
  int32_t n, m, nele_jac, nele_hess;   /* of variables, constraints, entries of the Jacobian, of the lower triangle */
  int32_t index_style, reserved;       /* 0: rows and columns count from 0 */
  aotensor_eval_f eval_f;              /* callbacks in the order of CreateIpoptProblem */
  aotensor_eval_g eval_g;
  aotensor_eval_grad_f eval_grad_f;
  aotensor_eval_jac_g eval_jac_g;
  aotensor_eval_h eval_h;              /* NULL if there are no second derivatives */
  const char *message;                 /* why a callback returned false */
} aotensor_ipopt_problem;
#endif"""
_CREATE: Final = """\
/* What CreateIpoptProblem takes of {name}. The result is also the user_data of IpoptSolve, for one thread at a time.
 * user_data: {given}
 * NULL without memory{missing}. */
aotensor_ipopt_problem *{name}_ipopt_problem(const double *const *user_data);

/* Free it; nothing for NULL. */
void {name}_ipopt_free(aotensor_ipopt_problem *problem);"""
_CALLBACKS: Final = {
    "eval_f": "double *obj_value",
    "eval_g": "int m, double *g",
    "eval_grad_f": "double *grad_f",
    "eval_jac_g": "int m, int nele_jac, int *iRow, int *jCol, double *values",
    "eval_h": "double obj_factor, int m, double *lambda, aotensor_ipopt_bool new_lambda, int nele_hess,\n"
    "    int *iRow, int *jCol, double *values",
}
"""Callback → its arguments between new_x and user_data."""


def ipopt_declarations(manifest: Manifest, interface: InterfaceSpec) -> list[str]:
    """The C types, then the macros and prototypes of every program."""
    found = [_COMMON]
    for symbol in interface.symbols:
        name = symbol.removesuffix("_ipopt_problem")
        if name != symbol:
            found.append(_program(manifest, name, interface.symbols))
    return found


def _program(manifest: Manifest, name: str, symbols: Sequence[str]) -> str:
    spec = manifest.function(f"{name}_point")
    n, m = spec.inputs[0].shape[0], spec.outputs[1].shape[0]
    parameters = [value.name for value in spec.arguments[1:]]
    given = (
        f"where the values of {', '.join(parameters)} are; they are read in every evaluation."
        if parameters
        else "NULL."
    )
    missing = ", or without one of these" if parameters else ""
    lines = [f"#define {name.upper()}_IPOPT_N {n}", f"#define {name.upper()}_IPOPT_M {m}"]
    lines += ["", _CREATE.format(name=name, given=given, missing=missing), "", "/* The callbacks of such a problem. */"]
    for callback, middle in _CALLBACKS.items():
        if f"{name}_{callback}" in symbols:
            head = f"aotensor_ipopt_bool {name}_{callback}(int n, double *x, aotensor_ipopt_bool new_x,"
            lines.append(f"{head}\n    {middle}, void *user_data);")
    return "\n".join(lines)
