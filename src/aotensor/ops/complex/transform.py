"""The discrete Fourier transform along the last axis, as an op, and the steps that it is made of.

    y[j] = Σₖ x[k]·exp(s·2πi·jk/n),   s = −1 forward, +1 backward, no factor

Lengths are numbers that are known when the graph is made. n = r·p is split into one step (Stockham, decimation in
frequency): r streams of the input, a small transform across them, twiddle factors, and r interleaved streams of the
output. Rows are transformed one after the other, each by all of its steps. Prime lengths above
LARGEST_RADIX are convolutions of a length that splits (L. Bluestein, 1970).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

from aotensor.core import dtypes
from aotensor.core.types import Array, TensorType
from aotensor.errors import GraphTypeError, UnsupportedError
from aotensor.graph.op import Apply, Op
from aotensor.graph.variable import Variable, constant
from aotensor.ops.complex.formulas import Pair, times
from aotensor.ops.complex.parts import parts, whole
from aotensor.ops.elementwise.arithmetic import neg
from aotensor.ops.scan.folds import map
from aotensor.ops.shape.join import concatenate, stack
from aotensor.ops.shape.reshape import reshape

LARGEST_RADIX: Final = 13
"""The largest prime factor that is transformed by its definition."""
_RADICES: Final = (4, 2, 3, 5)
"""Radices that are tried first, in this order."""

_LONGEST_ROW: Final = 8192
"""Length up to which rows are transformed one by one; longer ones fit no near cache either way."""

Streams: TypeAlias = list[Pair]


@dataclass(frozen=True)
class Dft(Op):
    """The transform of a complex tensor along its last axis, whose extent is a number.   sign: of the exponent

    Raises: GraphTypeError for a real tensor or a scalar, UnsupportedError for an extent that is not known.
    """

    name: ClassVar[str] = "dft"
    takes_complex: ClassVar[bool] = True
    is_holomorphic: ClassVar[bool] = True
    sign: int

    def infer_type(self, x: TensorType) -> TensorType:
        if not dtypes.is_complex(x.dtype) or not x.rank:
            raise GraphTypeError(f"needs a complex tensor, not {x}")
        if not isinstance(x.shape[-1], int):
            raise UnsupportedError(
                "the length of a transform is a number that is known when the graph is made",
                hint='say it in the type, as in shape=("batch", 1024), or pass n=1024',
            )
        return x

    def reference(self, x: Array) -> Any:
        if not x.shape[-1]:
            return x
        return np.fft.fft(x) if self.sign < 0 else np.fft.ifft(x, norm="forward")

    def pullback(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable]
    ) -> list[Variable]:
        """The same transform: its matrix is symmetric, and cotangents are not conjugated."""
        return [self(cotangents[0])]

    def pushforward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable]
    ) -> list[Variable]:
        return [self(tangents[0])]

    def batch(self, node: Apply, inputs: Sequence[Variable], is_batched: Sequence[bool]) -> Sequence[Variable]:
        return self.apply(*inputs).outputs

    def expand(self, inputs: Sequence[Variable]) -> Sequence[Variable]:
        (x,) = inputs
        n = _length(x)
        if n <= 1:
            return [whole(*parts(x))]
        lead = [x.shape[axis] for axis in range(x.ndim - 1)]
        re, im = (reshape(part, [-1, n]) for part in parts(x))
        known = x.tensor_type.shape[:-1]
        if n > _LONGEST_ROW or all(extent == 1 for extent in known):
            re, im = transformed((re, im), n, self.sign)
        else:
            re, im = map(self._row, [re, im], return_updates=False)
        return [whole(*(reshape(part, [*lead, n]) for part in (re, im)))]

    def _row(self, re: Variable, im: Variable) -> list[Variable]:
        """The parts of one transform, all of whose steps stay in the first level cache."""
        n = _length(re)
        found = transformed((reshape(re, [1, n]), reshape(im, [1, n])), n, self.sign)
        return [reshape(part, [n]) for part in found]


def _length(x: Variable) -> int:
    n = x.tensor_type.shape[-1]
    assert isinstance(n, int)
    return n


def transformed(x: Pair, n: int, sign: int) -> Pair:
    """The transform of rows: parts of shape (batch, n)."""
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
    """Factors of n: those of _RADICES, then other primes in increasing order."""
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
    """The transform of r streams, element by element."""
    if len(x) == 2:
        return [_sum(x[0], x[1]), _difference(x[0], x[1])]
    if len(x) == 4:
        even, odd = _across([x[0], x[2]], sign), _across([x[1], x[3]], sign)
        turned = (neg(odd[1][1]), odd[1][0]) if sign > 0 else (odd[1][1], neg(odd[1][0]))
        return [
            _sum(even[0], odd[0]),
            _sum(even[1], turned),
            _difference(even[0], odd[0]),
            _difference(even[1], turned),
        ]
    return _by_symmetry(x, sign)


def _by_symmetry(x: Streams, sign: int) -> Streams:
    """An odd number of streams: cosines of the sums and sines of the differences of x[i] and x[r − i]."""
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
    """Bluestein: jk = (j² + k² − (j − k)²)/2, so that chirps make it a convolution of length ≥ 2n − 1."""
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
