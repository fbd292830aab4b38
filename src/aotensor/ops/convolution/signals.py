"""convolve, correlate and convolve2d: one signal, or one image, by another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final, TypeAlias

from aotensor.errors import GraphTypeError, GraphValueError, UnsupportedError
from aotensor.graph.coercion import coerced
from aotensor.graph.public import public
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.complex.parts import conj
from aotensor.ops.convolution.op import Convolution
from aotensor.ops.create import split_shape
from aotensor.ops.elementwise.arithmetic import maximum, minimum
from aotensor.ops.elementwise.compare import and_, or_, switch
from aotensor.ops.index import subtensor
from aotensor.ops.shape.axes import dimshuffle
from aotensor.ops.shape.extents import SymbolicExtent, extent_of, extents_of
from aotensor.ops.shape.rearrange import flip

Span: TypeAlias = tuple[SymbolicExtent, SymbolicExtent]
Same: TypeAlias = Callable[[SymbolicExtent, SymbolicExtent], Span]
"""The extent for the mode "same", by two extents."""
_MODES: Final = ("full", "same", "valid")
_EMPTY: Final = "an empty operand has no convolution"
_APART: Final = "neither matrix holds the other along both axes, or one is empty"


@public(numpy="convolve")
@coerced
def convolve(a: Any, v: Any, mode: str = "full") -> Variable:
    """np.convolve: y[s] = Σ_k a[s − k]·v[k].   (n), (m) → (n + m − 1), in the promoted dtype

    mode: "full" for all sums; "same" for the max(n, m) in the middle, "valid" for the max(n, m) − min(n, m) + 1 that
    have min(n, m) terms.

    Raises: GraphTypeError for operands that are not vectors, or bool, GraphValueError for another mode or an empty
    vector.
    """
    x, y = _signals("convolve", a, v, 1, mode)
    return _crop("convolve", x, y, mode, _middle)


@public(numpy="correlate")
@coerced
def correlate(a: Any, v: Any, mode: str = "valid") -> Variable:
    """np.correlate: y[s] = Σ_k a[s + k]·v̄[k], from s = 1 − m on in the mode "full".   (n), (m), as `convolve`

    Raises: as `convolve`.
    """
    x, y = _signals("correlate", a, v, 1, mode)
    return _crop("correlate", x, flip(conj(y)), mode, _middle_of_longer)


@coerced
def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Variable:
    """scipy.signal.convolve2d: y[s, t] = Σ in1[s − k, t − l]·in2[k, l], with zeros outside.

    (m, n), (p, q) → (m + p − 1, n + q − 1) in the mode "full", in the promoted dtype.
    mode: "full"; "same" for extents of in1; "valid" for sums that need no zeros: then one operand is at least as
    large as the other along both axes.

    Raises: GraphTypeError for operands that are bool or not matrices, GraphValueError for another mode, an empty matrix
    or where neither matrix contains the other; UnsupportedError for another boundary or fillvalue.
    """
    if not isinstance(boundary, str) or boundary != "fill":
        raise UnsupportedError(f"convolve2d: boundary {boundary!r} is not supported", hint="pad in1, then mode='valid'")
    if not isinstance(fillvalue, int | float) or fillvalue != 0:
        raise UnsupportedError(f"convolve2d: fillvalue {fillvalue!r:.40} is not 0", hint="pad in1, then mode='valid'")
    x, y = _signals("convolve2d", in1, in2, 2, mode)
    return _crop("convolve2d", x, y, mode, _first)


def _signals(name: str, a: Any, v: Any, rank: int, mode: str) -> tuple[Variable, Variable]:
    x, y = as_tensor(a), as_tensor(v)
    if not isinstance(mode, str) or mode not in _MODES:
        raise GraphValueError(f"{name}: mode must be 'full', 'same' or 'valid', not {mode!r}")
    for value in (x, y):
        if value.ndim != rank:
            kind = "vectors" if rank == 1 else "matrices"
            raise GraphTypeError(f"{name}: both operands must be {kind}", lines=[x.describe(), y.describe()])
        if value.dtype == "bool":
            raise GraphTypeError(f"{name}: bool has no sums of products", lines=[value.describe()])
        if 0 in value.static_shape:
            raise GraphValueError(f"{name}: {_EMPTY}", lines=[value.describe()])
    return x, y


def _crop(name: str, x: Variable, y: Variable, mode: str, same: Same) -> Variable:
    """The part of the full convolution of two tensors that `mode` names."""
    spans = [_span(extent_of(x, d), extent_of(y, d), mode, same) for d in range(x.ndim)]
    fault, is_fine = _EMPTY, _are_positive(x, y)
    if mode == "valid" and x.ndim > 1:
        fault, is_fine = _APART, _and(is_fine, _is_larger_operand(name, x, y))
    if all(isinstance(start, int) for start, _ in spans):
        starts, extents = [int(start) for start, _ in spans if isinstance(start, int)], [n for _, n in spans]
        return _convolved(x, y, _extents_if(is_fine, extents), starts, fault)
    whole = [extent_of(x, d) + extent_of(y, d) - 1 for d in range(x.ndim)]
    full = _convolved(x, y, _extents_if(is_fine, whole), [0] * x.ndim, fault)
    return subtensor(full, tuple(slice(start, start + n) for start, n in spans))


def _convolved(
    x: Variable, y: Variable, extents: Sequence[SymbolicExtent], starts: Sequence[int], fault: str
) -> Variable:
    """`extents` elements, from the positions `starts` on, of the full convolution of x with filters y."""
    ones = ["x"] * 3
    dims, symbolic = split_shape("convolution", list(extents))
    steps = (1,) * x.ndim
    op = Convolution("input", dims, steps, steps, tuple(starts), fault)
    filters, signal = (dimshuffle(value, [*ones, *range(value.ndim)]) for value in (y, x))
    return dimshuffle(op(filters, signal, *symbolic), range(3, 3 + x.ndim))


def _span(n: SymbolicExtent, m: SymbolicExtent, mode: str, same: Same) -> Span:
    """(first position, number of elements) of the part that a mode selects."""
    if mode == "full":
        return 0, n + m - 1
    if mode == "same":
        return same(n, m)
    least, most = _least(n, m), _max_extent(n, m)
    return least - 1, most - least + 1


def _first(n: SymbolicExtent, m: SymbolicExtent) -> Span:
    """Span of the mode "same" in `convolve2d`: (first position, extent n of the first operand)."""
    return (m - 1) // 2, n


def _middle(n: SymbolicExtent, m: SymbolicExtent) -> Span:
    """Span of the mode "same" in `convolve`: (first position, extent of the longer operand)."""
    return (_least(n, m) - 1) // 2, _max_extent(n, m)


def _middle_of_longer(n: SymbolicExtent, m: SymbolicExtent) -> Span:
    """Span of the mode "same" in `correlate`, where NumPy exchanges the operands if the second is longer."""
    if isinstance(n, int) and isinstance(m, int):
        return (n // 2 if n < m else (m - 1) // 2), max(n, m)
    return switch(as_tensor(n) < m, n // 2, (m - 1) // 2), _max_extent(n, m)


def _least(n: SymbolicExtent, m: SymbolicExtent) -> SymbolicExtent:
    return min(n, m) if isinstance(n, int) and isinstance(m, int) else minimum(n, m)


def _max_extent(n: SymbolicExtent, m: SymbolicExtent) -> SymbolicExtent:
    return max(n, m) if isinstance(n, int) and isinstance(m, int) else maximum(n, m)


def _extents_if(is_fine: Variable | None, extents: Sequence[SymbolicExtent]) -> list[SymbolicExtent]:
    """The extents if the condition holds (None: always), else 0, for which the op raises an error at run time."""
    return [n if is_fine is None else switch(is_fine, n, 0) for n in extents]


def _are_positive(x: Variable, y: Variable) -> Variable | None:
    """Condition that both operands have elements; None if static extents show it."""
    conditions = [n > 0 for value in (x, y) for n in extents_of(value) if isinstance(n, Variable)]
    return reduce(and_, conditions) if conditions else None


def _is_larger_operand(name: str, x: Variable, y: Variable) -> Variable | None:
    """Condition that one operand is at least as large as the other on all axes.   Raises: GraphValueError if
    provably not
    """
    pairs = list(zip(extents_of(x), extents_of(y), strict=True))
    known = [(n, m) for n, m in pairs if isinstance(n, int) and isinstance(m, int)]
    if any(n < m for n, m in known) and any(n > m for n, m in known):
        raise GraphValueError(f"{name}: {_APART}", lines=[x.describe(), y.describe()])
    if len(known) == len(pairs):
        return None
    first, second = (reduce(and_, [as_tensor(a >= b) for a, b in sides]) for sides in (pairs, [p[::-1] for p in pairs]))
    return or_(first, second)


def _and(x: Variable | None, y: Variable | None) -> Variable | None:
    return y if x is None else x if y is None else and_(x, y)
