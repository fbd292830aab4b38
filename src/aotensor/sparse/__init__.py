"""Sparse symbols and ops: users' names, no logic."""

# ruff: noqa: I001, RUF022  (names stand side by side, to be read at a glance)
# fmt: off

from __future__ import annotations

from aotensor.graph.operations import sparse_checks as _sparse_checks
from aotensor.graph.sparse_type import (
    SparseConstant, SparseConstantSignature, SparseTensorSharedVariable, SparseTensorType, SparseVariable,
)
from aotensor.sparse.arithmetic.add import (
    AddSD, AddSS, AddSSData, Neg, StructuredAddSV, add, add_s_d, add_s_s, add_s_s_data, neg, structured_add_s_v,
    sub, subtract,
)
from aotensor.sparse.arithmetic.compare import (
    EqualSD, EqualSS, GreaterEqualSD, GreaterEqualSS, GreaterThanSD, GreaterThanSS, LessEqualSD, LessEqualSS,
    LessThanSD, LessThanSS, NotEqualSD, NotEqualSS, eq, equal_s_d, equal_s_s, ge, greater_equal_s_d,
    greater_equal_s_s, greater_than_s_d, greater_than_s_s, gt, le, less_equal_s_d, less_equal_s_s, less_than_s_d,
    less_than_s_s, lt, neq, not_equal_s_d, not_equal_s_s,
)
from aotensor.sparse.arithmetic.complex import conj, conjugate, imag, real, structured_conjugate
from aotensor.sparse.arithmetic.dispatch import sparse_counterpart, sparse_div, sparse_power
from aotensor.sparse.arithmetic.extremum import SpExtremum, sparse_max, sparse_min
from aotensor.sparse.arithmetic.multiply import (
    ColScaleCSC, DivSD, MulSD, MulSS, MulSV, RowScaleCSC, SparseDenseMultiply, SparseDenseVectorMultiply,
    SparseSparseMultiply, col_scale, mul, mul_s_d, mul_s_s, mul_s_v, multiply, row_scale,
)
from aotensor.sparse.arithmetic.structured_functions import (
    StructuredElemwise, abs, arcsin, arcsinh, arctan, arctanh, ceil, deg2rad, expm1, floor, log1p,
    rad2deg, rint, sgn, sign, sin, sinh, sqr, sqrt, square, structured_abs, structured_add, structured_arcsin,
    structured_arcsinh, structured_arctan, structured_arctanh, structured_ceil, structured_deg2rad,
    structured_elemwise, structured_exp, structured_expm1, structured_floor, structured_log,
    structured_log1p, structured_maximum, structured_minimum, structured_monoid, structured_pow, structured_rad2deg,
    structured_rint, structured_sgn, structured_sigmoid, structured_sign, structured_sin, structured_sinh,
    structured_sqr, structured_sqrt, structured_square, structured_tan, structured_tanh, structured_trunc, tan,
    tanh, trunc,
)
from aotensor.sparse.arithmetic.sums import SpSum, sp_sum, sparse_mean
from aotensor.sparse.construct.cleanup import (
    EliminateZeros, EnsureSortedIndices, Remove0, clean, eliminate_zeros, ensure_sorted_indices, remove0,
)
from aotensor.sparse.construct.create import (
    CSMGrad, ConstructSparseFromList, construct_sparse_from_list, csm_data, csm_grad, csm_indices, csm_indptr,
    csm_properties, csm_shape, sp_ones_like, sp_zeros_like,
)
from aotensor.sparse.construct.diagonal import Diag, SquareDiagonal, diag, square_diagonal
from aotensor.sparse.construct.stack import HStack, SparseBlockDiagonal, Stack, VStack, block_diag, hstack, vstack
from aotensor.sparse.construct.triangle import SparseTriangle, tril, triu
from aotensor.sparse.convert import (
    DenseFromSparse, SparseFromDense, Transpose, bsr_from_dense, csc_from_dense, csr_from_dense, dense_from_sparse,
    transpose,
)
from aotensor.sparse.csm import BSR, CSC, CSM, CSMProperties, CSR
from aotensor.sparse.index.elements import GetItem2Lists, ScatterElements as GetItem2ListsGrad, GetItemScalar
from aotensor.sparse.index.getitem import (
    get_item_2d, get_item_2lists, get_item_2lists_grad, get_item_list, get_item_list_grad, get_item_scalar,
)
from aotensor.sparse.index.rows import SparseGradRows, sparse_grad
from aotensor.sparse.index.windows import (
    Submatrix as GetItem2d, Submatrix as GetItemList, ScatterMatrix as GetItemListGrad,
)
from aotensor.sparse.linear.direct import DirectSolve
from aotensor.sparse.linear.fields import (
    Cholesky, LogDeterminants, PrecisionDraws, SelectedInverse, Slogdet, cholesky, precision_draws, selected_inverse,
    slogdet,
)
from aotensor.sparse.linear.solve import SparseSolve, cg, solve, spsolve
from aotensor.sparse.linear.triangular import SparseTriangularSolve, solve_triangular, spsolve_triangular
from aotensor.sparse.op import (
    as_sparse, as_sparse_or_tensor, as_sparse_or_tensor as as_sparse_or_tensor_variable, as_sparse as
    as_sparse_variable, as_sparse_or_tensor as as_symbolic,
)
from aotensor.sparse.product.accumulate import Usmm, UsmmCscDense, usmm
from aotensor.sparse.product.dots import Dot, StructuredDot, dot, structured_dot
from aotensor.sparse.product.sampling import (
    SamplingDot, StructuredDotGradCSC, StructuredDotGradCSR, sampling_dot, sdg_csc, sdg_csr, structured_dot_grad,
)
from aotensor.sparse.product.sparse_result import TrueDot, true_dot
from aotensor.sparse.random.draws import (
    Binomial, Multinomial, Poisson, csc_dbinomial, csc_fbinomial, csr_dbinomial, csr_fbinomial, multinomial,
    poisson,
)
from aotensor.sparse.reformat import Cast, bcast, cast, ccast, dcast, fcast, icast, lcast, wcast, zcast
from aotensor.sparse.symbols import (
    all_dtypes, bsr_dmatrix, bsr_fmatrix, bsr_matrix, complex_dtypes, constant, continuous_dtypes, csc_dmatrix,
    csc_fmatrix, csc_matrix, csr_dmatrix, csr_fmatrix, csr_matrix, discrete_dtypes, float_dtypes, int_dtypes,
    integer_dtypes, matrix, shared, sparse_constructor, sparse_formats, uint_dtypes,
)
from typing import Any

__all__ = [
    "AddSD", "AddSS", "AddSSData", "BSR", "Binomial", "CSC", "CSM", "CSMGrad", "CSMProperties", "CSR", "Cast",
    "Cholesky", "ColScaleCSC", "ConstructSparseFromList", "DenseFromSparse", "Diag", "DirectSolve", "DivSD", "Dot",
    "EliminateZeros", "EnsureSortedIndices", "EqualSD", "EqualSS", "GetItem2Lists", "GetItem2ListsGrad", "GetItem2d",
    "GetItemList", "GetItemListGrad", "GetItemScalar", "GreaterEqualSD", "GreaterEqualSS", "GreaterThanSD",
    "GreaterThanSS", "HStack", "LessEqualSD", "LessEqualSS", "LessThanSD", "LessThanSS", "LogDeterminants", "MulSD",
    "MulSS", "MulSV", "Multinomial", "Neg", "NotEqualSD", "NotEqualSS", "Poisson", "PrecisionDraws", "Remove0",
    "RowScaleCSC", "SamplingDot", "SelectedInverse", "Slogdet", "SpExtremum", "SpSum", "SparseBlockDiagonal",
    "SparseConstant", "SparseConstantSignature", "SparseDenseMultiply", "SparseDenseVectorMultiply", "SparseFromDense",
    "SparseGradRows", "SparseSolve", "SparseSparseMultiply", "SparseTensorSharedVariable", "SparseTensorType",
    "SparseTriangle", "SparseTriangularSolve", "SparseVariable", "SquareDiagonal", "Stack", "StructuredAddSV",
    "StructuredDot", "StructuredDotGradCSC", "StructuredDotGradCSR", "StructuredElemwise", "Transpose", "TrueDot",
    "Usmm", "UsmmCscDense", "VStack", "abs", "add", "add_s_d", "add_s_s", "add_s_s_data", "all_dtypes", "arcsin",
    "arcsinh", "arctan", "arctanh", "as_sparse", "as_sparse_or_tensor", "as_sparse_or_tensor_variable",
    "as_sparse_variable", "as_symbolic", "bcast", "block_diag", "bsr_dmatrix", "bsr_fmatrix", "bsr_from_dense",
    "bsr_matrix", "cast", "ccast", "ceil", "cg", "cholesky", "clean", "col_scale", "complex_dtypes", "conj",
    "conjugate", "constant", "construct_sparse_from_list", "continuous_dtypes", "csc_dbinomial", "csc_dmatrix",
    "csc_fbinomial", "csc_fmatrix", "csc_from_dense", "csc_matrix", "csm_data", "csm_grad", "csm_indices",
    "csm_indptr", "csm_properties", "csm_shape", "csr_dbinomial", "csr_dmatrix", "csr_fbinomial", "csr_fmatrix",
    "csr_from_dense", "csr_matrix", "dcast", "deg2rad", "dense_from_sparse", "diag", "discrete_dtypes", "dot",
    "eliminate_zeros", "ensure_sorted_indices", "eq", "equal_s_d", "equal_s_s", "expm1", "fcast", "float_dtypes",
    "floor", "ge", "get_item_2d", "get_item_2lists", "get_item_2lists_grad", "get_item_list", "get_item_list_grad",
    "get_item_scalar", "greater_equal_s_d", "greater_equal_s_s", "greater_than_s_d", "greater_than_s_s", "gt",
    "hstack", "icast", "imag", "int_dtypes", "integer_dtypes", "lcast", "le", "less_equal_s_d", "less_equal_s_s",
    "less_than_s_d", "less_than_s_s", "log1p", "lt", "matrix", "mul", "mul_s_d", "mul_s_s", "mul_s_v", "multinomial",
    "multiply", "neg", "neq", "not_equal_s_d", "not_equal_s_s", "poisson", "precision_draws", "rad2deg", "real",
    "remove0", "rint", "row_scale", "sampling_dot", "sdg_csc", "sdg_csr", "selected_inverse", "sgn", "shared", "sign",
    "sin", "sinh", "slogdet", "solve", "solve_triangular", "sp_ones_like", "sp_sum", "sp_zeros_like",
    "sparse_constructor", "sparse_counterpart", "sparse_div", "sparse_formats", "sparse_grad", "sparse_max",
    "sparse_mean", "sparse_min", "sparse_power", "sparse_random_inputs", "spsolve", "spsolve_triangular", "sqr",
    "sqrt", "square", "square_diagonal", "structured_abs", "structured_add", "structured_add_s_v", "structured_arcsin",
    "structured_arcsinh", "structured_arctan", "structured_arctanh", "structured_ceil", "structured_conjugate",
    "structured_deg2rad", "structured_dot", "structured_dot_grad", "structured_elemwise", "structured_exp",
    "structured_expm1", "structured_floor", "structured_log", "structured_log1p", "structured_maximum",
    "structured_minimum", "structured_monoid", "structured_pow", "structured_rad2deg", "structured_rint",
    "structured_sgn", "structured_sigmoid", "structured_sign", "structured_sin", "structured_sinh", "structured_sqr",
    "structured_sqrt", "structured_square", "structured_tan", "structured_tanh", "structured_trunc", "sub", "subtract",
    "tan", "tanh", "transpose", "tril", "triu", "true_dot", "trunc", "uint_dtypes", "usmm", "verify_grad_sparse",
    "vstack", "wcast", "zcast",
]


def __getattr__(name: str) -> Any:
    """Look up names of functions that need gradients, which are defined in later layers."""
    if name == "sparse_random_inputs":
        return _sparse_checks.sparse_random_inputs
    if name == "verify_grad_sparse":
        return _sparse_checks.verify_grad_sparse
    raise AttributeError(f"module 'aotensor.sparse' has no attribute {name!r}")
