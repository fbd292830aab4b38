"""Sparse symbols and ops: users' names, no logic."""

# ruff: noqa: I001, RUF022  (names stand side by side, to be read at a glance)
# fmt: off

from __future__ import annotations

from aotensor.graph.sparse_type import (
    SparseConstant, SparseTensorSharedVariable, SparseTensorType, SparseVariable,
)
from aotensor.sparse import sample as _sample, vectors as _vectors  # noqa: F401  (found by name)
from aotensor.sparse.csm import CSC, CSM, CSR, CSMProperties
from aotensor.sparse.elements import GetItem2Lists, GetItemScalar, PlacedElements as GetItem2ListsGrad
from aotensor.sparse.getitem import (
    get_item_2d, get_item_2lists, get_item_2lists_grad, get_item_list, get_item_list_grad, get_item_scalar,
)
from aotensor.sparse.op import as_sparse, as_sparse_or_tensor, as_sparse as as_sparse_variable
from aotensor.sparse.symbols import (
    all_dtypes, complex_dtypes, constant, continuous_dtypes, csc_dmatrix, csc_fmatrix, csc_matrix, csr_dmatrix,
    csr_fmatrix, csr_matrix, discrete_dtypes, float_dtypes, int_dtypes, integer_dtypes, matrix, shared,
    sparse_formats, uint_dtypes,
)
from aotensor.sparse.windows import PlacedMatrix as GetItemListGrad, Submatrix as GetItem2d, Submatrix as GetItemList

__all__ = [
    "CSC", "CSM", "CSMProperties", "CSR", "GetItem2Lists", "GetItem2ListsGrad", "GetItem2d", "GetItemList",
    "GetItemListGrad", "GetItemScalar", "SparseConstant", "SparseTensorSharedVariable", "SparseTensorType",
    "SparseVariable", "all_dtypes", "as_sparse", "as_sparse_or_tensor", "as_sparse_variable", "complex_dtypes",
    "constant", "continuous_dtypes", "csc_dmatrix", "csc_fmatrix", "csc_matrix", "csr_dmatrix", "csr_fmatrix",
    "csr_matrix", "discrete_dtypes", "float_dtypes", "get_item_2d", "get_item_2lists", "get_item_2lists_grad",
    "get_item_list", "get_item_list_grad", "get_item_scalar", "int_dtypes", "integer_dtypes", "matrix", "shared",
    "sparse_formats", "uint_dtypes",
]
