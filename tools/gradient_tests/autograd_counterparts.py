"""Functions of `autograd.scipy` on symbols, with `aotensor.tensor`: SciPy does not dispatch them on types of operands.

Distributions by their closed forms, in the order of SciPy's parameters; the values are compared with SciPy's.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Final

import autograd.numpy as anp
import numpy as np
from autograd.extend import VSpace
from autograd.numpy.numpy_boxes import ArrayBox

import aotensor.tensor as at
from aotensor.graph.variable import Constant, Variable

Function = Callable[..., Any]


def _z(x: Any, loc: Any, scale: Any) -> Any:
    return (x - loc) / scale


def _norm_logpdf(x: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    return -0.5 * _z(x, loc, scale) ** 2 - 0.5 * np.log(2 * np.pi) - at.log(scale)


def _t_logpdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    size = at.gammaln((df + 1) / 2) - at.gammaln(df / 2) - 0.5 * at.log(df * np.pi) - at.log(scale)
    return size - (df + 1) / 2 * at.log1p(_z(x, loc, scale) ** 2 / df)


def _t_cdf(x: Any, df: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
    """Half of the regularised incomplete beta function on the side of the tail."""
    z = _z(x, loc, scale)
    tail = at.betainc(at.as_tensor(df) / 2, 0.5, df / (df + z**2)) / 2
    return at.where(z < 0, tail, 1 - tail)


def _beta_logpdf(x: Any, a: Any, b: Any) -> Any:
    return (a - 1) * at.log(x) + (b - 1) * at.log1p(-at.as_tensor(x)) - at.betaln(a, b)


def _gamma_logpdf(x: Any, a: Any) -> Any:
    return (a - 1) * at.log(x) - x - at.gammaln(a)


def _chi2_logpdf(x: Any, df: Any) -> Any:
    return (df / 2 - 1) * at.log(x) - x / 2 - df / 2 * np.log(2.0) - at.gammaln(df / 2)


def _poisson_logpmf(k: Any, mu: Any) -> Any:
    return at.xlogy(k, mu) - mu - at.gammaln(at.as_tensor(k) + 1.0)


def _dirichlet_logpdf(x: Any, alpha: Any) -> Any:
    return at.gammaln(at.sum(alpha)) - at.sum(at.gammaln(alpha)) + at.sum((alpha - 1) * at.log(x))


def _mvn_logpdf(x: Any, mean: Any, cov: Any, allow_singular: bool = False) -> Any:
    """A singular covariance must have values: its rank decides the density."""
    deviation = at.as_tensor(x) - mean
    if not allow_singular:
        rank, size = deviation.shape[-1], at.linalg.slogdet(cov)[1]
        inverse = at.linalg.inv(cov)
    else:
        values = np.linalg.eigvalsh(cov)
        rank, size = int(np.sum(values > 1e-10)), np.log(values[values > 1e-10]).sum()
        inverse = at.constant(np.linalg.pinv(cov))
    return -0.5 * (rank * np.log(2 * np.pi) + size + at.sum((deviation @ inverse) * deviation, axis=-1))


def _mvn_entropy(mean: Any, cov: Any) -> Any:
    n = cov.shape[-1]
    return 0.5 * (n * (1 + np.log(2 * np.pi)) + at.linalg.slogdet(cov)[1])


def _exp(logarithm: Function) -> Function:
    return lambda *args, **options: at.exp(logarithm(*args, **options))


def _logsumexp(x: Any, axis: Any = None, b: Any = 1.0, keepdims: bool = False) -> Any:
    highest = at.max(x, axis=axis, keepdims=True)
    total = at.log(at.sum(b * at.exp(x - highest), axis=axis, keepdims=True)) + highest
    return total if keepdims else at.squeeze(total, axis=axis)


def _multigammaln(a: Any, d: int) -> Any:
    return d * (d - 1) / 4 * np.log(np.pi) + sum(at.gammaln(a - j / 2) for j in range(d))


def _convolve(
    x: Any, y: Any, axes: Any = None, dot_axes: Sequence[Sequence[int]] = ((), ()), mode: str = "full"
) -> Any:
    """A convolution along pairs of axes, a sum of products along others, all combinations of the rest.

    By sums of shifted products: out[k] = Σ_j x[k - j] y[j], in all axes.   Result: rest of x, rest of y, positions
    """
    x, y = at.as_tensor(x), at.as_tensor(y)
    axes = [list(range(x.ndim - len(dot_axes[0]))), list(range(y.ndim - len(dot_axes[1])))] if axes is None else axes
    rest_x = [k for k in range(x.ndim) if k not in (*axes[0], *dot_axes[0])]
    rest_y = [k for k in range(y.ndim) if k not in (*axes[1], *dot_axes[1])]
    x = at.transpose(x, [*rest_x, *dot_axes[0], *axes[0]])
    y = at.transpose(y, [*rest_y, *dot_axes[1], *axes[1]])
    count, pairs = len(axes[0]), len(dot_axes[0])
    wide, narrow = x.type.shape[x.ndim - count :], y.type.shape[y.ndim - count :]
    if mode == "valid" and any(a < b for a, b in zip(wide, narrow, strict=True)):
        x, y, wide, narrow, rest_x, rest_y = y, x, narrow, wide, rest_y, rest_x
        is_swapped = True
    else:
        is_swapped = False
    margins = [(0, 0)] * (x.ndim - count) + [(b - 1, b - 1) for b in narrow]
    padded = at.pad(x, margins)
    total: Any = 0.0
    letters = "abcdefgh"
    left, dots, right = letters[: len(rest_x)], "uvw"[:pairs], letters[len(rest_x) :][: len(rest_y)]
    places = "ijkl"[:count]
    for shift in np.ndindex(*narrow):
        window = [slice(b - 1 - j, b - 1 - j + a + b - 1) for a, b, j in zip(wide, narrow, shift, strict=True)]
        factor = y[(..., *shift)]
        total = total + at.einsum(
            f"{left}{dots}{places},{right}{dots}->{left}{right}{places}", padded[(..., *window)], factor
        )
    if is_swapped:
        rest = [*range(len(rest_x), len(rest_x) + len(rest_y)), *range(len(rest_x))]
        total = at.transpose(total, [*rest, *range(len(rest), total.ndim)])
    cut = {"full": lambda a, b: slice(0, a + b - 1), "valid": lambda a, b: slice(b - 1, a)}.get(mode, _same)
    return total[(..., *(cut(a, b) for a, b in zip(wide, narrow, strict=True)))]


def _same(a: int, b: int) -> slice:
    """The middle of the positions of a full convolution, as many as those of the first operand."""
    return slice((b - 1) // 2, (b - 1) // 2 + a)


def _solve_banded(bands: tuple[int, int], diagonals: Any, b: Any) -> Any:
    """By the dense matrix: element (i, j) is diagonals[upper + i - j, j]."""
    lower, upper = bands
    n = at.as_tensor(diagonals).type.shape[1]
    matrix: Any = 0.0
    for k in range(-lower, upper + 1):
        row = diagonals[upper - k]
        matrix = matrix + at.diag(row[max(k, 0) : n + min(k, 0)], k)
    return at.solve(matrix, b)


def _array(options: Any, keywords: Any, *args: Any) -> Any:
    return at.stack([at.as_tensor(x) for x in args])


def _concatenated(axis: Any, *args: Any) -> Any:
    return np.concatenate(args, axis)


_norm_logcdf: Final = lambda x, loc=0.0, scale=1.0: at.log_ndtr(_z(x, loc, scale))  # noqa: E731
COUNTERPARTS: Final[Mapping[str, Function]] = {
    "numpy.numpy_wrapper.array_from_args": _array,
    "numpy.numpy_wrapper._array_from_scalar_or_array": lambda options, keywords, x: x,
    "numpy.numpy_wrapper.concatenate_args": _concatenated,
    "numpy.numpy_wrapper.metadata": lambda x: (x.static_shape, x.ndim, np.dtype(x.dtype), np.iscomplexobj(x)),
    "numpy.shape": lambda x: x.static_shape,
    "numpy.make_diagonal": lambda x, offset=0, axis1=-1, axis2=-2: x[..., None] * np.eye(x.static_shape[-1]),
    "scipy.stats.norm.logpdf": _norm_logpdf,
    "scipy.stats.norm.pdf": _exp(_norm_logpdf),
    "scipy.stats.norm.logcdf": _norm_logcdf,
    "scipy.stats.norm.cdf": _exp(_norm_logcdf),
    "scipy.stats.norm.logsf": lambda x, loc=0.0, scale=1.0: _norm_logcdf(-x, -loc, scale),
    "scipy.stats.norm.sf": lambda x, loc=0.0, scale=1.0: at.exp(_norm_logcdf(-x, -loc, scale)),
    "scipy.stats.t.logpdf": _t_logpdf,
    "scipy.stats.t.pdf": _exp(_t_logpdf),
    "scipy.stats.t.cdf": _t_cdf,
    "scipy.stats.t.logcdf": lambda *args: at.log(_t_cdf(*args)),
    "scipy.stats.beta.logpdf": _beta_logpdf,
    "scipy.stats.beta.pdf": _exp(_beta_logpdf),
    "scipy.stats.beta.cdf": lambda x, a, b: at.betainc(a, b, x),
    "scipy.stats.gamma.logpdf": _gamma_logpdf,
    "scipy.stats.gamma.pdf": _exp(_gamma_logpdf),
    "scipy.stats.gamma.cdf": lambda x, a: at.gammainc(a, x),
    "scipy.stats.chi2.logpdf": _chi2_logpdf,
    "scipy.stats.chi2.pdf": _exp(_chi2_logpdf),
    "scipy.stats.chi2.cdf": lambda x, df: at.gammainc(at.as_tensor(df) / 2.0, x / 2),
    "scipy.stats.poisson.logpmf": _poisson_logpmf,
    "scipy.stats.poisson.pmf": _exp(_poisson_logpmf),
    "scipy.stats.poisson.cdf": lambda k, mu: at.gammaincc(at.as_tensor(k) + 1.0, mu),
    "scipy.stats.dirichlet.logpdf": _dirichlet_logpdf,
    "scipy.stats.dirichlet.pdf": _exp(_dirichlet_logpdf),
    "scipy.stats.multivariate_normal.logpdf": _mvn_logpdf,
    "scipy.stats.multivariate_normal.pdf": _exp(_mvn_logpdf),
    "scipy.stats.multivariate_normal.entropy": _mvn_entropy,
    "scipy.special.logsumexp": _logsumexp,
    "scipy.special.polygamma": at.polygamma,
    "scipy.special.multigammaln": _multigammaln,
    "scipy.signal.convolve": _convolve,
    "scipy.linalg.sqrtm": at.linalg.sqrtm,
    "scipy.linalg.solve_triangular": at.linalg.solve_triangular,
    "scipy.linalg.solve_sylvester": at.linalg.solve_sylvester,
    "scipy.linalg.solve_banded": _solve_banded,
}
"""Name below `autograd` → the same function of symbols."""


def replace() -> None:
    """Let functions of autograd use their counterparts where an argument is a symbol, and autograd trace symbols."""
    for name, ours in COUNTERPARTS.items():
        module, _, function = name.rpartition(".")
        primitive = getattr(importlib.import_module(f"autograd.{module}"), function)
        cell = primitive.__closure__[primitive.__code__.co_freevars.index("f_raw")]
        cell.cell_contents = _either(cell.cell_contents, ours)
    for kind in (Variable, Constant):
        ArrayBox.register(kind)
        SymbolSpace.register(kind)


class SymbolSpace(VSpace):
    """The vector space of a symbol, for derivatives that a program takes by autograd itself."""

    def __init__(self, value: Variable) -> None:
        self.shape, self.dtype = value.static_shape, np.dtype(value.dtype)
        self.iscomplex = self.dtype.kind == "c"

    @property
    def size(self) -> int:
        return math.prod(int(n or 0) for n in self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def standard_basis(self) -> Any:
        for k in np.ndindex(self.shape):
            unit = np.zeros(self.shape, self.dtype)
            unit[k] = 1
            yield unit

    def zeros(self) -> Any:
        return np.zeros(self.shape, self.dtype)

    def ones(self) -> Any:
        return np.ones(self.shape, self.dtype)

    def _add(self, x: Any, y: Any) -> Any:
        return x + y

    _mut_add = _add

    def _scalar_mul(self, x: Any, a: Any) -> Any:
        return x * a

    def _covector(self, x: Any) -> Any:
        return anp.conj(x) if self.iscomplex else x


def _either(theirs: Function, ours: Function) -> Function:
    @wraps(theirs)
    def call(*args: Any, **options: Any) -> Any:
        is_ours = any(isinstance(x, Variable) for x in (*args, *options.values()))
        return (ours if is_ours else theirs)(*args, **options)

    return call
