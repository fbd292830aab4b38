"""Fourier transforms of real or Hermitian values along several axes, and of values with real spectra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.complex.fft import Length, chosen_axes, ifft, irfft, rfft, transform_axis
from aotensor.ops.complex.parts import conj
from aotensor.ops.shape.extents import SymbolicExtent

_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The norm of the transform in the other direction with the same factor."""


@public(numpy="fft.rfftn")
@coerced
def rfftn(
    x: Any, s: Sequence[SymbolicExtent] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Variable:
    """`rfft` along the last of several axes, `fft` along the others; by default along all axes.

    s: lengths, of the last axes if `axes` is not given.   Raises: as `rfft`
    """
    return _forward("rfftn", x, s, axes, norm)


@public(numpy="fft.irfftn")
@coerced
def irfftn(
    x: Any, s: Sequence[SymbolicExtent] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Variable:
    """The inverse of `rfftn`: real values, of length 2·(m − 1) along the last axis unless `s` gives it.

    Raises: as `irfft`
    """
    return _backward("irfftn", x, s, axes, norm)


@public(numpy="fft.rfft2")
@coerced
def rfft2(
    x: Any, s: Sequence[SymbolicExtent] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Variable:
    """`rfftn` along two axes.   Raises: as `rfft`"""
    return _forward("rfft2", x, s, axes, norm)


@public(numpy="fft.irfft2")
@coerced
def irfft2(
    x: Any, s: Sequence[SymbolicExtent] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Variable:
    """`irfftn` along two axes.   Raises: as `irfft`"""
    return _backward("irfft2", x, s, axes, norm)


@public(numpy="fft.hfft")
@coerced
def hfft(x: Any, n: Length = None, axis: int = -1, norm: str | None = None) -> Variable:
    """The real spectrum of a Hermitian signal with first n/2 + 1 values x.   n: 2·(m − 1) of an extent of m

    Raises: as `irfft`
    """
    return irfft(conj(as_tensor(x)), n, axis, _opposite("hfft", norm))


@public(numpy="fft.ihfft")
@coerced
def ihfft(x: Any, n: Length = None, axis: int = -1, norm: str | None = None) -> Variable:
    """The inverse of `hfft`: the first n/2 + 1 values of the Hermitian signal with the real spectrum x.

    Raises: as `rfft`
    """
    return conj(rfft(x, n, axis, _opposite("ihfft", norm)))


def _opposite(name: str, norm: str | None) -> str:
    if norm not in _OPPOSITE:
        raise GraphValueError(f"{name}: norm={norm!r} is unknown", hint="use 'backward', 'ortho' or 'forward'")
    return _OPPOSITE[norm]


def _forward(
    name: str, x: Any, s: Sequence[SymbolicExtent] | None, axes: Sequence[int] | None, norm: str | None
) -> Variable:
    found = as_tensor(x)
    *others, last = _at_least_one(name, found, chosen_axes(name, found, s, axes))
    found = rfft(found, last[1], last[0], norm)
    for axis, length in reversed(others):
        found = transform_axis(name, found, length, axis, norm, -1)
    return found


def _backward(
    name: str, x: Any, s: Sequence[SymbolicExtent] | None, axes: Sequence[int] | None, norm: str | None
) -> Variable:
    found = as_tensor(x)
    *others, last = _at_least_one(name, found, chosen_axes(name, found, s, axes))
    for axis, length in others:
        found = ifft(found, length, axis, norm)
    return irfft(found, last[1], last[0], norm)


def _at_least_one(name: str, x: Variable, axes: list[tuple[int, Length]]) -> list[tuple[int, Length]]:
    if not axes:
        raise GraphTypeError(f"{name}: expected at least one axis to transform", lines=[x.describe()])
    return axes
