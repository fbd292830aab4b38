"""Lower a convolution to tensor IR: sums of products of elements whose positions are sums over axes.

Each of the three roles is C[i, j] = Σ_p A[i, p]·B[p, j] for each group, where i, j and p combine several
axes; filters, windows of the input and the output are indexed by sums of the contributions of these axes:

    output    i = o   j = n, p   p = c, k       filters by input
    filters   i = o   j = c, k   p = n, p       output by input
    input     i = c   j = n, s   p = o, k       filters by output

The padding of the input (or of the output, in the last line) is a border of zeros in a copy. Its last axis is
ordered by remainders of the stride, so that adjacent windows are contiguous. For the input of a convolution with
strides, positions with the same remainder use the same elements of the filters: remainders are groups.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from math import prod
from typing import Final, Literal, TypeAlias

import numpy as np

from aotensor.core import dtypes
from aotensor.core.builders import Extent, Scalar, ScalarBuilder, Tensor, TensorBuilder
from aotensor.core.frozen import frozen_dataclass
from aotensor.ops.convolution.places import Place, descending, itself, quotient, remainder, table_of, times

Role: TypeAlias = Literal["input", "filters", "output"]
LETTERS: Final[dict[Role, str]] = {"input": "ngc", "filters": "goc", "output": "ngo"}
"""The number of axes before the spatial ones."""
_MOST_TERMS: Final = 32  # of a sum that is written out
_FEW_ROWS: Final = 4  # of C: a tile of a product would be mostly empty
_FEW_ELEMENTS: Final = 64  # of C for each group
_LITTLE_WORK: Final = 4096  # multiplications up to which plain loops, which fuse with others, are as fast as a product


@frozen_dataclass
class Relation:
    """Strides, dilations and padding of a convolution: s = p·stride + k·dilation − before on each axis."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]


@frozen_dataclass
class Operand:
    """A tensor, and the index along each of its axes as a sum of loop contributions: (loop, place), ..."""

    tensor: Tensor
    index: Sequence[Sequence[tuple[str, Place]]]


@frozen_dataclass
class Form:
    """C = A·B. loops: extents by name. Each of the four lists names the loops that an index combines."""

    loops: Mapping[str, Extent]
    a: Operand
    b: Operand
    result: Sequence[str]
    groups: Sequence[str]
    rows: Sequence[str]
    columns: Sequence[str]
    terms: Sequence[str]


def lower_convolution(
    b: TensorBuilder,
    relation: Relation,
    role: Role,
    values: Mapping[Role, Tensor],
    known: Mapping[str, Extent],
    spatial: Sequence[Extent],
) -> Tensor:
    """Compute the tensor of a role.   values: the other two. known: extents by letter. spatial: those of the result"""
    if role == "input":
        return _input(b, relation, values, known, spatial)
    form = _windows(b, relation, role, values, known, spatial)
    return _computed(b, form)


# --- output and filters ----------------------------------------------------------------------------------------------


def _windows(
    b: TensorBuilder,
    relation: Relation,
    role: Role,
    values: Mapping[Role, Tensor],
    known: Mapping[str, Extent],
    spatial: Sequence[Extent],
) -> Form:
    v, rank = b.scalars, len(spatial)
    x = values["input"]
    p_extents = spatial if role == "output" else values["output"].extents[3:]
    k_extents = spatial if role == "filters" else values["filters"].extents[3:]
    loops: dict[str, Extent] = dict(known)
    reached, index = [], []
    for d, (stride, dilation, p, k) in enumerate(
        zip(relation.strides, relation.dilations, p_extents, k_extents, strict=True)
    ):
        loops[f"p{d}"], loops[f"k{d}"] = p, k
        last = (p - 1) * stride + (k - 1) * dilation
        reached.append(v.imax(last + 1, 0))
        index.append([(f"p{d}", times(stride)), (f"k{d}", times(dilation))])
    windows = shift_last_axes(b, x, relation.before, reached)
    letters: list[Sequence[tuple[str, Place]]] = [[(letter, itself)] for letter in LETTERS["input"]]
    stride, dilation = relation.strides[-1], relation.dilations[-1]
    if stride > 1:
        windows = _by_remainders(b, windows, stride)
        name = f"{rank - 1}"
        index[-1:] = [
            [(f"k{name}", remainder(dilation, stride))],
            [(f"p{name}", itself), (f"k{name}", quotient(dilation, stride))],
        ]
    of_windows = Operand(windows, [*letters, *index])
    p_axes, k_axes = [f"p{d}" for d in range(rank)], [f"k{d}" for d in range(rank)]
    if role == "output":
        filters = _plain(values["filters"], [*"goc", *k_axes])
        return Form(loops, filters, of_windows, [*"ngo", *p_axes], ["g"], ["o"], ["n", *p_axes], ["c", *k_axes])
    output = _plain(values["output"], [*"ngo", *p_axes])
    return Form(loops, output, of_windows, [*"goc", *k_axes], ["g"], ["o"], ["c", *k_axes], ["n", *p_axes])


def _by_remainders(b: TensorBuilder, x: Tensor, stride: int) -> Tensor:
    """Split the last axis of x by remainder modulo stride: y[…, r, q] = x[…, q·stride + r], 0 beyond the end."""
    extent, axes = x.extents[-1], len(x.extents)
    count = (extent + (stride - 1)) // stride
    x = shift_last_axes(b, x, [0], [count * stride])
    return b.permute(b.reshape(x, [*x.extents[:-1], count, stride]), [*range(axes - 1), axes, axes - 1])


# --- input -----------------------------------------------------------------------------------------------------------


@frozen_dataclass
class _Axis:
    """The computation along one axis of the input, for s + before = u = t·stride + r, counted from the first valid u.

    first[r]: the first k for remainder r, or −1. The others follow at distances of `step`, and move the
    position of the output back by `back`. shift[r]: by how much the first one moves it back.
    """

    stride: int
    first: tuple[int, ...]
    step: int
    back: int
    shift: tuple[int, ...]

    @staticmethod
    def from_stride(stride: int, dilation: int) -> _Axis:
        common = math.gcd(stride, dilation)
        first = [next((k for k in range(stride) if (k * dilation - r) % stride == 0), -1) for r in range(stride)]
        shift = [max((k * dilation - r) // stride, 0) for r, k in enumerate(first)]
        return _Axis(stride, tuple(first), stride // common, dilation // common, tuple(shift))


def _input(
    b: TensorBuilder,
    relation: Relation,
    values: Mapping[Role, Tensor],
    known: Mapping[str, Extent],
    spatial: Sequence[Extent],
) -> Tensor:
    v, rank = b.scalars, len(spatial)
    w, y = values["filters"], values["output"]
    axes = [_Axis.from_stride(*pair) for pair in zip(relation.strides, relation.dilations, strict=True)]
    loops: dict[str, Extent] = dict(known)
    shifts, reached, in_output = [], [], []
    for d, (axis, before) in enumerate(zip(axes, relation.before, strict=True)):
        taps = (w.extents[3 + d] + (axis.step - 1)) // axis.step
        loops[f"r{d}"], loops[f"k{d}"] = axis.stride, taps
        loops[f"t{d}"] = (spatial[d] + (before % axis.stride + axis.stride - 1)) // axis.stride
        behind = v.imax((taps - 1) * axis.back, 0)
        margin = behind + max(axis.shift)
        shifts.append(margin - before // axis.stride)
        reached.append(loops[f"t{d}"] + margin)
        in_output.append(
            [
                (f"r{d}", table_of([max(axis.shift) - n for n in axis.shift])),
                (f"k{d}", descending(behind, axis.back)),
                (f"t{d}", itself),
            ]
        )
    letters: list[Sequence[tuple[str, Place]]] = [[(letter, itself)] for letter in LETTERS["output"]]
    output = Operand(shift_last_axes(b, y, shifts, reached), [*letters, *in_output])
    r_axes, k_axes, t_axes = ([f"{letter}{d}" for d in range(rank)] for letter in "rkt")
    filters = _plain(_by_taps(b, w, axes, [loops[name] for name in k_axes]), [*r_axes, *"goc", *k_axes])
    result = [*"ngc", *(name for pair in zip(t_axes, r_axes, strict=True) for name in pair)]
    form = Form(loops, filters, output, result, [*r_axes, "g"], ["c"], ["n", *t_axes], ["o", *k_axes])
    made = _computed(b, form)
    wide = [loops[t] * axis.stride for t, axis in zip(t_axes, axes, strict=True)]
    made = b.reshape(made, [*made.extents[:3], *wide])
    return shift_last_axes(
        b, made, [-(n % axis.stride) for n, axis in zip(relation.before, axes, strict=True)], spatial
    )


def _by_taps(b: TensorBuilder, w: Tensor, axes: Sequence[_Axis], taps: Sequence[Extent]) -> Tensor:
    """Rearrange filters by remainder modulo stride: element j for remainder r is the tap first[r] + j·step, or 0."""
    rank = len(axes)
    if all(axis.stride == 1 for axis in axes):
        return b.reshape(w, [*[1] * rank, *w.extents])

    def element(v: ScalarBuilder, *at: Scalar) -> Scalar:
        where: list[Extent] = list(at[rank : rank + 3])
        is_there = v.constant(True, "bool")
        for d, axis in enumerate(axes):
            first = table_of(axis.first)(v, at[d])
            k = first + at[rank + 3 + d] * axis.step
            inside = v.index(k) < w.extents[3 + d]
            is_there &= inside & (v.index(first) >= 0)
            where.append(v.imax(v.imin(k, w.extents[3 + d] - 1), 0))
        return v.select(is_there, v.load(w, *where), v.constant(0, w.dtype))

    remainders = [axis.stride for axis in axes]
    return b.tabulate([*remainders, *w.extents[:3], *taps], w.dtype, element)


# --- sums of products ------------------------------------------------------------------------------------------------


def _computed(b: TensorBuilder, form: Form) -> Tensor:
    """The product C of a form, by loops if it is small or has few rows, else by the product kernel."""
    dtype = form.a.tensor.dtype
    named = (form.rows, form.columns, form.terms)
    rows, columns, terms = (_known_product([form.loops[name] for name in names]) for names in named)
    total = _known_product(list(form.loops.values()))
    is_little = total is not None and total <= _LITTLE_WORK
    is_thin = rows is not None and rows <= _FEW_ROWS and terms is not None and terms <= _MOST_TERMS
    is_small = rows is not None and columns is not None and rows * columns <= _FEW_ELEMENTS
    if not dtypes.is_float(dtype) or is_little or is_thin or is_small:
        return _by_loops(b, form, None if terms is None or terms > _MOST_TERMS else terms)
    return _by_product(b, form)


def _known_product(extents: Sequence[Extent]) -> int | None:
    known = [n for n in extents if isinstance(n, int)]
    return math.prod(known) if len(known) == len(extents) else None


def _by_loops(b: TensorBuilder, form: Form, terms: int | None) -> Tensor:
    """The product C of a form by loops over its elements.   terms: the terms of an unrolled sum"""
    dtype = form.a.tensor.dtype
    outer, inner = list(form.result), list(form.terms)

    def product(v: ScalarBuilder, counters: Mapping[str, Extent]) -> Scalar:
        return _load(v, form.a, counters) * _load(v, form.b, counters)

    if terms is None or terms == 0:
        names = [*outer, *inner]
        table = b.tabulate(
            [form.loops[name] for name in names], dtype,
            lambda v, *at: product(v, dict(zip(names, at, strict=True))),
        )  # fmt: skip
        wide = dtypes.accumulator_of(dtype)
        return b.cast(b.reduce("add", table, range(len(outer), len(names)), wide), dtype)

    def element(v: ScalarBuilder, *at: Scalar) -> Scalar:
        counters: dict[str, Extent] = dict(zip(outer, at, strict=True))
        total: Scalar | None = None
        for where in np.ndindex(*(n for n in map(form.loops.__getitem__, inner) if isinstance(n, int))):
            term = product(v, {**counters, **dict(zip(inner, where, strict=True))})
            total = term if total is None else total + term
        assert total is not None
        return total

    return b.tabulate([form.loops[name] for name in outer], dtype, element)


def _by_product(b: TensorBuilder, form: Form) -> Tensor:
    extents = [form.loops[name] for name in form.result]
    shapes = {"a": form.a.tensor.extents, "b": form.b.tensor.extents, "c": extents}
    index = {"a": form.a.index, "b": form.b.index, "c": [[(name, itself)] for name in form.result]}
    axes = {"a": (form.groups, form.rows, form.terms), "b": (form.groups, form.terms, form.columns)}
    axes["c"] = (form.groups, form.rows, form.columns)
    positions = [
        _positions(b, form.loops, names, shapes[which], index[which]) for which in "abc" for names in axes[which]
    ]
    return b.product_at(form.a.tensor, form.b.tensor, positions, extents)


def _positions(
    b: TensorBuilder,
    loops: Mapping[str, Extent],
    names: Sequence[str],
    shape: Sequence[Extent],
    index: Sequence[Sequence[tuple[str, Place]]],
) -> Tensor:
    """The contributions of some loops to the position in C order, for all their iterations, as a vector."""
    strides: list[Extent] = [1]
    for n in reversed(shape[1:]):
        strides.insert(0, strides[0] * n)

    def position(v: ScalarBuilder, *at: Scalar) -> Scalar:
        counters = dict(zip(names, at, strict=True))
        total: Extent = 0
        for stride, places in zip(strides, index, strict=True):
            for name, place in places:
                if name in counters:
                    total += place(v, counters[name]) * stride
        return v.cast(v.index(total), "int64")

    extents = [loops[name] for name in names]
    count: Extent = prod(extents)
    return b.reshape(b.tabulate(extents, "int64", position), [count])


def _load(v: ScalarBuilder, operand: Operand, counters: Mapping[str, Extent]) -> Scalar:
    where: list[Extent] = []
    for places in operand.index:
        total: Extent = 0
        for name, place in places:
            total += place(v, counters[name])
        where.append(total)
    return v.load(operand.tensor, *where)


def _plain(x: Tensor, names: Sequence[str]) -> Operand:
    return Operand(x, [[(name, itself)] for name in names])


# --- borders ---------------------------------------------------------------------------------------------------------


def shift_last_axes(b: TensorBuilder, x: Tensor, shifts: Sequence[Extent], extents: Sequence[Extent]) -> Tensor:
    """y[…, u] = x[…, u − shift], 0 outside of x, along its last axes, of these extents; x itself if nothing changes."""
    v = b.scalars
    front = len(x.extents) - len(extents)
    starts: list[Extent] = []
    sources: list[Extent] = [0] * front
    counts: list[Extent] = list(x.extents[:front])
    for shift, own, wanted in zip(shifts, x.extents[front:], extents, strict=True):
        source = v.imin(v.imax(0 - shift, 0), own)
        start = v.imin(v.imax(shift, 0), wanted)
        sources.append(source)
        starts.append(start)
        counts.append(v.imin(own - source, wanted - start))
    wide = [*x.extents[:front], *extents]
    if _are_equal(counts, x.extents) and _are_equal(wide, counts):
        return x
    if not _are_equal(counts, x.extents):
        x = b.tabulate(counts, x.dtype, lambda v, *at: v.load(x, *map(operator.add, at, sources)))
    if _are_equal(wide, counts):
        return x
    zero = b.constant(0, x.dtype)
    return b.insert(b.broadcast(zero, wide), x, [*[0] * front, *starts], [1] * len(wide))


def _are_equal(x: Sequence[Extent], y: Sequence[Extent]) -> bool:
    """Are two extents provably equal?"""
    return all(a is b or (isinstance(a, int) and a == b) for a, b in zip(x, y, strict=True))
