"""Fourier transforms with NumPy's names, norms and axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from aotensor.core import dtypes
from aotensor.core.types import normalise_axis
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.complex.parts import complex, imag, real, to_complex
from aotensor.ops.complex.transform import Dft, OfHalf, RealDft
from aotensor.ops.create import zeros
from aotensor.ops.elementwise.arithmetic import minimum, mul
from aotensor.ops.elementwise.compare import cast, eq, gt, lt, switch
from aotensor.ops.ranges import arange
from aotensor.ops.shape.axes import moveaxis
from aotensor.ops.shape.extents import SymbolicExtent, as_extent, extent_of
from aotensor.ops.shape.join import concatenate
from aotensor.ops.take import take

Length: TypeAlias = SymbolicExtent | None
"""The length of a transform: a number, an integer scalar of the graph, or None for the extent."""


@public(numpy="fft.fft")
@coerced
def fft(x: Any, n: Length = None, axis: int = -1, norm: str | None = None) -> Variable:
    """Σₖ x[k]·exp(−2πi·jk/n) along an axis, complex64 of float32 and complex64, else complex128.

    n: the length, to which x is cut or padded with zeros, by default the extent. A length known when the graph is
    built, as a number or from the type of x, is computed in steps of its factors, others as convolutions of a power
    of 2, which takes 30 to 70 times as long where the primes of the length are up to 13, else 4 to 6 times.
    norm: "backward" (or None: no factor), "ortho" (1/√n) or "forward" (1/n).

    Raises: GraphTypeError for a scalar; GraphValueError for an invalid norm, length or axis. A length of 0 at
    run time gives an empty result, a negative one is an error of the call.
    """
    return transform_axis("fft", x, n, axis, norm, -1)


@public(numpy="fft.ifft")
@coerced
def ifft(x: Any, n: Length = None, axis: int = -1, norm: str | None = None) -> Variable:
    """The inverse of `fft` with the same norm: 1/n·Σₖ x[k]·exp(2πi·jk/n) for "backward".   Raises: as `fft`"""
    return transform_axis("ifft", x, n, axis, norm, 1)


@public(numpy="fft.rfft")
@coerced
def rfft(x: Any, n: Length = None, axis: int = -1, norm: str | None = None) -> Variable:
    """The first n/2 + 1 values of `fft` of a real x; the others are their conjugates.

    Even lengths known when the graph is built are transformed as complex ones of half the length.

    Raises: as `fft`, and GraphTypeError for a complex x.
    """
    x = as_tensor(x)
    if dtypes.is_complex(x.dtype):
        raise GraphTypeError(
            "rfft: x must be real, but it is complex", lines=[x.describe()], hint="use fft, or real(x)"
        )
    rows, length, axis = _rows("rfft", x, n, axis)
    rows = cast(rows, _floating(rows.dtype))
    found = RealDft()(rows) if isinstance(length, int) else Dft(-1)(_complex(rows))[..., : length // 2 + 1]
    return moveaxis(_scaled(found, length, _factor("rfft", norm, -1)), -1, axis)


@public(numpy="fft.irfft")
@coerced
def irfft(x: Any, n: Length = None, axis: int = -1, norm: str | None = None) -> Variable:
    """The inverse of `rfft`: a real signal from the first length/2 + 1 values of its transform."""
    x = _complex(as_tensor(x))
    axis = _axis("irfft", x, axis)
    length = 2 * (extent_of(x, axis) - 1) if n is None else as_extent(n, "irfft: the length")
    if isinstance(length, int) and length < 1:
        raise GraphValueError(f"irfft: the length must be at least 1, found {length}", lines=[x.describe()])
    rows, _, _ = _rows("irfft", x, length // 2 + 1, axis)
    found = OfHalf(length)(rows) if isinstance(length, int) else real(Dft(1)(_mirrored(rows, length)))
    return moveaxis(_scaled(found, length, _factor("irfft", norm, 1)), -1, axis)


def _mirrored(half: Variable, length: Variable) -> Variable:
    """All `length` values of the transform of a real signal, from the first length/2 + 1: the others are conjugates."""
    k = arange(length)
    sign = switch(eq(k, 0), 0, cast(gt(length, 2 * k), "int8") - cast(lt(length, 2 * k), "int8"))
    values = take(half, minimum(k, length - k), axis=-1)
    return complex(real(values), imag(values) * cast(sign, dtypes.part_of(half.dtype)))


@public(numpy="fft.fftn")
@coerced
def fftn(
    x: Any, s: Sequence[SymbolicExtent] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Variable:
    """`fft` along several axes, by default all, or the last ones where `s` has their lengths.   Raises: as `fft`"""
    return _along("fftn", x, s, axes, norm, -1)


@public(numpy="fft.ifftn")
@coerced
def ifftn(
    x: Any, s: Sequence[SymbolicExtent] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Variable:
    """`ifft` along several axes, as `fftn`.   Raises: as `fft`"""
    return _along("ifftn", x, s, axes, norm, 1)


@public(numpy="fft.fft2")
@coerced
def fft2(
    x: Any, s: Sequence[SymbolicExtent] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Variable:
    """`fft` along two axes.   Raises: as `fft`"""
    return _along("fft2", x, s, axes, norm, -1)


@public(numpy="fft.ifft2")
@coerced
def ifft2(
    x: Any, s: Sequence[SymbolicExtent] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None
) -> Variable:
    """`ifft` along two axes.   Raises: as `fft`"""
    return _along("ifft2", x, s, axes, norm, 1)


def _along(
    name: str, x: Any, s: Sequence[SymbolicExtent] | None, axes: Sequence[int] | None, norm: str | None, sign: int
) -> Variable:
    found = as_tensor(x)
    chosen = chosen_axes(name, found, s, axes)
    for axis, length in reversed(chosen):
        found = transform_axis(name, found, length, axis, norm, sign)
    return found if chosen else _complex(found)


def chosen_axes(
    name: str, x: Variable, s: Sequence[SymbolicExtent] | None, axes: Sequence[int] | None
) -> list[tuple[int, Length]]:
    """The axes of a transform along several of them, each with its length or None.

    Raises: GraphValueError if their numbers differ, or are not two for a name that ends in 2
    """
    chosen = list(range(x.ndim) if axes is None else axes)
    if s is not None and axes is None:
        chosen = list(range(-len(s), 0))
    if s is not None and len(s) != len(chosen):
        raise GraphValueError(f"{name}: {len(s)} lengths for {len(chosen)} axes")
    if name.endswith("2") and len(chosen) != 2:
        raise GraphValueError(f"{name}: expected two axes, found {len(chosen)}")
    lengths: Sequence[Length] = [None] * len(chosen) if s is None else s
    return list(zip(chosen, lengths, strict=True))


def transform_axis(name: str, x: Any, n: Length, axis: int, norm: str | None, sign: int) -> Variable:
    """Complex Fourier transform along an axis, forward for sign −1. `name` is used in errors.   Raises: as `fft`"""
    factor = _factor(name, norm, sign)
    rows, length, axis = _rows(name, _complex(as_tensor(x)), n, axis)
    return moveaxis(_scaled(Dft(sign)(rows), length, factor), -1, axis)


def _complex(x: Variable) -> Variable:
    return x if dtypes.is_complex(x.dtype) else to_complex(x, dtypes.complex_of(_floating(x.dtype)))


def _floating(dtype: str) -> str:
    """The dtype of a transform: float64 for integers, as in NumPy, else the dtype itself."""
    return "float64" if dtypes.is_discrete(dtype) else dtype


def _factor(name: str, norm: str | None, sign: int) -> float:
    """The exponent of 1/n by which `norm` scales this direction.   Raises: GraphValueError for an unknown norm"""
    chosen = check_choice(f"{name}: norm", "backward" if norm is None else norm, ("backward", "ortho", "forward"))
    return 0.5 if chosen == "ortho" else float((chosen == "forward") == (sign < 0))


def _scaled(x: Variable, length: SymbolicExtent, power: float) -> Variable:
    if not power:
        return x
    if isinstance(length, int):
        return mul(x, float(length) ** -power)
    return mul(x, cast(cast(length, "float64") ** -power, dtypes.part_of(x.dtype)))


def _axis(name: str, x: Variable, axis: int) -> int:
    if not x.ndim:
        raise GraphTypeError(f"{name}: expected at least one axis, found a scalar", lines=[x.describe()])
    try:
        return normalise_axis(axis, x.ndim)
    except (GraphTypeError, GraphValueError) as error:
        raise type(error)(f"{name}: {error.diagnostic.title}", lines=[x.describe()]) from error


def _rows(name: str, x: Variable, n: Length, axis: int) -> tuple[Variable, SymbolicExtent, int]:
    """x with the transformed axis last, cut or padded to length n; the length; the position of the axis."""
    axis = _axis(name, x, axis)
    rows = moveaxis(x, axis, -1)
    extent = extent_of(rows, -1)
    length = extent if n is None else as_extent(n, f"{name}: the length")
    if isinstance(length, int) and length < 1:
        raise GraphValueError(f"{name}: the length must be at least 1, found {length}", lines=[x.describe()])
    if n is None or (isinstance(extent, int) and extent == length):
        return rows, length, axis
    if isinstance(extent, int) and isinstance(length, int) and extent > length:
        return rows[..., :length], length, axis
    lead = [rows.shape[k] for k in range(rows.ndim - 1)]
    if isinstance(extent, int) and isinstance(length, int):
        return concatenate([rows, zeros([*lead, length - extent], rows.dtype)], axis=-1), length, axis
    given = rows[..., :length]
    return zeros([*lead, length], rows.dtype)[..., : given.shape[-1]].set(given), length, axis
