"""Fourier transforms with NumPy's names, norms and axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aotensor.core import dtypes
from aotensor.core.types import normalise_axis
from aotensor.errors import GraphTypeError, GraphValueError, UnsupportedError
from aotensor.graph.coercion import coerced, one_of
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.complex.parts import to_complex
from aotensor.ops.complex.transform import Dft, OfHalf, RealDft
from aotensor.ops.create import zeros
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.shape.axes import moveaxis
from aotensor.ops.shape.join import concatenate


@coerced
def fft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Variable:
    """Σₖ x[k]·exp(−2πi·jk/n) along an axis, complex64 of float32 and complex64, else complex128.

    n: the length, to which x of any extent is cut or filled with zeros; a number, by default the extent, which must be
    one then.
    norm: "backward" (or None: no factor), "ortho" (1/√n) or "forward" (1/n).

    Raises: GraphTypeError for a scalar; GraphValueError for a norm, a length or an axis that is none; UnsupportedError
    for a length that is not known when the graph is made.
    """
    return _transformed("fft", x, n, axis, norm, -1)


@coerced
def ifft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Variable:
    """The inverse of `fft` with the same norm: 1/n·Σₖ x[k]·exp(2πi·jk/n) for "backward".   Raises: as `fft`"""
    return _transformed("ifft", x, n, axis, norm, 1)


@coerced
def rfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Variable:
    """The first n/2 + 1 values of `fft` of a real x; the others are their conjugates.

    Even lengths are transformed as complex ones of half the length.

    Raises: as `fft`, and GraphTypeError for a complex x.
    """
    x = as_tensor(x)
    if dtypes.is_complex(x.dtype):
        raise GraphTypeError("rfft: x is complex", lines=[x.describe()], hint="use fft, or real(x)")
    rows, length, axis = _rows("rfft", x, n, axis)
    rows = cast(rows, _floating(rows.dtype))
    return moveaxis(_scaled(RealDft()(rows), length, _factor("rfft", norm, -1)), -1, axis)


@coerced
def irfft(x: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Variable:
    """The inverse of `rfft`: real values of length n, by default 2·(m − 1) for an extent of m.

    The imaginary parts of x[0] and, for even n, of x[n/2] count as 0. Raises: as `fft`
    """
    x = _complex(as_tensor(x))
    axis = _axis("irfft", x, axis)
    extent = x.tensor_type.shape[axis]
    if n is None and not isinstance(extent, int):
        raise _unknown("irfft", x)
    length = n if n is not None else 2 * (extent - 1)
    if length < 1:
        raise GraphValueError(f"irfft: a length of {length}", lines=[x.describe()])
    rows, _, _ = _rows("irfft", x, length // 2 + 1, axis)
    factor = _factor("irfft", norm, 1)
    return moveaxis(_scaled(OfHalf(length)(rows), length, factor), -1, axis)


@coerced
def fftn(
    x: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Variable:
    """`fft` along several axes, by default all, or the last ones where `s` has their lengths.   Raises: as `fft`"""
    return _along("fftn", x, s, axes, norm, -1)


@coerced
def ifftn(
    x: Any, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None
) -> Variable:
    """`ifft` along several axes, as `fftn`.   Raises: as `fft`"""
    return _along("ifftn", x, s, axes, norm, 1)


@coerced
def fft2(x: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Variable:
    """`fft` along two axes.   Raises: as `fft`"""
    return _along("fft2", x, s, axes, norm, -1)


@coerced
def ifft2(x: Any, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Variable:
    """`ifft` along two axes.   Raises: as `fft`"""
    return _along("ifft2", x, s, axes, norm, 1)


def _along(
    name: str, x: Any, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str | None, sign: int
) -> Variable:
    found = as_tensor(x)
    chosen = list(range(found.ndim) if axes is None else axes)
    if s is not None and axes is None:
        chosen = list(range(-len(s), 0))
    if s is not None and len(s) != len(chosen):
        raise GraphValueError(f"{name}: {len(s)} lengths for {len(chosen)} axes")
    if name.endswith("2") and len(chosen) != 2:
        raise GraphValueError(f"{name}: two axes, not {len(chosen)}")
    lengths: Sequence[int | None] = [None] * len(chosen) if s is None else s
    for axis, length in reversed(list(zip(chosen, lengths, strict=True))):
        found = _transformed(name, found, length, axis, norm, sign)
    return found if chosen else _complex(found)


def _transformed(name: str, x: Any, n: int | None, axis: int, norm: str | None, sign: int) -> Variable:
    factor = _factor(name, norm, sign)
    rows, length, axis = _rows(name, _complex(as_tensor(x)), n, axis)
    return moveaxis(_scaled(Dft(sign)(rows), length, factor), -1, axis)


def _complex(x: Variable) -> Variable:
    return x if dtypes.is_complex(x.dtype) else to_complex(x, dtypes.complex_of(_floating(x.dtype)))


def _floating(dtype: str) -> str:
    """float64 for integers, as NumPy's transforms take them."""
    return "float64" if dtypes.is_discrete(dtype) else dtype


def _factor(name: str, norm: str | None, sign: int) -> float:
    """The power of 1/n that the norm gives a transform of that direction.   Raises: GraphValueError for no norm"""
    chosen = one_of(f"{name}: norm", "backward" if norm is None else norm, ("backward", "ortho", "forward"))
    return 0.5 if chosen == "ortho" else float((chosen == "forward") == (sign < 0))


def _scaled(x: Variable, length: int, power: float) -> Variable:
    return x * float(length) ** -power if power else x


def _axis(name: str, x: Variable, axis: int) -> int:
    if not x.ndim:
        raise GraphTypeError(f"{name}: a scalar has no axis", lines=[x.describe()])
    try:
        return normalise_axis(axis, x.ndim)
    except (GraphTypeError, GraphValueError) as error:
        raise type(error)(f"{name}: {error.diagnostic.title}", lines=[x.describe()]) from error


def _unknown(name: str, x: Variable) -> UnsupportedError:
    return UnsupportedError(
        f"{name}: the length of a transform is a number that is known when the graph is made",
        lines=[x.describe()],
        hint='say it in the type, as in shape=("batch", 1024), or pass n=1024',
    )


def _rows(name: str, x: Variable, n: int | None, axis: int) -> tuple[Variable, int, int]:
    """x with the axis last, cut or filled to n, the length, and the number of the axis."""
    axis = _axis(name, x, axis)
    rows = moveaxis(x, axis, -1)
    extent = rows.tensor_type.shape[-1]
    length = extent if n is None else n
    if not isinstance(length, int):
        raise _unknown(name, x)
    if length < 1:
        raise GraphValueError(f"{name}: a length of {length}", lines=[x.describe()])
    if extent == length:
        return rows, length, axis
    if isinstance(extent, int) and extent > length:
        return rows[..., :length], length, axis
    lead = [rows.shape[k] for k in range(rows.ndim - 1)]
    if not isinstance(extent, int):
        given = rows[..., :length]
        return zeros([*lead, length], rows.dtype)[..., : given.shape[-1]].set(given), length, axis
    return concatenate([rows, zeros([*lead, length - extent], rows.dtype)], axis=-1), length, axis
