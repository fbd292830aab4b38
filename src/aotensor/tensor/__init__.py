"""Dense symbols and ops: users' names, no logic."""

# ruff: noqa: I001, RUF022  (names stand side by side, to be read at a glance)
# fmt: off

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module
from math import e, inf, nan, pi
from typing import Any as _Any

from numpy import euler_gamma, newaxis

from aotensor.core.types import TensorType
from aotensor.gradient import grad, hessian, jacobian
from aotensor.graph.variable import Constant, SharedVariable, Variable, as_tensor, constant, shared
from aotensor.graph.vectorize import vectorize_graph
from aotensor.ops.elementwise.arithmetic import (
    abs, add, fill, floor_div, fmod, identity as tensor_copy, int_div, maximum, minimum, mod, mul, neg,
    reciprocal, relu, second, sgn, sign, sqr, square, sub, true_div, trunc_div,
)
from aotensor.ops.shape.axes import (
    atleast_1d, atleast_2d, atleast_3d, dimshuffle, expand_dims, matrix_transpose, moveaxis, shape_padaxis,
    shape_padleft, shape_padright, squeeze, swapaxes, transpose,
)
from aotensor.ops.shape.broadcast import broadcast_arrays, broadcast_to, specify_broadcastable, specify_shape
from aotensor.ops.elementwise.bits import bitcast, bitwise_count, left_shift, logical_shift_right, right_shift
from aotensor.ops.elementwise.compare import (
    and_, bitwise_and, bitwise_not, bitwise_or, bitwise_xor, cast, ceil, clip, eq, equal, floor, ge, greater,
    greater_equal, gt, invert, iround, isclose, isfinite, isinf, isnan, le, less, less_equal, lt, neq, not_equal, or_,
    rint, round, round_half_away_from_zero, round_half_to_even, switch, trunc, xor,
)
from aotensor.ops.complex.fft import fft2, fftn, ifft, ifft2, ifftn, irfft, rfft
from aotensor.ops.complex.parts import complex, conj, conj as conjugate, imag, real
from aotensor.ops.complex.polar import angle, polar, polar as complex_from_polar
from aotensor.ops.linalg.cholesky import cho_solve, cholesky
from aotensor.ops.linalg.determinant import det, slogdet
from aotensor.ops.linalg.lu import lu, lu_factor, lu_solve
from aotensor.ops.linalg.solve import inv, matrix_inverse, solve
from aotensor.ops.linalg.triangular import solve_triangular
from aotensor.ops.convolution.functions import conv1d, conv2d, conv3d
from aotensor.ops.convolution.pool import avg_pool1d, avg_pool2d, avg_pool3d, max_pool1d, max_pool2d, max_pool3d
from aotensor.ops.convolution.signals import convolve, convolve2d, correlate
from aotensor.ops.contract import dot, matmul, outer, tensordot, trace
from aotensor.ops.create import alloc, empty, empty_like, full, full_like, ones, ones_like, zeros, zeros_like
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.cumulate import cumprod, cumsum, diff
from aotensor.ops.diagonal import (
    diag, diagonal, extract_diag, eye, fill_diagonal, identity, identity_like, tri, tril, tril_indices, triu,
    triu_indices,
)
from aotensor.ops.elementwise.elementary import (
    arccos, arccosh, arcsin, arcsinh, arctan, arctanh, cbrt, cos, cosh, deg2rad, exp, exp2, expm1, log, log10,
    log1p, log2, rad2deg, sin, sinh, sqrt, tan, tanh,
)
from aotensor.ops.elementwise.points import arctan2, hypot
from aotensor.ops.einsum import einsum
from aotensor.ops.products import (
    batched_dot, block_diag, kron, matrix_dot, matrix_power, matvec, vecdot, vecmat,
)
from aotensor.ops.updates import inc_subtensor, set_subtensor
from aotensor.ops.shape.join import concatenate, horizontal_stack, hstack, join, split, stack, vertical_stack, vstack
from aotensor.ops.mask import flatnonzero, nonzero, where
from aotensor.ops.reduce.moments import std, var
from aotensor.ops.linalg.eigen import eigh, eigvalsh
from aotensor.ops.linalg.expm import expm
from aotensor.ops.linalg.general.eig import eig, eigvals
from aotensor.ops.linalg.general.functions import logm, sqrtm
from aotensor.ops.linalg.general.lyapunov import (
    solve_continuous_lyapunov, solve_discrete_are, solve_discrete_lyapunov,
)
from aotensor.ops.linalg.general.qz import ordqz, qz
from aotensor.ops.linalg.general.schur import schur, solve_sylvester
from aotensor.ops.linalg.norms import norm
from aotensor.ops.linalg.pinv import pinv
from aotensor.ops.linalg.qr import qr
from aotensor.ops.linalg.svd import svd
from aotensor.ops.reduce.normalise import log_softmax, logsumexp, softmax
from aotensor.ops.elementwise.parametric.beta import beta, betaln
from aotensor.ops.elementwise.parametric.bessel import i0, i1, j0, j1, jv
from aotensor.ops.elementwise.parametric.modified_bessel import iv, ive, kn, kv, kve
from aotensor.ops.elementwise.parametric.owens_t import chi2sf, factorial, owens_t, poch
from aotensor.ops.elementwise.parametric.gamma_integrals import gammal, gammau
from aotensor.ops.elementwise.parametric.hypergeometric import hyp2f1
from aotensor.ops.elementwise.parametric.incomplete_beta import betainc
from aotensor.ops.elementwise.parametric.incomplete_gamma import gammainc, gammaincc
from aotensor.ops.elementwise.parametric.quantiles import betaincinv, gammainccinv, gammaincinv
from aotensor.ops.elementwise.polygamma import polygamma
from aotensor.ops.elementwise.powers import pow, power
from aotensor.ops.elementwise.probability import erfcinv, erfcx, erfinv, gamma, log_ndtr, ndtri
from aotensor.ops.shape.rearrange import flip, pad, repeat, roll, tile
from aotensor.ops.reduce.sums import all, any, mean, prod, sum
from aotensor.ops.reduce.extremum import argmax, argmin, max, max_and_argmax, min, ptp
from aotensor.ops.shape.extents import shape, shape_i, size
from aotensor.ops.shape.reshape import flatten, ravel, reshape
from aotensor.ops.reduce.sort import argsort, sort
from aotensor.ops.elementwise.special import (
    digamma, erf, erfc, expit, gammaln, log1mexp, log1pexp, logaddexp, logit, psi, sigmoid, softplus, tri_gamma,
    xlog1py, xlogx, xlogy,
)
from aotensor.ops.multi_index import ravel_multi_index, unravel_index
from aotensor.ops.class_names import (
    advanced_inc_subtensor1, advanced_set_subtensor1, advanced_subtensor1, scalar_from_tensor, tensor_from_scalar,
)
from aotensor.ops.permute_rows import inverse_permutation, permute_row_elements
from aotensor.ops.reduce.without_zeros import mul_without_zeros
from aotensor.ops.take import choose, compress, nonzero_values, take, take_along_axis
from aotensor.ops.unique import unique
from aotensor.ops.grids import (
    bartlett, geomspace, linspace, logspace, meshgrid, mgrid, ogrid, stacklists, tril_indices_from, triu_indices_from,
)
from aotensor.ops.histograms import bincount, histogram, interp
from aotensor.ops.numbers import (
    allclose, ceil_intdiv, divmod, isneginf, isposinf, largest, nan_to_num, smallest,
)
from aotensor.ops.reduce.quantiles import argtopk, median, percentile, quantile, topk, topk_and_argtopk
from aotensor.ops.reduce.select import argpartition, partition
from aotensor.ops.reduce.statistics import average, corr, corrcoef, cov
from aotensor.ops.search import searchsorted
from aotensor.ops.shape.groups import join_dims, pack, split_dims, unpack
from aotensor.ops.linalg.tensors import lstsq, tensorinv, tensorsolve
from aotensor.ops.vectorization import vectorize
from aotensor.ops.scan.frontend import scan
from aotensor.ops.scan.ifelse import ifelse
from aotensor.ops.scan.step import until
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
from aotensor.ops.random.stream import RandomStream
from aotensor.tensor import linalg, random, training
from aotensor.tensor.fourier import FOURIER_TRANSFORMS as fft

if _typing.TYPE_CHECKING:
    from aotensor.tensor import integrate, optimize

__all__ = [
    "Constant", "RandomStream", "SharedVariable", "TensorType", "Variable", "abs", "add", "advanced_inc_subtensor1",
    "advanced_set_subtensor1", "advanced_subtensor1", "all", "allclose", "alloc", "and_", "angle", "any", "arange",
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "argmax", "argmin", "argpartition",
    "argsort", "argtopk", "as_tensor", "as_tensor_variable", "atleast_1d", "atleast_2d", "atleast_3d", "average",
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "bartlett", "batched_dot", "bcol", "beta", "betainc", "betaincinv",
    "betaln", "bincount", "bitcast", "bitwise_and", "bitwise_count", "bitwise_not", "bitwise_or", "bitwise_xor",
    "block_diag", "bmatrix", "broadcast_arrays", "broadcast_to", "brow", "bscalar", "btensor3", "btensor4", "btensor5",
    "bvector", "cast", "cbrt", "ccol", "ceil", "ceil_intdiv", "chi2sf", "cho_solve", "cholesky", "choose", "clip",
    "cmatrix", "col", "cols", "complex", "complex_from_polar", "compress", "concatenate", "conj", "conjugate",
    "constant", "conv1d", "conv2d", "conv3d", "convolve", "convolve2d", "corr", "corrcoef", "correlate", "cos", "cosh",
    "cov", "crow", "cscalar", "ctensor3", "ctensor4", "ctensor5", "cumprod", "cumsum", "cvector", "dcol", "dcols",
    "deg2rad", "det", "diag", "diagonal", "diff", "digamma", "dimshuffle", "divmod", "dmatrices", "dmatrix", "dot",
    "drow", "drows", "dscalar", "dscalars", "dtensor3", "dtensor4", "dtensor5", "dvector", "dvectors", "e", "eig",
    "eigh", "eigvals", "eigvalsh", "einsum", "empty", "empty_like", "eq", "equal", "erf", "erfc", "erfcinv", "erfcx",
    "erfinv", "euler_gamma", "exp", "exp2", "expand_dims", "expit", "expm", "expm1", "extract_diag", "eye", "factorial",
    "fcol", "fcols", "fft", "fft2", "fftn", "fill", "fill_diagonal", "flatnonzero", "flatten", "flip", "floor",
    "floor_div", "fmatrices", "fmatrix", "fmod", "frow", "frows", "fscalar", "fscalars", "ftensor3", "ftensor4",
    "ftensor5", "full", "full_like", "fvector", "fvectors", "gamma", "gammainc", "gammaincc", "gammainccinv",
    "gammaincinv", "gammal", "gammaln", "gammau", "ge", "geomspace", "grad", "greater", "greater_equal", "gt",
    "hessian", "histogram", "horizontal_stack", "hstack", "hyp2f1", "hypot", "i0", "i1", "icol", "icols", "identity",
    "identity_like", "ifelse", "ifft", "ifft2", "ifftn", "imag", "imatrices", "imatrix", "inc_subtensor", "inf",
    "int_div", "integrate", "interp", "inv", "inverse_permutation", "invert", "irfft", "iround", "irow", "irows",
    "iscalar", "iscalars", "isclose", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "itensor3", "itensor4",
    "itensor5", "iv", "ive", "ivector", "ivectors", "j0", "j1", "jacobian", "join", "join_dims", "jv", "kn", "kron",
    "kv", "kve", "largest", "lcol", "lcols", "le", "left_shift", "less", "less_equal", "linalg", "linspace",
    "lmatrices", "lmatrix", "log", "log10", "log1mexp", "log1p", "log1pexp", "log2", "log_ndtr", "log_softmax",
    "logaddexp", "logical_shift_right", "logit", "logm", "logspace", "logsumexp", "lrow", "lrows", "lscalar",
    "lscalars", "lstsq", "lt", "ltensor3", "ltensor4", "ltensor5", "lu", "lu_factor", "lu_solve", "lvector", "lvectors",
    "matmul", "matrices", "matrix", "matrix_dot", "matrix_inverse", "matrix_power", "matrix_transpose", "matvec", "max",
    "max_and_argmax", "max_pool1d", "max_pool2d", "max_pool3d", "maximum", "mean", "median", "meshgrid", "mgrid", "min",
    "minimum", "mod", "moveaxis", "mul", "mul_without_zeros", "nan", "nan_to_num", "ndtri", "neg", "neq", "newaxis",
    "nonzero", "nonzero_values", "norm", "not_equal", "ogrid", "ones", "ones_like", "optimize", "or_", "ordqz", "outer",
    "owens_t", "pack", "pad", "partition", "percentile", "permute_row_elements", "pi", "pinv", "poch", "polar",
    "polygamma", "pow", "power", "prod", "psi", "ptp", "qr", "quantile", "qz", "rad2deg", "random", "ravel",
    "ravel_multi_index", "real", "reciprocal", "relu", "repeat", "reshape", "rfft", "right_shift", "rint", "roll",
    "round", "round_half_away_from_zero", "round_half_to_even", "row", "rows", "scalar", "scalar_from_tensor",
    "scalars", "scan", "schur", "searchsorted", "second", "set_subtensor", "sgn", "shape", "shape_i", "shape_padaxis",
    "shape_padleft", "shape_padright", "shared", "sigmoid", "sign", "sin", "sinh", "size", "slogdet", "smallest",
    "softmax", "softplus", "solve", "solve_continuous_lyapunov", "solve_discrete_are", "solve_discrete_lyapunov",
    "solve_sylvester", "solve_triangular", "sort", "specify_broadcastable", "specify_shape", "split", "split_dims",
    "sqr", "sqrt", "sqrtm", "square", "squeeze", "stack", "stacklists", "std", "sub", "sum", "svd", "swapaxes",
    "switch", "take", "take_along_axis", "tan", "tanh", "tensor", "tensor3", "tensor4", "tensor5", "tensor_copy",
    "tensor_from_scalar", "tensordot", "tensorinv", "tensorsolve", "tile", "topk", "topk_and_argtopk", "trace",
    "training", "transpose", "tri", "tri_gamma", "tril", "tril_indices", "tril_indices_from", "triu", "triu_indices",
    "triu_indices_from", "true_div", "trunc", "trunc_div", "unique", "unpack", "unravel_index", "until", "var",
    "vecdot", "vecmat", "vector", "vectorize", "vectorize_graph", "vectors", "vertical_stack", "vstack", "wcol",
    "where", "wmatrix", "wrow", "wscalar", "wtensor3", "wtensor4", "wtensor5", "wvector", "xlog1py", "xlogx", "xlogy",
    "xor", "zcol", "zeros", "zeros_like", "zmatrix", "zrow", "zscalar", "ztensor3", "ztensor4", "ztensor5", "zvector",
]


def __getattr__(name: str) -> _Any:
    """Import the modules of solvers when they are first used: few programs solve something inside of a function."""
    if name in ("integrate", "optimize"):
        return _import_module(f"aotensor.tensor.{name}")
    raise AttributeError(f"module 'aotensor.tensor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
