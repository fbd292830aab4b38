"""Notation of ops in messages: as operators, as the function that a user would call, or left out.

Messages never show the IR names of ops, since users do not know many of them.
"""

from __future__ import annotations

from typing import Final

INFIX: Final = {
    "pow": ("**", 90), "mul": ("*", 80), "true_div": ("/", 80), "int_div": ("//", 80), "mod": ("%", 80),
    "sparse_dot": ("@", 80), "structured_dot": ("@", 80), "true_dot": ("@", 80), "multiply_triangular": ("@", 80),
    "add": ("+", 70), "add_s_s": ("+", 70), "add_s_d": ("+", 70), "sub": ("-", 70), "mul_s_s": ("*", 80),
    "mul_s_d": ("*", 80), "mul_s_v": ("*", 80), "div_s_d": ("/", 80), "and_": ("&", 60), "xor": ("^", 55),
    "left_shift": ("<<", 65), "right_shift": (">>", 65), "or_": ("|", 50), "lt": ("<", 40), "le": ("<=", 40),
    "gt": (">", 40), "ge": (">=", 40), "mod_s_s": ("%", 80), "int_div_s_s": ("//", 80), "and_s_s": ("&", 60),
    "xor_s_s": ("^", 55), "or_s_s": ("|", 50), "left_shift_s_s": ("<<", 65), "right_shift_s_s": (">>", 65),
}  # fmt: skip
"""Op → (operator, precedence)."""

PREFIX: Final = {"neg": "-", "sparse_neg": "-", "invert": "~"}

TRANSPARENT: Final = frozenset({
    "cast", "sparse_cast", "fitting", "specify_shape", "identity", "sparse_copy", "checked_structure", "canonical",
    "ascending", "nonempty", "parameter", "dense_from_sparse", "converged", "agreeing", "stored_everywhere",
    "shared_entries", "counted", "divided", "check", "held", "holomorphic_view", "linear_view", "position_inside",
    "as_pairs", "of_pairs", "demand", "square_starts", "position_from_start", "times_in_span",
})  # fmt: skip
"""Ops that are printed as their first operand."""

CALLS: Final = {
    "Lapack": "linalg",
    "adjugate": "grad(det({0}))", "adjugate_tangent": "grad(det({0}))", "alloc_diagonal": "diag({0})",
    "block_product": "dot", "branch": "ifelse", "cholesky_factors": "cholesky({0})",
    "cholesky_pivots": "cholesky({0}).D", "cholesky_pullback": "grad({0})",
    "cholesky_solve": "solve({0}, {2})", "conv1d": "conv1d({0}, {1})", "conv1d_filters": "grad(conv1d({0}, ...))",
    "conv1d_input": "convolve({1}, {0})", "conv2d": "conv2d({0}, {1})", "conv2d_filters": "grad(conv2d({0}, ...))",
    "conv2d_input": "convolve2d({1}, {0})", "conv3d": "conv3d({0}, {1})", "conv3d_filters": "grad(conv3d({0}, ...))",
    "conv3d_input": "grad(conv3d(..., {0}))", "dft": "fft({0})",
    "real_dft": "rfft({0})", "of_half_dft": "irfft({0})", "elimination_order": "lu_factor({0}).order",
    "expand_slices": "repeat({0}, diff({1}))", "extract_diagonal": "diagonal", "extremum_mask": "eq",
    "length": "norm({0})", "unit_vector": "grad(norm({0}))",
    "leading": "argtopk", "linear_recurrence": "scan", "lu_factors": "lu_factor({0})", "lu_permutation": "lu({0})",
    "matrix_shape": "({0}, {1})", "op_from_graph": "OpFromGraph", "other_format": "transpose",
    "pattern": "csr_matrix(({0}, {1}))", "permute_along_axis": "take_along_axis", "philox": "integers",
    "positions_in": "searchsorted({2}, {0})", "prod_without_zeros": "prod", "product_pattern": "true_dot",
    "product_values": "true_dot", "scatter_elements": "csr_matrix", "scatter_matrix": "csr_matrix",
    "ranked": "argpartition", "rounded": "cast", "search_step": "searchsorted",
    "segment_sum": "add.reduceat({0}, {1})", "shift": "roll", "solve_banded": "solve({0}, {1})",
    "sparse_block_diagonal": "block_diag",
    "imaginary": "complex(0, {0})", "sparse_conj": "conj", "sparse_imag": "imag", "sparse_real": "real",
    "sparse_cholesky_solve": "cho_solve(..., {0})", "sparse_diag": "diag", "sparse_direct_solve": "spsolve",
    "sparse_from_dense": "csr_from_dense", "sparse_grad_rows": "get_item_list_grad",
    "sparse_half_solve": "solve_triangular(..., {0})", "sparse_log_determinants": "slogdet({0})",
    "sparse_precision_draws": "precision_draws({0}, {3})", "sparse_selected_inverse": "selected_inverse({0})",
    "selected_entries": "selected_inverse({3})",
    "sparse_lu_solve": "lu_solve(..., {0})", "sparse_solve": "solve", "sparse_solve_triangular": "solve_triangular",
    "squared_deviations": "({0} - mean({0}))**2", "structured_dot_grad_csc": "structured_dot_grad",
    "structured_dot_grad_csr": "structured_dot_grad", "union": "union1d", "usmm_csc_dense": "usmm",
    "intersection": "multiply", "slice_range": "arange", "sparse_triangle": "tril",
    "beta_density": "grad(betainc({0}, {1}, {2}))", "erfcx_order": "grad(erfcx({0}))",
    "angle_slope": "grad(arctan2({0}, {1}))", "arccosh_slope": "grad(arccosh({0}))",
    "arcsinh_slope": "grad(arcsinh({0}))", "arctan_slope": "grad(arctan({0}))", "bose": "grad(log1mexp({0}))",
    "gauss": "grad(erf({0}))", "half_gauss": "grad(erf({0}))", "hypot_slope": "grad(hypot({0}, {1}))",
    "gamma_density": "grad(gammainc({0}, {1}))", "gamma_power": "grad(gammal({0}, {1}))",
    "beta_fall": "({2} * (psi({0} + {1}) - psi({0})))", "psi_growth": "(psi({0} + {1}) - psi({0}))",
    "tri_gamma_fall": "(polygamma(1, {0}) - polygamma(1, {0} + {1}))", "gompertz": "grad(exp(-exp({0})))",
    "log_cosh": "log(cosh({0}))", "log1p_square": "log1p(({0})**2)", "arctan_quotient": "(arctan({0}) / ({0}))",
    "arcsin_quotient": "(arcsin({0}) / ({0}))", "arcsinh_quotient": "(arcsinh({0}) / ({0}))",
    "arctanh_quotient": "(arctanh({0}) / ({0}))", "erf_quotient": "(erf({0}) / ({0}))",
    "tan_quotient": "(tan({0}) / ({0}))", "versine": "(1 - cos({0}))", "cosh_less_one": "(cosh({0}) - 1)",
    "root_of_one_plus_square": "sqrt(1 + ({0})**2)", "direction": "(({0}) / sqrt(1 + ({0})**2))",
    "root_of_one_plus_square_less_one": "(sqrt(1 + ({0})**2) - 1)", "sqrt1pm1": "(sqrt(1 + ({0})) - 1)",
    "share_of_square": "(({0})**2 / (1 + ({0})**2))", "on_pattern": "{0}",
    "expm1_quotient": "(expm1({0}) / ({0}))", "log1p_quotient": "(log1p({0}) / ({0}))",
    "sin_quotient": "(sin({0}) / ({0}))", "sinh_quotient": "(sinh({0}) / ({0}))",
    "tanh_quotient": "(tanh({0}) / ({0}))", "sech": "(1 / cosh({0}))", "csch": "(1 / sinh({0}))",
    "inverse_mills": "grad(log_ndtr({0}))", "logistic_density": "grad(sigmoid({0}))", "one_like": "ones_like",
    "root_of_square": "abs", "sech_squared": "grad(tanh({0}))", "tanh_half": "(2 * sigmoid({0}) - 1)",
    "copysign": "(abs({0}) * sign({1}))", "gap_to_one": "(1 - ({0})**2)", "not_taken": "(({1}) - ({0}))",
    "softsign": "(({0}) / (1 + abs({0})))", "softsign_root": "(1 / (1 + abs({0})))", "span_below": "(({1}) - ({0}))",
    "span_up_to": "(({1}) - ({0}))", "times_rest": "(({0}) * (1 - ({0})))",
}  # fmt: skip
"""Op → the public function that it belongs to, or a format string with its operands' texts."""
