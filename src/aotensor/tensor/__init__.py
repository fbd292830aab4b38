"""Dense symbols and ops: users' names, no logic."""

# ruff: noqa: I001, RUF022  (names stand side by side, to be read at a glance)
# fmt: off

from __future__ import annotations

from math import e, inf, nan, pi

from numpy import newaxis

from aotensor.core.types import TensorType
from aotensor.gradient import grad, hessian, jacobian
from aotensor.graph.variable import Constant, SharedVariable, Variable, as_tensor, constant, shared
from aotensor.graph.vectorize import vectorize_graph
from aotensor.ops.elementwise.arithmetic import (
    abs, add, fill, floor_div, hypot, identity as tensor_copy, int_div, maximum, minimum, mod, mul, neg, pow, power,
    reciprocal, relu, second, sgn, sign, sqr, square, sub, true_div,
)
from aotensor.ops.shape.axes import (
    atleast_1d, atleast_2d, atleast_3d, dimshuffle, expand_dims, matrix_transpose, moveaxis, shape_padaxis,
    shape_padleft, shape_padright, squeeze, swapaxes, transpose,
)
from aotensor.ops.shape.broadcast import broadcast_arrays, broadcast_to, specify_broadcastable, specify_shape
from aotensor.ops.elementwise.compare import (
    and_, bitwise_and, bitwise_not, bitwise_or, bitwise_xor, cast, ceil, clip, eq, equal, floor, ge, greater,
    greater_equal, gt, invert, iround, isclose, isfinite, isinf, isnan, le, less, less_equal, lt, neq, not_equal, or_,
    rint, round, round_half_away_from_zero, round_half_to_even, switch, trunc, where, xor,
)
from aotensor.ops.linalg.cholesky import cholesky
from aotensor.ops.linalg.triangular import solve_triangular
from aotensor.ops.contract import dot, matmul, outer, tensordot, trace
from aotensor.ops.create import alloc, arange, empty, empty_like, full, full_like, ones, ones_like, zeros, zeros_like
from aotensor.ops.reduce.cumulate import cumprod, cumsum, diff
from aotensor.ops.diagonal import (
    diag, diagonal, extract_diag, eye, fill_diagonal, identity, identity_like, tri, tril, tril_indices, triu,
    triu_indices,
)
from aotensor.ops.elementwise.elementary import (
    arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, cbrt, cos, cosh, deg2rad, exp, exp2, expm1, log, log10,
    log1p, log2, rad2deg, sin, sinh, sqrt, tan, tanh,
)
from aotensor.ops.index import inc_subtensor, set_subtensor
from aotensor.ops.shape.join import concatenate, horizontal_stack, hstack, join, split, stack, vertical_stack, vstack
from aotensor.ops.reduce.moments import norm, std, var
from aotensor.ops.reduce.normalise import log_softmax, logsumexp, softmax
from aotensor.ops.elementwise.probability import beta, betaln, erfcinv, erfcx, erfinv, gamma
from aotensor.ops.shape.rearrange import flip, pad, repeat, roll, tile
from aotensor.ops.reduce.sums import all, any, mean, prod, sum
from aotensor.ops.reduce.extremum import argmax, argmin, max, max_and_argmax, min, ptp
from aotensor.ops.shape.extents import flatten, ravel, reshape, shape, shape_i, size
from aotensor.ops.reduce.sort import argsort, median, sort
from aotensor.ops.elementwise.special import (
    digamma, erf, erfc, expit, gammaln, log1mexp, log1pexp, logaddexp, logit, psi, sigmoid, softplus, tri_gamma,
    xlog1py, xlogx, xlogy,
)
from aotensor.ops.take import take, take_along_axis
from aotensor.ops.symbols import (
    as_tensor_variable, bcol, bmatrix, brow, bscalar, btensor3, btensor4, btensor5, bvector, ccol, cmatrix, col, cols,
    crow, cscalar, ctensor3, ctensor4, ctensor5, cvector, dcol, dcols, dmatrices, dmatrix, drow, drows, dscalar,
    dscalars, dtensor3, dtensor4, dtensor5, dvector, dvectors, fcol, fcols, fmatrices, fmatrix, frow, frows, fscalar,
    fscalars, ftensor3, ftensor4, ftensor5, fvector, fvectors, icol, icols, imatrices, imatrix, irow, irows, iscalar,
    iscalars, itensor3, itensor4, itensor5, ivector, ivectors, lcol, lcols, lmatrices, lmatrix, lrow, lrows, lscalar,
    lscalars, ltensor3, ltensor4, ltensor5, lvector, lvectors, matrices, matrix, row, rows, scalar, scalars, tensor,
    tensor3, tensor4, tensor5, vector, vectors, wcol, wmatrix, wrow, wscalar, wtensor3, wtensor4, wtensor5, wvector,
    zcol, zmatrix, zrow, zscalar, ztensor3, ztensor4, ztensor5, zvector,
)
from aotensor.tensor import linalg

__all__ = [
    "Constant", "SharedVariable", "TensorType", "Variable", "abs", "add", "all", "alloc", "and_", "any", "arange",
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "argmax", "argmin", "argsort",
    "as_tensor", "as_tensor_variable", "atleast_1d", "atleast_2d", "atleast_3d", "bcol", "beta", "betaln",
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "bmatrix", "broadcast_arrays", "broadcast_to", "brow",
    "bscalar", "btensor3", "btensor4", "btensor5", "bvector", "cast", "cbrt", "ccol", "ceil",
    "cholesky", "clip", "cmatrix", "col",
    "cols", "concatenate", "constant", "cos", "cosh", "crow", "cscalar", "ctensor3", "ctensor4", "ctensor5", "cumprod",
    "cumsum", "cvector", "dcol", "dcols", "deg2rad", "diag", "diagonal", "diff", "digamma", "dimshuffle", "dmatrices",
    "dmatrix", "dot", "drow", "drows", "dscalar", "dscalars", "dtensor3", "dtensor4", "dtensor5", "dvector", "dvectors",
    "e", "empty", "empty_like", "eq", "equal", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp", "exp2",
    "expand_dims", "expit", "expm1", "extract_diag", "eye", "fcol", "fcols", "fill", "fill_diagonal", "flatten", "flip",
    "floor", "floor_div",
    "fmatrices", "fmatrix", "frow", "frows", "fscalar", "fscalars", "ftensor3", "ftensor4", "ftensor5",
    "full", "full_like", "fvector", "fvectors", "gamma", "gammaln", "ge", "grad", "greater", "greater_equal", "gt",
    "hessian", "horizontal_stack", "hstack", "hypot", "icol", "icols", "identity", "identity_like", "imatrices",
    "imatrix", "inc_subtensor", "inf", "int_div", "invert", "iround", "irow", "irows", "iscalar", "iscalars", "isclose",
    "isfinite", "isinf", "isnan", "itensor3", "itensor4", "itensor5", "ivector", "ivectors", "jacobian", "join", "lcol",
    "lcols",
    "le", "less", "less_equal", "linalg",
    "lmatrices", "lmatrix", "log", "log10", "log1mexp", "log1p", "log1pexp", "log2",
    "log_softmax", "logaddexp", "logit", "logsumexp", "lrow", "lrows", "lscalar", "lscalars", "lt", "ltensor3",
    "ltensor4", "ltensor5", "lvector", "lvectors", "matmul", "matrices", "matrix", "matrix_transpose", "max",
    "max_and_argmax", "maximum", "mean", "median", "min", "minimum", "mod", "moveaxis", "mul", "nan", "neg", "neq",
    "newaxis", "norm", "not_equal", "ones", "ones_like", "or_", "outer", "pad", "pi", "pow", "power", "prod", "psi",
    "ptp", "rad2deg", "ravel", "reciprocal", "relu", "repeat", "reshape", "rint", "roll", "round",
    "round_half_away_from_zero", "round_half_to_even", "row", "rows", "scalar", "scalars", "second", "set_subtensor",
    "sgn", "shape", "shape_i", "shape_padaxis", "shape_padleft", "shape_padright", "shared", "sigmoid", "sign", "sin",
    "sinh", "size", "softmax", "softplus", "solve_triangular",
    "sort", "specify_broadcastable", "specify_shape", "split", "sqr", "sqrt",
    "square", "squeeze", "stack", "std", "sub", "sum", "swapaxes", "switch", "take", "take_along_axis", "tan", "tanh",
    "tensor", "tensor3",
    "tensor4", "tensor5", "tensor_copy", "tensordot", "tile", "trace", "transpose", "tri", "tri_gamma", "tril",
    "tril_indices", "triu", "triu_indices", "true_div", "trunc", "var", "vector", "vectorize_graph", "vectors",
    "vertical_stack", "vstack",
    "wcol", "where", "wmatrix", "wrow", "wscalar", "wtensor3", "wtensor4", "wtensor5", "wvector", "xlog1py", "xlogx",
    "xlogy", "xor", "zcol", "zeros", "zeros_like", "zmatrix", "zrow", "zscalar", "ztensor3", "ztensor4", "ztensor5",
    "zvector",
]
