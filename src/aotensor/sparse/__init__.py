"""Sparse symbols and ops: users' names, no logic."""

# ruff: noqa: I001, RUF022  (names stand side by side, to be read at a glance)
# fmt: off

from __future__ import annotations

from aotensor.graph.sparse_type import (
    SparseConstant, SparseConstantSignature, SparseTensorSharedVariable, SparseTensorType, SparseVariable,
)
from aotensor.sparse import sample as _sample, vectors as _vectors  # noqa: F401  (found by name)
from aotensor.sparse.convert import (
    DenseFromSparse, SparseFromDense, Transpose, csc_from_dense, csr_from_dense, dense_from_sparse, transpose,
)
from aotensor.sparse.create import (
    csm_data, csm_indices, csm_indptr, csm_properties, csm_shape, sp_ones_like, sp_zeros_like,
)
from aotensor.sparse.csm import CSC, CSM, CSMProperties, CSR
from aotensor.sparse.diagonal import Diag, SquareDiagonal, diag, square_diagonal
from aotensor.sparse.index.elements import GetItem2Lists, GetItemScalar, PlacedElements as GetItem2ListsGrad
from aotensor.sparse.index.getitem import (
    get_item_2d, get_item_2lists, get_item_2lists_grad, get_item_list, get_item_list_grad, get_item_scalar,
)
from aotensor.sparse.index.windows import (
    PlacedMatrix as GetItemListGrad, Submatrix as GetItem2d, Submatrix as GetItemList,
)
from aotensor.sparse.op import (
    as_sparse, as_sparse as as_sparse_variable, as_sparse_or_tensor, as_sparse_or_tensor as
    as_sparse_or_tensor_variable, as_sparse_or_tensor as as_symbolic,
)
from aotensor.sparse.products import Dot, StructuredDot, dot, structured_dot
from aotensor.sparse.reformat import Cast, bcast, cast, ccast, dcast, fcast, icast, lcast, wcast, zcast
from aotensor.sparse.symbols import (
    all_dtypes, bsr_dmatrix, bsr_fmatrix, bsr_matrix, complex_dtypes, constant, continuous_dtypes, csc_dmatrix,
    csc_fmatrix, csc_matrix, csr_dmatrix, csr_fmatrix, csr_matrix, discrete_dtypes, float_dtypes, int_dtypes,
    integer_dtypes, matrix, shared, sparse_constructor, sparse_formats, uint_dtypes,
)

__all__ = [
    "CSC", "CSM", "CSMProperties", "CSR", "Cast", "DenseFromSparse", "Diag", "Dot", "GetItem2Lists",
    "GetItem2ListsGrad", "GetItem2d", "GetItemList", "GetItemListGrad", "GetItemScalar", "SparseConstant",
    "SparseConstantSignature", "SparseFromDense", "SparseTensorSharedVariable", "SparseTensorType", "SparseVariable",
    "SquareDiagonal", "StructuredDot", "Transpose", "all_dtypes", "as_sparse", "as_sparse_or_tensor",
    "as_sparse_or_tensor_variable", "as_sparse_variable", "as_symbolic", "bcast", "bsr_dmatrix", "bsr_fmatrix",
    "bsr_matrix", "cast", "ccast", "complex_dtypes", "constant", "continuous_dtypes", "csc_dmatrix", "csc_fmatrix",
    "csc_from_dense", "csc_matrix", "csm_data", "csm_indices", "csm_indptr", "csm_properties", "csm_shape",
    "csr_dmatrix", "csr_fmatrix", "csr_from_dense", "csr_matrix", "dcast", "dense_from_sparse", "diag",
    "discrete_dtypes", "dot", "fcast", "float_dtypes", "get_item_2d", "get_item_2lists", "get_item_2lists_grad",
    "get_item_list", "get_item_list_grad", "get_item_scalar", "icast", "int_dtypes", "integer_dtypes", "lcast",
    "matrix", "shared", "sp_ones_like", "sp_zeros_like", "sparse_constructor", "sparse_formats", "square_diagonal",
    "structured_dot", "transpose", "uint_dtypes", "wcast", "zcast",
]
