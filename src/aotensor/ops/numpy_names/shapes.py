"""Functions that move elements, with NumPy's signature, where ours of that name has another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from aotensor.errors import GraphValueError
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.elementwise.arithmetic import int_div
from aotensor.ops.index import subtensor
from aotensor.ops.mask import nonzero
from aotensor.ops.numpy_names.declare import numpys
from aotensor.ops.shape.axes import atleast_1d, atleast_2d, atleast_3d, moveaxis, swapaxes, transpose
from aotensor.ops.shape.extents import extent_of, shape_i, size
from aotensor.ops.shape.join import join, split
from aotensor.ops.shape.rearrange import flip
from aotensor.ops.shape.reshape import ravel, reshape


def _one_or_several(name: str, convert: Callable[[Any], Variable]) -> None:
    """Register the counterpart of a NumPy function that returns one array, or a list of results for several."""

    @numpys(name)
    def call(*arys: Any) -> Any:
        return convert(arys[0]) if len(arys) == 1 else [convert(x) for x in arys]


_one_or_several("atleast_1d", atleast_1d)
_one_or_several("atleast_2d", atleast_2d)
_one_or_several("atleast_3d", atleast_3d)


@numpys("fliplr")
def numpy_fliplr(m: Any) -> Variable:
    """`np.fliplr`."""
    return flip(m, 1)


@numpys("flipud")
def numpy_flipud(m: Any) -> Variable:
    """`np.flipud`."""
    return flip(m, 0)


@numpys("ndim")
def numpy_ndim(a: Any) -> int:
    """`np.ndim`."""
    return as_tensor(a).ndim


@numpys("argwhere")
def numpy_argwhere(a: Any) -> Variable:
    """`np.argwhere`."""
    return transpose(nonzero(a, return_matrix=True))


@numpys("size")
def numpy_size(a: Any, axis: int | None = None) -> Variable:
    """`np.size`."""
    return size(a) if axis is None else shape_i(a, axis)


@numpys("concatenate")
def numpy_concatenate(arrays: Sequence[Any], axis: int | None = 0) -> Variable:
    """`np.concatenate`."""
    return join(0, *(ravel(x) for x in arrays)) if axis is None else join(axis, *arrays)


@numpys("split")
def numpy_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Variable]:
    """np.split: equal parts, or those between positions."""
    x = as_tensor(ary)
    if isinstance(indices_or_sections, int):
        count, extent = indices_or_sections, extent_of(x, axis)
        if count < 1 or (isinstance(extent, int) and extent % count):
            raise GraphValueError(f"split: {extent} elements do not make {count} equal parts", lines=[x.describe()])
        part = extent // count if isinstance(extent, int) else int_div(extent, count)
        return split(x, [part] * count, axis=axis)
    before = (slice(None),) * (axis % max(x.ndim, 1))
    bounds = [None, *indices_or_sections, None]
    return [subtensor(x, (*before, slice(*pair))) for pair in pairwise(bounds)]


@numpys("array_split")
def numpy_array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Variable]:
    """`np.array_split`: parts whose extents differ by at most 1, the longer ones first, or those between positions."""
    x = as_tensor(ary)
    if not isinstance(indices_or_sections, int):
        return numpy_split(x, indices_or_sections, axis)
    count, extent = indices_or_sections, extent_of(x, axis)
    if count < 1:
        raise GraphValueError(f"array_split: {count} parts", lines=[x.describe()], hint="use a number from 1 on")
    if not isinstance(extent, int):
        hint = "use split(x, sizes, axis=...), whose sizes may be symbolic"
        raise GraphValueError("array_split: the extent is not known", lines=[x.describe()], hint=hint)
    part, longer = divmod(extent, count)
    return split(x, [part + (k < longer) for k in range(count)], axis=axis)


@numpys("hsplit")
def numpy_hsplit(ary: Any, indices_or_sections: Any) -> list[Variable]:
    """`np.hsplit`: `np.split` along the second axis, of a vector the first."""
    x = as_tensor(ary)
    return numpy_split(x, indices_or_sections, int(x.ndim > 1))


@numpys("rollaxis")
def numpy_rollaxis(a: Any, axis: int, start: int = 0) -> Variable:
    """`np.rollaxis`: an axis moved before the one that is at `start`."""
    x = as_tensor(a)
    source, target = axis % x.ndim, start + x.ndim if start < 0 else start
    return moveaxis(x, source, target - (source < target))


@numpys("column_stack")
def numpy_column_stack(tup: Any) -> Variable:
    """`np.column_stack`: vectors become columns, matrices are joined."""
    arrays = [as_tensor(x) for x in tup]
    return join(1, *(x if x.ndim > 1 else reshape(x, (-1, 1)) for x in arrays))


@numpys("rot90")
def numpy_rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Variable:
    """`np.rot90`: turned by k right angles from the first of two axes to the second."""
    x, (first, second) = as_tensor(m), axes
    if k % 2:
        x = swapaxes(x, first, second)
    turned = {0: (), 1: (first,), 2: (first, second), 3: (second,)}[k % 4]
    return flip(x, turned) if turned else x


@numpys("dsplit")
def numpy_dsplit(ary: Any, indices_or_sections: Any) -> list[Variable]:
    """`np.dsplit`."""
    return numpy_split(ary, indices_or_sections, 2)


@numpys("vsplit")
def numpy_vsplit(ary: Any, indices_or_sections: Any) -> list[Variable]:
    """`np.vsplit`."""
    return numpy_split(ary, indices_or_sections, 0)
