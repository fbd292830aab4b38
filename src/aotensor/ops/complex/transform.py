"""The discrete Fourier transform along the last axis, as an op, and the steps of its expansion.

    y[j] = Σₖ x[k]·exp(s·2πi·jk/n),   s = −1 forward, +1 backward, no factor

A length known when the graph is built, n = r·p, is split into one step (Stockham, decimation in
frequency): r streams of the input, a small transform across them, twiddle factors, and r interleaved streams of the
output. Rows are transformed one after the other, each by all of its steps. Prime lengths above
LARGEST_RADIX are convolutions of a length that splits (L. Bluestein, 1970), and so is a run-time length (chirps.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

from aotensor.core import dtypes
from aotensor.core.frozen import frozen_dataclass
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, UnsupportedError
from aotensor.graph.variable import Variable, Variables, constant
from aotensor.ops.batching import SampleOp
from aotensor.ops.complex.chirps import chirped
from aotensor.ops.complex.formulas import Pair, times
from aotensor.ops.complex.parts import AsPairs, OfPairs, conj, join_parts, part_of, parts
from aotensor.ops.create import is_zeros, zeros_like
from aotensor.ops.elementwise.arithmetic import neg
from aotensor.ops.linear import LinearOp
from aotensor.ops.scan.folds import map
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.shape.join import concatenate, stack
from aotensor.ops.shape.reshape import reshape

LARGEST_RADIX: Final = 13
"""The largest prime factor that is transformed directly by the definition."""
_RADICES: Final = (4, 2, 3, 5)
"""Radices in the order in which they are tried."""

_MOST_NUMBERS: Final = 1 << 14
"""Most real numbers of a row for transforming rows one by one; longer rows exceed the first caches anyway."""

Streams: TypeAlias = list[Pair]


@frozen_dataclass
class Dft(SampleOp):
    """The transform of a complex tensor along its last axis.   sign: of the exponent

    Raises: GraphTypeError for a real tensor or a scalar.
    """

    name: ClassVar[str] = "dft"
    notation: ClassVar[str] = "fft({0})"
    takes_complex: ClassVar[bool] = True
    is_holomorphic: ClassVar[bool] = True
    sign: int

    def infer_type(self, x: TensorType) -> TensorType:
        if not dtypes.is_complex(x.dtype) or not x.rank:
            raise GraphTypeError(f"expected a complex tensor, found {x}")
        return x

    def reference(self, x: Array) -> Any:
        if not x.shape[-1]:
            return x
        return np.fft.fft(x) if self.sign < 0 else np.fft.ifft(x, norm="forward")

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> list[Variable]:
        """The transform of the cotangent: the matrix of the transform is symmetric, and cotangents are not
        conjugated.
        """
        return [self(cotangents[0])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Variables) -> list[Variable]:
        return [self(tangents[0])]

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        (x,) = inputs
        n = extent_of(x, -1)
        if not isinstance(n, int):
            transform = chirped(n, self.sign, dtypes.part_of(x.dtype))
            return [OfPairs()(_by_rows(lambda v: _stack_pairs(transform(_split_pairs(v))), AsPairs()(x), 2))]
        if n <= 1:
            return [join_parts(*parts(x))]
        if is_zeros(part_of(x, 1)):
            return [
                OfPairs()(_by_rows(lambda v: _stack_pairs(transformed((v, zeros_like(v)), n, self.sign)), parts(x)[0]))
            ]
        return [
            OfPairs()(_by_rows(lambda v: _stack_pairs(transformed(_split_pairs(v), n, self.sign)), AsPairs()(x), 2))
        ]


@frozen_dataclass
class RealDft(SampleOp, LinearOp):
    """The first n/2 + 1 values of the forward transform of a real tensor along its last axis, for a static extent n.

    Transforms of even length use complex ones of half the length, others complex ones of the same length.

    Raises: GraphTypeError for a complex tensor or a scalar, UnsupportedError for an extent that is not known.
    """

    name: ClassVar[str] = "real_dft"
    notation: ClassVar[str] = "rfft({0})"
    is_analytic: ClassVar[bool] = False
    takes_complex: ClassVar[bool] = True

    def infer_type(self, x: TensorType) -> TensorType:
        if not dtypes.is_float(x.dtype) or not x.rank:
            raise GraphTypeError(f"expected a tensor of float32 or float64, found {x}")
        return TensorType(dtypes.complex_of(x.dtype), (*x.shape[:-1], _known_length(x) // 2 + 1))

    def reference(self, x: Array) -> Any:
        return np.fft.rfft(x)

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        """x̄[j] = Re Σₖ g[k]·w^(jk), k ≤ n/2: the other transform of ḡ, in which values between count twice."""
        n = _length(inputs[0])
        return OfHalf(n)(conj(cotangent) * constant(1 / _counts(n).astype(inputs[0].dtype)))  # type: ignore[no-any-return]

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        (x,) = inputs
        return [OfPairs()(_by_rows(lambda v: _stack_pairs(half_of_real(v, _length(x))), x))]


@frozen_dataclass
class OfHalf(SampleOp, LinearOp):
    """np.fft.irfft(x, length, norm="forward"): the unnormalised inverse transform of the first n/2 + 1 values, real.

    (…, length/2 + 1), complex → (…, length). Imaginary parts of the first value and, for even n, of the last one count
    as 0.

    Raises: GraphTypeError for a real tensor, a scalar or another extent.
    """

    name: ClassVar[str] = "of_half_dft"
    notation: ClassVar[str] = "irfft({0})"
    is_analytic: ClassVar[bool] = False
    takes_complex: ClassVar[bool] = True
    length: int

    def infer_type(self, x: TensorType) -> TensorType:
        if not dtypes.is_complex(x.dtype) or not x.rank or x.shape[-1] != self.length // 2 + 1:
            raise GraphTypeError(
                f"expected a complex tensor with {self.length // 2 + 1} elements along its last axis, found {x}"
            )
        return TensorType(dtypes.part_of(x.dtype), (*x.shape[:-1], self.length))

    def reference(self, x: Array) -> Any:
        return np.fft.irfft(x, self.length, norm="forward")

    def transpose(self, inputs: Sequence[Variable], cotangent: Variable) -> Variable:
        """x̄[k] = Σⱼ g[j]·w^(−jk), twice where it counts twice; at both ends it is real."""
        found = RealDft()(cotangent)
        return conj(found) * constant(_counts(self.length).astype(cotangent.dtype))

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        return [_by_rows(lambda v: real_of_half(_split_pairs(v), self.length), AsPairs()(inputs[0]), 2)]


def _counts(n: int) -> Array:
    """How often each of the first n/2 + 1 values occurs among all n, counting conjugates: 2, or 1 at the ends."""
    found = np.full(n // 2 + 1, 2)
    found[0] = 1
    if n % 2 == 0:
        found[-1] = 1
    return found


def _by_rows(function: Callable[[Variable], Variable], x: Variable, core: int = 1) -> Variable:
    """Apply a function (batch, …) → (batch, …) to the rows of x, its last `core` axes.

    Rows are transformed one after the other, all steps of each while it is in the first-level cache, unless there is
    only one, or they do not fit.
    """
    lead = [x.shape[axis] for axis in range(x.ndim - core)]
    known = x.tensor_type.shape
    row = [x.shape[axis] for axis in range(x.ndim - core, x.ndim)]
    flat = reshape(x, [-1, *row])
    if math.prod(n for n in known[x.ndim - core :] if isinstance(n, int)) > _MOST_NUMBERS or all(
        extent == 1 for extent in known[: x.ndim - core]
    ):
        found = function(flat)
    else:
        found = map(lambda v: function(v[None])[0], [flat], return_updates=False)
    return reshape(found, [*lead, *(found.shape[axis] for axis in range(1, found.ndim))])


def _split_pairs(pairs: Variable) -> Pair:
    return pairs[..., 0], pairs[..., 1]


def _stack_pairs(x: Pair) -> Variable:
    return stack(list(x), axis=x[0].ndim)


def _length(x: Variable) -> int:
    return _known_length(x.tensor_type)


def _known_length(x: TensorType) -> int:
    """The static extent of the last axis.   Raises: UnsupportedError if it is unknown"""
    n = x.shape[-1]
    if not isinstance(n, int):
        raise UnsupportedError(
            "the length of this transform must be a number that is known when the graph is built",
            hint='say it in the type, as in shape=("batch", 1024), or pass n=1024',
        )
    return n


def half_of_real(x: Variable, n: int) -> Pair:
    """(batch, n) → the parts of (batch, n/2 + 1).

    X[k] = (Z[k] + Z̄[h − k])/2 − i·w^k·(Z[k] − Z̄[h − k])/2, with Z of x[0] + i·x[1], x[2] + i·x[3], …; h = n/2
    """
    h = n // 2
    if n % 2:
        re, im = transformed((x, zeros_like(x)), n, -1)
        return re[:, : h + 1], im[:, : h + 1]
    both = reshape(x, [-1, h, 2])
    re, im = transformed((both[..., 0], both[..., 1]), h, -1)
    c, s = _constants(-0.5j * unit_roots(np.arange(1, h), n, -1), x.dtype)
    a, b = re[:, 1:], re[:, :0:-1]
    p, q = im[:, 1:], im[:, :0:-1]
    even, odd = (0.5 * (a + b), 0.5 * (p - q)), times((a - b, p + q), (c, s))
    first, last = re[:, :1] + im[:, :1], re[:, :1] - im[:, :1]
    nothing = zeros_like(first)
    return (
        concatenate([first, even[0] + odd[0], last], axis=1),
        concatenate([nothing, even[1] + odd[1], nothing], axis=1),
    )


def real_of_half(x: Pair, n: int) -> Variable:
    """The parts of (batch, n/2 + 1) → (batch, n).

    Z[k] = X[k] + X̄[h − k] + i·w^(−k)·(X[k] − X̄[h − k]); its transform has the even and odd values as parts; h = n/2
    """
    (re, im), h = x, n // 2
    if n % 2:
        nothing = zeros_like(im[:, :1])
        mirrored = concatenate([re, re[:, :0:-1]], axis=1), concatenate([nothing, im[:, 1:], -im[:, :0:-1]], axis=1)
        return transformed(mirrored, n, 1)[0] if n > 1 else re
    c, s = _constants(1j * unit_roots(np.arange(1, h), n, 1), re.dtype)
    a, b = re[:, 1:h], re[:, h - 1 : 0 : -1]
    p, q = im[:, 1:h], im[:, h - 1 : 0 : -1]
    odd = times((a - b, p + q), (c, s))
    z = (
        concatenate([re[:, :1] + re[:, h:], (a + b) + odd[0]], axis=1),
        concatenate([re[:, :1] - re[:, h:], (p - q) + odd[1]], axis=1),
    )
    return reshape(_stack_pairs(transformed(z, h, 1)), [-1, n])


def transformed(x: Pair, n: int, sign: int) -> Pair:
    """The transform of rows, given and returned as (real, imaginary) parts of shape (batch, n)."""
    if n == 1:
        return x
    factors = radices(n)
    if factors[-1] > LARGEST_RADIX:
        return _by_convolution(x, n, sign)
    finished, left = 1, n
    for r in factors:
        left //= r
        x = _step(x, (r, left, finished), sign)
        finished *= r
    return x


def radices(n: int) -> list[int]:
    """The factors of n by which a transform is split: those in _RADICES, then other primes in increasing order."""
    found: list[int] = []
    for r in _RADICES:
        while n % r == 0:
            found.append(r)
            n //= r
    r = 7
    while n > 1:
        if r * r > n:
            r = n
        while n % r == 0:
            found.append(r)
            n //= r
        r += 2
    return found


def _step(x: Pair, sizes: tuple[int, int, int], sign: int) -> Pair:
    """(batch, r·p·m) → (batch, p·r·m): y[q, j, s] = w^(jq)·Σᵢ x[i, q, s]·w^(p·ij), w = exp(sign·2πi/(r·p))."""
    r, p, m = sizes
    re, im = (reshape(part, [-1, r, p, m]) for part in x)
    streams = _across([(re[:, i], im[:, i]) for i in range(r)], sign)
    if p > 1:
        table = unit_roots(np.arange(r)[:, None] * np.arange(p), r * p, sign)
        twiddles = [_constants(row[:, None], re.dtype) for row in table]
        streams = [streams[0], *(times(s, w) for s, w in zip(streams[1:], twiddles[1:], strict=True))]
    joined = (reshape(stack([s[k] for s in streams], axis=2), [-1, r * p * m]) for k in range(2))
    return next(joined), next(joined)


def unit_roots(powers: Any, n: int, sign: int) -> Array:
    """exp(sign·2πi·k/n) for integers k, each part rounded once."""
    angle = np.longdouble(2) * np.arctan2(np.longdouble(0), np.longdouble(-1)) * (np.asarray(powers) % n) / n
    found: Array = np.empty(angle.shape, np.complex128)
    found.real, found.imag = np.cos(angle), sign * np.sin(angle)
    return found


def _constants(values: Array, dtype: str) -> Pair:
    return constant(values.real.astype(dtype)), constant(values.imag.astype(dtype))


def _across(x: Streams, sign: int) -> Streams:
    """The transform of r = len(x) arrays across the list, elementwise: y[j] = Σᵢ w^(ij)·x[i]."""
    if len(x) == 2:
        return [_sum(x[0], x[1]), _difference(x[0], x[1])]
    if len(x) == 4:
        even, odd = _across([x[0], x[2]], sign), _across([x[1], x[3]], sign)
        rotated = (neg(odd[1][1]), odd[1][0]) if sign > 0 else (odd[1][1], neg(odd[1][0]))
        return [
            _sum(even[0], odd[0]),
            _sum(even[1], rotated),
            _difference(even[0], odd[0]),
            _difference(even[1], rotated),
        ]
    return _by_symmetry(x, sign)


def _by_symmetry(x: Streams, sign: int) -> Streams:
    """`_across` for an odd number of arrays, by cosines of the sums and sines of the differences of x[i] and x[r −
    i].
    """
    r = len(x)
    half = range(1, (r + 1) // 2)
    sums, gaps = {i: _sum(x[i], x[r - i]) for i in half}, {i: _difference(x[i], x[r - i]) for i in half}
    first = x[0]
    for i in half:
        first = _sum(first, sums[i])
    found: dict[int, Pair] = {0: first}
    for j in half:
        roots = {i: unit_roots(i * j, r, sign) for i in half}
        re, im = x[0]
        across_re, across_im = None, None
        for i in half:
            c, s = float(roots[i].real), float(roots[i].imag)
            re, im = re + c * sums[i][0], im + c * sums[i][1]
            across_re = s * gaps[i][1] if across_re is None else across_re + s * gaps[i][1]
            across_im = s * gaps[i][0] if across_im is None else across_im + s * gaps[i][0]
        found[j], found[r - j] = (re - across_re, im + across_im), (re + across_re, im - across_im)
    return [found[j] for j in range(r)]


def _sum(a: Pair, b: Pair) -> Pair:
    return a[0] + b[0], a[1] + b[1]


def _difference(a: Pair, b: Pair) -> Pair:
    return a[0] - b[0], a[1] - b[1]


def _by_convolution(x: Pair, n: int, sign: int) -> Pair:
    """Bluestein's algorithm: jk = (j² + k² − (j − k)²)/2, a convolution of length ≥ 2n − 1 with chirps."""
    size = 1 << (2 * n - 2).bit_length()
    dtype = x[0].dtype
    chirp = unit_roots(np.arange(n) ** 2 % (2 * n), 2 * n, sign)
    kernel = np.zeros(size, np.complex128)
    kernel[:n] = chirp.conj()
    kernel[size - n + 1 :] = chirp[1:][::-1].conj()
    inner, weights = _constants(chirp, dtype), _constants(np.fft.fft(kernel) / size, dtype)
    a = times(x, inner)
    padding = constant(np.zeros((1, size - n), dtype))
    widths = (concatenate([part, part[:, :1] * 0 + padding], axis=1) for part in a)
    spectrum = times(transformed((next(widths), next(widths)), size, -1), weights)
    re, im = transformed(spectrum, size, 1)
    return times((re[:, :n], im[:, :n]), inner)
