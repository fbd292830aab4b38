"""Sparse symbols and ops: users' names, no logic."""

# ruff: noqa: I001, RUF022  (names stand side by side, to be read at a glance)
# fmt: off

from __future__ import annotations

from aotensor.graph.sparse_type import (
    SparseConstant, SparseConstantSignature, SparseTensorSharedVariable, SparseTensorType, SparseVariable,
)
from aotensor.sparse.convert import (
    DenseFromSparse, SparseFromDense, Transpose, csc_from_dense, csr_from_dense, dense_from_sparse, transpose,
)
from aotensor.sparse.create import (
    csm_data, csm_indices, csm_indptr, csm_properties, csm_shape, sp_ones_like, sp_zeros_like,
)
from aotensor.sparse.csm import CSC, CSM, CSMProperties, CSR
from aotensor.sparse.diagonal import Diag, SquareDiagonal, diag, square_diagonal
from aotensor.sparse.op import (
    as_sparse, as_sparse_or_tensor, as_sparse_or_tensor as as_sparse_or_tensor_variable, as_sparse as
    as_sparse_variable, as_sparse_or_tensor as as_symbolic,
)
from aotensor.sparse.products import Dot, StructuredDot, dot, structured_dot
from aotensor.sparse.sampling import (
    SamplingDot, StructuredDotGradCSC, StructuredDotGradCSR, sampling_dot, sdg_csc, sdg_csr, structured_dot_grad,
)
from aotensor.sparse.reformat import Cast, bcast, cast, ccast, dcast, fcast, icast, lcast, wcast, zcast
from aotensor.sparse.symbols import (
    all_dtypes, bsr_dmatrix, bsr_fmatrix, bsr_matrix, complex_dtypes, constant, continuous_dtypes, csc_dmatrix,
    csc_fmatrix, csc_matrix, csr_dmatrix, csr_fmatrix, csr_matrix, discrete_dtypes, float_dtypes, int_dtypes,
    integer_dtypes, matrix, shared, sparse_constructor, sparse_formats, uint_dtypes,
)
from aotensor.sparse.true_dot import TrueDot, true_dot
from aotensor.sparse.usmm import Usmm, UsmmCscDense, usmm

__all__ = [
    "CSC", "CSM", "CSMProperties", "CSR", "Cast", "DenseFromSparse", "Diag", "Dot", "SamplingDot",
    "SparseConstant", "SparseConstantSignature", "SparseFromDense", "SparseTensorSharedVariable",
    "SparseTensorType", "SparseVariable", "SquareDiagonal", "StructuredDot", "StructuredDotGradCSC",
    "StructuredDotGradCSR", "Transpose", "TrueDot", "Usmm", "UsmmCscDense", "all_dtypes", "as_sparse",
    "as_sparse_or_tensor", "as_sparse_or_tensor_variable", "as_sparse_variable", "as_symbolic", "bcast",
    "bsr_dmatrix", "bsr_fmatrix", "bsr_matrix", "cast", "ccast", "complex_dtypes", "constant", "continuous_dtypes",
    "csc_dmatrix", "csc_fmatrix", "csc_from_dense", "csc_matrix", "csm_data", "csm_indices", "csm_indptr",
    "csm_properties", "csm_shape", "csr_dmatrix", "csr_fmatrix", "csr_from_dense", "csr_matrix", "dcast",
    "dense_from_sparse", "diag", "discrete_dtypes", "dot", "fcast", "float_dtypes", "icast", "int_dtypes",
    "integer_dtypes", "lcast", "matrix", "sampling_dot", "sdg_csc", "sdg_csr", "shared", "sp_ones_like",
    "sp_zeros_like", "sparse_constructor", "sparse_formats", "square_diagonal", "structured_dot",
    "structured_dot_grad", "transpose", "true_dot", "uint_dtypes", "usmm", "wcast", "zcast",
]
