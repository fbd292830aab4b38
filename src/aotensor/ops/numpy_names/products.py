"""Products and linear algebra with NumPy's signature, where ours of that name has another one."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_letters
from typing import Any

from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.variable import Variable, as_tensor
from aotensor.ops.complex.parts import conj
from aotensor.ops.contract import dot, tensordot, trace
from aotensor.ops.create import zeros_like
from aotensor.ops.diagonal import diagonal
from aotensor.ops.einsum import einsum
from aotensor.ops.linalg.cholesky import cholesky
from aotensor.ops.linalg.solve import solve
from aotensor.ops.linalg.svd import svd
from aotensor.ops.numpy_names.declare import numpys
from aotensor.ops.products import matrix_dot, vecdot
from aotensor.ops.shape.axes import moveaxis
from aotensor.ops.shape.broadcast import broadcast_arrays
from aotensor.ops.shape.extents import extent_of
from aotensor.ops.shape.join import stack
from aotensor.ops.shape.reshape import ravel


@numpys("inner")
def numpy_inner(a: Any, b: Any) -> Variable:
    """`np.inner`."""
    x, y = as_tensor(a), as_tensor(b)
    return dot(x, y) if 0 in (x.ndim, y.ndim) else tensordot(x, y, axes=([-1], [-1]))


@numpys("dot")
def numpy_dot(a: Any, b: Any) -> Variable:
    """`np.dot`: also of more than two axes, the last one of a with the last but one of b."""
    x, y = as_tensor(a), as_tensor(b)
    if min(x.ndim, y.ndim) == 0 or max(x.ndim, y.ndim) <= 2:
        return dot(x, y)
    return tensordot(x, y, [[x.ndim - 1], [max(y.ndim - 2, 0)]])


@numpys("vdot")
def numpy_vdot(a: Any, b: Any) -> Variable:
    """`np.vdot`."""
    return dot(conj(ravel(a)), ravel(b))


@numpys("cross")
def numpy_cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Variable:
    """`np.cross`: vector products of 3 components, or the third component of those of 2."""
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    x, y = moveaxis(as_tensor(a), axisa, -1), moveaxis(as_tensor(b), axisb, -1)
    extents = [extent_of(v, v.ndim - 1) for v in (x, y)]
    if not {2, 3}.issuperset(extents):
        hint = "give the operands shape=(numbers), or use x.specify_shape"
        raise GraphValueError("cross: expected 2 or 3 components", lines=[x.describe(), y.describe()], hint=hint)
    p, q = ([v[..., k] for k in range(n)] for v, n in zip((x, y), extents, strict=True))
    if extents == [2, 2]:
        return p[0] * q[1] - p[1] * q[0]
    p, q = ([*v, zeros_like(v[0])][:3] for v in (p, q))
    parts = [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]]
    return moveaxis(stack(broadcast_arrays(*parts), axis=-1), -1, axisc)


@numpys("linalg.cross")
def numpy_linalg_cross(x1: Any, x2: Any, *, axis: int = -1) -> Variable:
    """`np.linalg.cross`."""
    return numpy_cross(x1, x2, axis=axis)


@numpys("einsum")
def numpy_einsum(*operands: Any) -> Variable:
    """`np.einsum`: subscripts and operands, or operands with a list of axes each, and the list of the result."""
    if not operands or isinstance(operands[0], str):
        return einsum(*operands)
    arrays, lists = operands[0 : len(operands) // 2 * 2 : 2], operands[1::2]
    names = [_letters(one) for one in lists]
    result = f"->{_letters(operands[-1])}" if len(operands) % 2 else ""
    return einsum(",".join(names) + result, *arrays)


def _letters(axes: Any) -> str:
    """The subscripts of a list of axes: numbers below 52 and `...`.   Raises: GraphTypeError"""
    hint = "as in einsum(x, [0, 1], y, [1, 2], [0, 2])"
    if not isinstance(axes, list | tuple):
        raise GraphTypeError(f"numpy.einsum: expected a list of axes after each operand, found {axes}", hint=hint)
    for axis in axes:
        if axis is not Ellipsis and not (isinstance(axis, int) and 0 <= axis < len(ascii_letters)):
            raise GraphTypeError(f"numpy.einsum: axis {axis!r} is not a number below 52, or `...`", hint=hint)
    return "".join("..." if axis is Ellipsis else ascii_letters[axis] for axis in axes)


@numpys("linalg.diagonal")
def numpy_diagonal(x: Any, *, offset: int = 0) -> Variable:
    """`np.linalg.diagonal`."""
    return diagonal(x, offset, -2, -1)


@numpys("linalg.trace")
def numpy_trace(x: Any, *, offset: int = 0) -> Variable:
    """`np.linalg.trace`."""
    return trace(x, offset, -2, -1)


@numpys("linalg.vecdot")
def numpy_vecdot(x1: Any, x2: Any, *, axis: int = -1) -> Variable:
    """`np.linalg.vecdot`."""
    if axis != -1:
        raise GraphValueError(f"vecdot: axis {axis} is not the last one", hint="use moveaxis before")
    return vecdot(x1, x2)


@numpys("linalg.cholesky")
def numpy_cholesky(a: Any, *, upper: bool = False) -> Variable:
    """`np.linalg.cholesky`."""
    return cholesky(a, lower=not upper)


@numpys("linalg.solve")
def numpy_solve(a: Any, b: Any) -> Variable:
    """`np.linalg.solve`."""
    return solve(a, b, b_ndim=1 if as_tensor(b).ndim == 1 else 2)


@numpys("linalg.multi_dot")
def numpy_multi_dot(arrays: Sequence[Any]) -> Variable:
    """`np.linalg.multi_dot`."""
    return matrix_dot(*arrays)


@numpys("linalg.svdvals")
def numpy_svdvals(x: Any) -> Variable:
    """`np.linalg.svdvals`."""
    values: Variable = svd(x, compute_uv=False)
    return values
