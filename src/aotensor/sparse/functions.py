"""Functions of sparse matrices for the layers below, under the names of `graph/operations.py`."""

from __future__ import annotations

from aotensor.sparse.arithmetic.add import sparse_add as add
from aotensor.sparse.arithmetic.add import sparse_neg as neg
from aotensor.sparse.arithmetic.add import sparse_sub as sub
from aotensor.sparse.arithmetic.compare import ge, gt, le, lt
from aotensor.sparse.arithmetic.complex import sparse_conj as conj
from aotensor.sparse.arithmetic.complex import sparse_imag as imag
from aotensor.sparse.arithmetic.complex import sparse_real as real
from aotensor.sparse.arithmetic.dispatch import sparse_counterpart as counterpart
from aotensor.sparse.arithmetic.dispatch import sparse_div as div
from aotensor.sparse.arithmetic.dispatch import sparse_operator as operator
from aotensor.sparse.arithmetic.dispatch import sparse_power as power
from aotensor.sparse.arithmetic.extremum import sparse_max as max
from aotensor.sparse.arithmetic.extremum import sparse_min as min
from aotensor.sparse.arithmetic.multiply import sparse_mul as mul
from aotensor.sparse.arithmetic.structured_functions import abs
from aotensor.sparse.arithmetic.sums import sp_sum as sum
from aotensor.sparse.arithmetic.sums import sparse_mean as mean
from aotensor.sparse.construct.cleanup import sparse_copy as copy
from aotensor.sparse.construct.create import sp_ones_like as ones_like
from aotensor.sparse.construct.create import sp_zeros_like as zeros_like
from aotensor.sparse.construct.create import sparse_shape as shape
from aotensor.sparse.construct.create import sparse_size as size
from aotensor.sparse.construct.diagonal import diag, trace
from aotensor.sparse.convert import dense_from_sparse, transpose
from aotensor.sparse.csm import sparse_of_vectors as of_vectors
from aotensor.sparse.csm import sparse_vectors as vectors
from aotensor.sparse.duplicate_entries import from_entries, to_entries
from aotensor.sparse.index.getitem import sparse_getitem as getitem
from aotensor.sparse.op import as_sparse_or_tensor
from aotensor.sparse.product.dots import dot, structured_dot
from aotensor.sparse.reformat import cast, in_format, to_bsr, to_csc, to_csr
from aotensor.sparse.sample import sample_at
from aotensor.sparse.symbols import shared

__all__ = [
    "abs", "add", "as_sparse_or_tensor", "cast", "conj", "copy", "counterpart", "dense_from_sparse", "diag", "div",
    "dot", "from_entries", "ge", "getitem", "gt", "imag", "in_format", "le", "lt", "max", "mean", "min", "mul", "neg",
    "of_vectors", "ones_like", "operator", "power", "real", "sample_at", "shape", "shared", "size", "structured_dot",
    "sub", "sum", "to_bsr", "to_csc", "to_csr", "to_entries", "trace", "transpose", "vectors", "zeros_like",
]  # fmt: skip
