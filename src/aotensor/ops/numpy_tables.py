"""Tables of our counterparts of NumPy's functions, by NumPy's names.

If arguments or results differ, the row has a function of `ops/numpy_functions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from aotensor.core.dtypes import is_complex, is_float
from aotensor.ops.complex.parts import conj, imag, real
from aotensor.ops.complex.polar import angle
from aotensor.ops.contract import dot, matmul, outer, tensordot, trace
from aotensor.ops.convolution.signals import convolve, correlate
from aotensor.ops.create import empty, empty_like, full, full_like, ones, ones_like, zeros, zeros_like
from aotensor.ops.diagonal import diag, diagonal, eye, tri, tril, tril_indices, triu, triu_indices
from aotensor.ops.diagonal import identity as identity_matrix
from aotensor.ops.einsum import einsum
from aotensor.ops.elementwise.arithmetic import (
    abs,
    add,
    fmod,
    identity,
    int_div,
    maximum,
    minimum,
    mod,
    mul,
    neg,
    reciprocal,
    sign,
    sqr,
    sub,
    true_div,
)
from aotensor.ops.elementwise.bits import bitwise_count, left_shift, right_shift
from aotensor.ops.elementwise.compare import (
    and_,
    cast,
    ceil,
    eq,
    floor,
    ge,
    gt,
    invert,
    isclose,
    isfinite,
    isinf,
    isnan,
    le,
    lt,
    neq,
    or_,
    rint,
    trunc,
    xor,
)
from aotensor.ops.elementwise.elementary import (
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctanh,
    cbrt,
    cos,
    cosh,
    deg2rad,
    exp,
    exp2,
    expm1,
    log,
    log1p,
    log2,
    log10,
    rad2deg,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)
from aotensor.ops.elementwise.parametric.bessel import i0
from aotensor.ops.elementwise.points import arctan2, hypot
from aotensor.ops.elementwise.powers import pow
from aotensor.ops.elementwise.special import logaddexp
from aotensor.ops.grids import geomspace, linspace, logspace, meshgrid, tril_indices_from, triu_indices_from
from aotensor.ops.histograms import bincount, histogram, interp
from aotensor.ops.linalg.determinant import det, slogdet
from aotensor.ops.linalg.eigen import eigh, eigvalsh
from aotensor.ops.linalg.general.eig import eig, eigvals
from aotensor.ops.linalg.norms import norm
from aotensor.ops.linalg.pinv import pinv
from aotensor.ops.linalg.qr import qr
from aotensor.ops.linalg.solve import inv
from aotensor.ops.linalg.svd import svd
from aotensor.ops.linalg.tensors import lstsq, tensorinv, tensorsolve
from aotensor.ops.mask import flatnonzero, nonzero, where
from aotensor.ops.multi_index import ravel_multi_index, unravel_index
from aotensor.ops.numbers import allclose, divmod, isneginf, isposinf, nan_to_num
from aotensor.ops.numpy_functions import (
    numpy_cholesky,
    numpy_clip,
    numpy_concatenate,
    numpy_count_nonzero,
    numpy_diagonal,
    numpy_inner,
    numpy_round,
    numpy_size,
    numpy_solve,
    numpy_split,
    numpy_trace,
    numpy_vecdot,
    one_or_several,
    truth,
)
from aotensor.ops.products import kron, matrix_dot, matrix_power, matvec, vecdot, vecmat
from aotensor.ops.ranges import arange
from aotensor.ops.reduce.cumulate import cumprod, cumsum, diff
from aotensor.ops.reduce.extremum import argmax, argmin, max, min, ptp
from aotensor.ops.reduce.moments import std, var
from aotensor.ops.reduce.quantiles import median, percentile, quantile
from aotensor.ops.reduce.select import argpartition, partition
from aotensor.ops.reduce.sort import argsort, sort
from aotensor.ops.reduce.statistics import average, corrcoef, cov
from aotensor.ops.reduce.sums import all, any, mean, prod, sum
from aotensor.ops.search import searchsorted
from aotensor.ops.shape.axes import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    expand_dims,
    matrix_transpose,
    moveaxis,
    squeeze,
    swapaxes,
    transpose,
)
from aotensor.ops.shape.broadcast import broadcast_arrays, broadcast_to
from aotensor.ops.shape.extents import shape
from aotensor.ops.shape.join import hstack, stack, vstack
from aotensor.ops.shape.rearrange import flip, pad, repeat, roll, tile
from aotensor.ops.shape.reshape import ravel, reshape
from aotensor.ops.take import choose, compress, take, take_along_axis
from aotensor.ops.unique import unique

Table = Mapping[str, Callable[..., Any]]

UFUNCS: Final[Table] = {
    "absolute": abs, "add": add, "arccos": arccos, "arccosh": arccosh, "arcsin": arcsin, "arcsinh": arcsinh,
    "arctan": arctan, "arctan2": arctan2, "arctanh": arctanh, "bitwise_and": and_, "bitwise_or": or_,
    "bitwise_xor": xor, "bitwise_count": bitwise_count, "left_shift": left_shift, "right_shift": right_shift,
    "cbrt": cbrt, "ceil": ceil, "clip": numpy_clip, "conjugate": conj, "cos": cos,
    "cosh": cosh, "deg2rad": deg2rad, "degrees": rad2deg, "divide": true_div, "equal": eq, "exp": exp, "exp2": exp2,
    "expm1": expm1, "floor": floor, "floor_divide": int_div, "fmod": fmod, "greater": gt, "greater_equal": ge,
    "hypot": hypot, "invert": invert, "isfinite": isfinite, "isinf": isinf, "isnan": isnan, "less": lt,
    "less_equal": le, "log": log,
    "log10": log10, "log1p": log1p, "log2": log2, "logaddexp": logaddexp, "matmul": matmul, "matvec": matvec,
    "maximum": maximum, "minimum": minimum, "multiply": mul, "negative": neg, "not_equal": neq, "positive": identity,
    "power": pow, "rad2deg": rad2deg, "radians": deg2rad, "reciprocal": reciprocal, "remainder": mod, "rint": rint,
    "sign": sign, "sin": sin, "sinh": sinh, "sqrt": sqrt, "square": sqr, "subtract": sub, "tan": tan, "tanh": tanh,
    "trunc": trunc, "vecdot": vecdot, "vecmat": vecmat,
    "divmod": divmod,
    "fabs": lambda x: abs(x) * (1 if is_float(x.dtype) else 1.0),
    "float_power": lambda x1, x2: pow(cast(x1, "float64"), cast(x2, "float64")),
    "logical_and": lambda x1, x2: and_(truth(x1), truth(x2)),
    "logical_not": lambda x: invert(truth(x)),
    "logical_or": lambda x1, x2: or_(truth(x1), truth(x2)),
    "logical_xor": lambda x1, x2: xor(truth(x1), truth(x2)),
}  # fmt: skip
"""Elementwise functions."""

REDUCTIONS: Final[Table] = {
    "add": sum, "multiply": prod, "maximum": max, "minimum": min, "logical_and": all, "logical_or": any,
}  # fmt: skip
"""`ufunc.reduce`, along axis 0 unless `axis` is given."""

ACCUMULATIONS: Final[Table] = {
    "add": cumsum, "multiply": cumprod,
}  # fmt: skip
"""`ufunc.accumulate`."""

FUNCTIONS: Final[Table] = {
    "all": all, "allclose": allclose, "amax": max, "amin": min, "any": any, "arange": arange, "argmax": argmax,
    "argmin": argmin, "argsort": argsort, "around": numpy_round, "astype": cast, "broadcast_arrays": broadcast_arrays,
    "broadcast_to": broadcast_to, "choose": choose, "clip": numpy_clip, "compress": compress,
    "concatenate": numpy_concatenate, "copy": identity, "count_nonzero": numpy_count_nonzero, "cumprod": cumprod,
    "cumsum": cumsum, "diag": diag, "diagonal": diagonal, "diff": diff, "dot": dot, "einsum": einsum, "empty": empty,
    "empty_like": empty_like, "expand_dims": expand_dims, "eye": eye, "flatnonzero": flatnonzero, "flip": flip,
    "full": full, "full_like": full_like, "hstack": hstack, "i0": i0, "identity": identity_matrix, "inner": numpy_inner,
    "isclose": isclose, "kron": kron, "matrix_transpose": matrix_transpose, "max": max, "mean": mean, "median": median,
    "min": min, "moveaxis": moveaxis, "nonzero": nonzero, "ones": ones, "ones_like": ones_like, "outer": outer,
    "pad": pad, "prod": prod, "ptp": ptp, "ravel": ravel, "ravel_multi_index": ravel_multi_index, "real": real,
    "repeat": repeat, "reshape": reshape, "roll": roll, "round": numpy_round, "shape": shape, "size": numpy_size,
    "sort": sort, "split": numpy_split, "squeeze": squeeze, "stack": stack, "std": std, "sum": sum,
    "swapaxes": swapaxes, "take": take, "take_along_axis": take_along_axis, "tensordot": tensordot, "tile": tile,
    "trace": trace, "transpose": transpose, "tri": tri, "tril": tril, "tril_indices": tril_indices, "triu": triu,
    "triu_indices": triu_indices, "unique": unique, "unravel_index": unravel_index, "var": var, "vstack": vstack,
    "where": where, "zeros": zeros, "zeros_like": zeros_like, "linalg.cholesky": numpy_cholesky, "linalg.det": det,
    "linalg.diagonal": numpy_diagonal, "linalg.eig": eig, "linalg.eigh": eigh, "linalg.eigvals": eigvals,
    "linalg.eigvalsh": eigvalsh, "linalg.inv": inv, "linalg.matmul": matmul, "linalg.matrix_power": matrix_power,
    "linalg.matrix_transpose": matrix_transpose, "linalg.norm": norm, "linalg.outer": outer, "linalg.pinv": pinv,
    "linalg.qr": qr, "linalg.slogdet": slogdet, "linalg.solve": numpy_solve, "linalg.svd": svd,
    "linalg.tensordot": tensordot, "linalg.trace": numpy_trace,
    "linalg.vecdot": numpy_vecdot,
    "average": average, "bincount": bincount, "corrcoef": corrcoef, "cov": cov, "geomspace": geomspace,
    "convolve": convolve, "correlate": correlate,
    "histogram": histogram, "interp": interp, "linspace": linspace, "logspace": logspace, "meshgrid": meshgrid,
    "isneginf": isneginf, "isposinf": isposinf, "tril_indices_from": tril_indices_from,
    "triu_indices_from": triu_indices_from, "argpartition": argpartition, "nan_to_num": nan_to_num,
    "partition": partition, "percentile": percentile, "quantile": quantile, "searchsorted": searchsorted,
    "linalg.lstsq": lstsq, "linalg.tensorinv": tensorinv, "linalg.tensorsolve": tensorsolve,
    "argwhere": lambda a: transpose(nonzero(a, return_matrix=True)),
    "atleast_1d": lambda *arys: one_or_several(atleast_1d, arys),
    "atleast_2d": lambda *arys: one_or_several(atleast_2d, arys),
    "atleast_3d": lambda *arys: one_or_several(atleast_3d, arys),
    "fliplr": lambda m: flip(m, 1),
    "flipud": lambda m: flip(m, 0),
    "angle": angle,
    "imag": imag,
    "iscomplexobj": lambda x: is_complex(x.dtype),
    "isrealobj": lambda x: not is_complex(x.dtype),
    "ndim": lambda a: a.ndim,
    "vdot": lambda a, b: dot(conj(ravel(a)), ravel(b)),
    "linalg.multi_dot": lambda arrays: matrix_dot(*arrays),
    "linalg.svdvals": lambda x: svd(x, compute_uv=False),
}  # fmt: skip
"""All others; those of `numpy.linalg` with that prefix."""
