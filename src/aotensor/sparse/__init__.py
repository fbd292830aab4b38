"""Sparse symbols and ops: users' names, no logic."""

# ruff: noqa: I001, RUF022  (names stand side by side, to be read at a glance)
# fmt: off

from __future__ import annotations

from aotensor.graph.sparse_type import (
    SparseConstant, SparseTensorSharedVariable, SparseTensorType, SparseVariable,
)
from aotensor.sparse.csm import CSC, CSM, CSR, CSMProperties
from aotensor.sparse.op import as_sparse, as_sparse_or_tensor, as_sparse as as_sparse_variable
from aotensor.sparse.products import Dot, StructuredDot, dot, structured_dot
from aotensor.sparse.sampling import (
    SamplingDot, StructuredDotGradCSC, StructuredDotGradCSR, sampling_dot, sdg_csc, sdg_csr, structured_dot_grad,
)
from aotensor.sparse.symbols import (
    all_dtypes, complex_dtypes, constant, continuous_dtypes, csc_dmatrix, csc_fmatrix, csc_matrix, csr_dmatrix,
    csr_fmatrix, csr_matrix, discrete_dtypes, float_dtypes, int_dtypes, integer_dtypes, matrix, shared,
    sparse_formats, uint_dtypes,
)
from aotensor.sparse.usmm import Usmm, UsmmCscDense, usmm

__all__ = [
    "CSC", "CSM", "CSMProperties", "CSR", "Dot", "SamplingDot", "SparseConstant", "SparseTensorSharedVariable",
    "SparseTensorType", "SparseVariable", "StructuredDot", "StructuredDotGradCSC", "StructuredDotGradCSR", "Usmm",
    "UsmmCscDense", "all_dtypes", "as_sparse", "as_sparse_or_tensor", "as_sparse_variable", "complex_dtypes",
    "constant", "continuous_dtypes", "csc_dmatrix", "csc_fmatrix", "csc_matrix", "csr_dmatrix", "csr_fmatrix",
    "csr_matrix", "discrete_dtypes", "dot", "float_dtypes", "int_dtypes", "integer_dtypes", "matrix",
    "sampling_dot", "sdg_csc", "sdg_csr", "shared", "sparse_formats", "structured_dot", "structured_dot_grad",
    "uint_dtypes", "usmm",
]
