"""Symbols: the inputs of a user's graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from aotensor.config import config
from aotensor.core import dtypes
from aotensor.core.types import Dim, TensorType, checked_dims
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, as_tensor

as_tensor_variable = as_tensor


@coerced
def tensor(name: str | None = None, dtype: DTypeLike | None = None, shape: Sequence[Dim] = ()) -> Variable:
    """A symbol of any rank.   shape: a number, a name or None per dim; dtype: floatX by default

    Raises: UnsupportedError for a dtype that cannot be compiled, GraphTypeError for an invalid name or shape.
    """
    return Variable(TensorType(dtypes.canonical(dtype or config.floatX), tuple(shape)), name=name)


class Constructor(Protocol):
    """Creates symbols of a fixed rank."""

    def __call__(
        self, name: str | None = None, dtype: DTypeLike | None = None, shape: Sequence[Dim] | None = None
    ) -> Variable: ...


class PrefixedConstructor(Protocol):
    """Creates symbols of a fixed rank and dtype."""

    def __call__(self, name: str | None = None, shape: Sequence[Dim] | None = None) -> Variable: ...


MOST: Final = 10**6
"""Number of symbols that one call can create."""

Plural: TypeAlias = Callable[..., list[Variable]]


def _constructor(kind: str, default: tuple[Dim, ...]) -> Constructor:
    def construct(
        name: str | None = None, dtype: DTypeLike | None = None, shape: Sequence[Dim] | None = None
    ) -> Variable:
        return tensor(name, dtype, default if shape is None else _checked(kind, checked_dims(shape), default))

    dims = ", ".join("?" if dim is None else str(dim) for dim in default)
    return _described(construct, kind, f"A symbol of rank {len(default)}, ({dims}) unless `shape` says more; floatX.")


def _checked(kind: str, shape: tuple[Dim, ...], default: tuple[Dim, ...]) -> tuple[Dim, ...]:
    if len(shape) != len(default):
        raise GraphTypeError(f"{kind}: shape must have {len(default)} dims, found {len(shape)}")
    for axis, (dim, fixed) in enumerate(zip(shape, default, strict=True)):
        if fixed is not None and dim != fixed:
            raise GraphValueError(f"{kind}: axis {axis} must have extent {fixed}, found {dim}")
    return shape


def _described(function: Callable[..., Variable], name: str, text: str) -> Callable[..., Variable]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return coerced(function)


_KINDS: dict[str, tuple[Dim, ...]] = {
    "scalar": (),
    "vector": (None,),
    "matrix": (None, None),
    "row": (1, None),
    "col": (None, 1),
    "tensor3": (None,) * 3,
    "tensor4": (None,) * 4,
    "tensor5": (None,) * 5,
}


def _prefixed(prefix: str, dtype: str) -> tuple[PrefixedConstructor, ...]:
    """One constructor of symbols per rank, with this prefix and dtype."""

    def fix(kind: str) -> PrefixedConstructor:
        construct = _constructor(kind, _KINDS[kind])

        def fixed(name: str | None = None, shape: Sequence[Dim] | None = None) -> Variable:
            return construct(name, dtype, shape)

        return _described(fixed, prefix + kind, f"`{kind}` of dtype {dtype}.")

    return tuple(fix(kind) for kind in _KINDS)


scalar, vector, matrix, row, col, tensor3, tensor4, tensor5 = (
    _constructor(kind, default) for kind, default in _KINDS.items()
)
bscalar, bvector, bmatrix, brow, bcol, btensor3, btensor4, btensor5 = _prefixed("b", "int8")
wscalar, wvector, wmatrix, wrow, wcol, wtensor3, wtensor4, wtensor5 = _prefixed("w", "int16")
iscalar, ivector, imatrix, irow, icol, itensor3, itensor4, itensor5 = _prefixed("i", "int32")
lscalar, lvector, lmatrix, lrow, lcol, ltensor3, ltensor4, ltensor5 = _prefixed("l", "int64")
fscalar, fvector, fmatrix, frow, fcol, ftensor3, ftensor4, ftensor5 = _prefixed("f", "float32")
dscalar, dvector, dmatrix, drow, dcol, dtensor3, dtensor4, dtensor5 = _prefixed("d", "float64")
cscalar, cvector, cmatrix, crow, ccol, ctensor3, ctensor4, ctensor5 = _prefixed("c", "complex64")
zscalar, zvector, zmatrix, zrow, zcol, ztensor3, ztensor4, ztensor5 = _prefixed("z", "complex128")


def _plural(construct: Callable[..., Variable]) -> Plural:
    def several(*names: str | int | None, dtype: DTypeLike | None = None) -> list[Variable]:
        options = {} if dtype is None else {"dtype": dtype}
        return [construct(name, **options) for name in _names(names)]

    several.__name__ = several.__qualname__ = f"{construct.__name__}s"
    several.__doc__ = (
        f'Several of `{construct.__name__}`: `(3)` unnamed ones, `("a", "b")`, `("a b")` or `("ab")` by their names.'
    )
    return several


def _names(given: tuple[str | int | None, ...]) -> Sequence[str | None]:
    """The names of several symbols: from a count, names, names in one string, or a string of letters."""
    if len(given) == 1 and isinstance(given[0], int | np.integer) and not isinstance(given[0], bool):
        if not 0 <= given[0] <= MOST:
            raise GraphValueError(f"a count of symbols must be from 0 to {MOST}, not {given[0]}")
        return [None] * int(given[0])
    if not all(name is None or isinstance(name, str) for name in given):
        raise GraphTypeError(f"expected one count or several names, not {', '.join(map(repr, given))}")
    if len(given) != 1 or given[0] is None:
        return [name for name in given if name is None or isinstance(name, str)]
    text = str(given[0])
    return text.replace(",", " ").split() if " " in text or "," in text else list(text)


def _plurals(*constructs: Callable[..., Variable]) -> tuple[Plural, ...]:
    return tuple(map(_plural, constructs))


scalars, vectors, matrices, rows, cols = _plurals(scalar, vector, matrix, row, col)
iscalars, ivectors, imatrices, irows, icols = _plurals(iscalar, ivector, imatrix, irow, icol)
lscalars, lvectors, lmatrices, lrows, lcols = _plurals(lscalar, lvector, lmatrix, lrow, lcol)
fscalars, fvectors, fmatrices, frows, fcols = _plurals(fscalar, fvector, fmatrix, frow, fcol)
dscalars, dvectors, dmatrices, drows, dcols = _plurals(dscalar, dvector, dmatrix, drow, dcol)
