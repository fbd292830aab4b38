"""Frequencies of Fourier transforms, and shifts of the zero frequency to the middle and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aotensor.core.types import normalise_axis
from aotensor.errors import GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.elementwise.arithmetic import mul, true_div
from aotensor.ops.elementwise.compare import cast, lt, switch
from aotensor.ops.ranges import arange
from aotensor.ops.shape.extents import SymbolicExtent, as_extent, extent_of
from aotensor.ops.shape.rearrange import roll


@coerced
def fftfreq(n: SymbolicExtent, d: Any = 1.0) -> Variable:
    """0, 1, …, −2, −1 divided by n·d: the frequencies of `fft` of n values with spacing d, float64 for an int.

    n: a number or an integer scalar of the graph.   Raises: GraphTypeError for another n, GraphValueError below 1.
    """
    length = _length("fftfreq", n)
    k = arange(length)
    return _divided(switch(lt(k, (length + 1) // 2), k, k - length), length, d)


@coerced
def rfftfreq(n: SymbolicExtent, d: Any = 1.0) -> Variable:
    """0, 1, …, ⌊n/2⌋ divided by n·d: the frequencies of `rfft` of n values.   Raises: as `fftfreq`"""
    length = _length("rfftfreq", n)
    return _divided(arange(length // 2 + 1), length, d)


@public(numpy="fft.fftshift")
@coerced
def fftshift(x: Any, axes: int | Sequence[int] | None = None) -> Variable:
    """x with the frequency 0 in the middle, along one or several axes, by default all.

    Raises: GraphValueError for an axis that x does not have.
    """
    return _rolled(as_tensor(x), axes, 1)


@public(numpy="fft.ifftshift")
@coerced
def ifftshift(x: Any, axes: int | Sequence[int] | None = None) -> Variable:
    """The inverse of `fftshift`, which differs from it for odd extents.   Raises: as `fftshift`"""
    return _rolled(as_tensor(x), axes, -1)


def _length(name: str, n: SymbolicExtent) -> SymbolicExtent:
    length = as_extent(n, f"{name}: the length")
    if isinstance(length, int) and length < 1:
        raise GraphValueError(f"{name}: the length must be at least 1, found {length}")
    return length


def _divided(k: Variable, length: SymbolicExtent, d: Any) -> Variable:
    return true_div(k, mul(length if isinstance(length, int) else cast(length, "float64"), d))


def _rolled(x: Variable, axes: int | Sequence[int] | None, sign: int) -> Variable:
    if axes is None:
        axes = range(x.ndim)
    for axis in [axes] if isinstance(axes, int) else axes:
        position = normalise_axis(axis, x.ndim)
        x = roll(x, sign * (extent_of(x, position) // 2), position)
    return x
