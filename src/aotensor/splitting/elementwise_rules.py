"""Splitting rules of ops that keep rows in place: elementwise ones, permuted axes, broadcast and checked values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aotensor.graph.variable import Constant, Variable
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.shape.reshape import Reshape
from aotensor.splitting.merges import extent
from aotensor.splitting.places import Merge, NodeView, NotSplittable, Role, Rows


def aligned_axis(view: NodeView, rank: int, positions: Sequence[int]) -> int:
    """The axis of the rows after the inputs at these positions are broadcast to `rank`.

    Raises: Crossing if rows align with another axis, or with all rows of a global value.
    """
    inputs, at = view.node.inputs, view.at
    axes = {rank - inputs[k].ndim + view.axis_of(k) for k in positions if at[k].is_local}
    if len(axes) != 1:
        raise NotSplittable("its inputs have the rows along different axes")
    axis = axes.pop()
    for k in positions:
        own = axis - rank + inputs[k].ndim
        if not at[k].is_local and own >= 0 and inputs[k].static_shape[own] != 1:
            raise NotSplittable(
                f"{inputs[k]}: {inputs[k].type} is not known to have the rows of dim {view.over}",
                f"name its dim {view.over} where it is made, if it has one element per row",
            )
    return axis


def elementwise(view: NodeView) -> Rows:
    """Rule of elementwise ops: per row if the rows of all inputs align."""
    roles = {view.at[k].role for k in view.local()} - {""}
    if roles & {"offsets", "shape"}:
        if view.node.op.name != "cast":
            view.plain()
        return view.rows(0, roles=(view.at[0].role,))
    is_exact = view.node.op.name == "cast" and view.node.outputs[0].dtype == "int64"  # int8 would overflow
    kept: tuple[Role, ...] = ("positions",) if is_exact and roles else ("",)
    return view.rows(aligned_axis(view, view.node.outputs[0].ndim, range(len(view.at))), roles=kept)


def dimshuffle(view: NodeView) -> Rows:
    """Rule of permuted axes: the row axis moves."""
    view.plain()
    op: Any = view.node.op
    axis = view.axis_of(0)
    if axis not in op.pattern:
        raise NotSplittable("it drops the axis of the rows, which must then be 1")
    return view.rows(op.pattern.index(axis), roles=(view.at[0].role,))


def full_like(view: NodeView) -> Rows:
    """Rule of full_like: per row if x has rows."""
    if not view.at[1].is_local:
        raise NotSplittable("its first operand, which gives the shape, does not have the rows, but the fill value does")
    view.plain()
    return view.rows(aligned_axis(view, view.node.outputs[0].ndim, (0, 1)))


def alloc(view: NodeView) -> Rows:
    """Rule of a value broadcast to a shape: per row if an extent is the number of rows."""
    op: Any = view.node.op
    counts = view.counts()
    named = [axis for axis, dim in enumerate(op.dims) if not isinstance(dim, int)]
    axes = [named[k - 1] for k in counts if view.at[k].domain]
    if len(axes) != 1:
        raise NotSplittable(
            "its result has the number of rows as several extents"
            if axes
            else "the value that it repeats has the rows, but none of the new extents is their number"
        )
    domain = next(view.at[k].domain for k in counts if view.at[k].domain)
    if view.at[0].is_local and aligned_axis(view, len(op.dims), (0,)) != axes[0]:
        raise NotSplittable("the value that it repeats has the rows along another axis than the result")
    x = view.node.inputs[0]
    own = axes[0] - len(op.dims) + x.ndim
    if not view.at[0].is_local and own >= 0 and x.static_shape[own] != 1:
        raise NotSplittable(
            f"{x}: {x.type} is not known to have the rows of dim {view.over}",
            f"name its dim {view.over} where it is made, if it has one element per row",
        )
    return Rows((axes[0],), (domain,), counts)


def view(view: NodeView) -> Rows:
    """Rule of ops that return x itself: the place of x."""
    return view.rows(view.axis_of(0), roles=(view.at[0].role,))


def checked(view: NodeView) -> Rows:
    """Rule of checked extents: a chunk is checked against its own number of rows."""
    view.plain()
    return view.rows(view.axis_of(0), row_counts=view.counts())


def fitting(view: NodeView) -> Rows:
    """Rule of one checked extent: a chunk is checked against its own number of rows."""
    op: Any = view.node.op
    view.plain()
    if not view.at[0].is_local:
        raise NotSplittable("it checks an extent of a value without rows against one computed from the rows")
    if op.axis == view.axis_of(0) and view.at[1].role != "count":
        raise NotSplittable("it checks the number of rows against another number, and a chunk has only a part of them")
    return view.rows(view.axis_of(0), row_counts=view.counts())


def shape_i(view: NodeView) -> Merge:
    """Rule of an extent: a sum of the chunks' row counts, or an extent that is equal in all chunks."""
    op: Any = view.node.op
    view.plain()
    is_count = op.axis == view.at[0].axis
    return extent(lambda xs: op(xs[0]), view.domain() if is_count else "")


def arange(view: NodeView) -> Rows:
    """Rule of ranges 0, 1, 2, … over the rows: a chunk continues from its first row number."""
    start, _, step = view.node.inputs
    is_plain = all(isinstance(x, Constant) and x.data == n for x, n in ((start, 0), (step, 1)))
    if not is_plain or view.at[1].domain != view.over:
        raise NotSplittable("its length is computed from the number of rows; only arange(n), for n rows, is split")

    def make(inputs: Sequence[Variable], first: Variable) -> Sequence[Variable]:
        found = view.node.op(*inputs)
        return [found + cast(first, found.dtype)]

    return Rows((0,), (view.over,), frozenset({1}), ("positions",), make)


def reshape(view: NodeView) -> Rows:
    """Rule of reshapes that keep rows: (n, p) → (n·p,) and back, (n, p) → (n, a, b)."""
    op: Any = view.node.op
    x = view.node.inputs[0]
    view.plain()
    if view.at[0].axis != 0 or not op.dims:
        raise NotSplittable(
            "it moves elements between rows, which are not the first axis of its input",
            "transpose the input, so that the rows are its first axis",
        )
    domain, rest = view.domain(), x.tensor_type.shape[1:]
    first = None if isinstance(op.dims[0], int) else view.at[1]
    if first is not None and first.role == "count" and first.domain and f"{domain}×".startswith(f"{first.domain}×"):
        domain = first.domain
    elif op.dims[1:] != rest or None in rest:
        divisible = len(op.dims) == 1
        if all(isinstance(n, int) for n in (*rest, *op.dims[1:])):
            outer, inner = _product(rest), _product(op.dims[1:])
            divisible = inner > 0 and outer % inner == 0
            domain = domain if outer == inner else f"{domain}×{outer // max(inner, 1)}"
        else:
            domain = f"{domain}×{'×'.join(map(str, rest))}"
        if not divisible:
            raise NotSplittable(
                "it moves elements between rows: its first extent is not known to be a multiple of the number of rows"
            )

    def make(inputs: Sequence[Variable], _: Variable) -> Sequence[Variable]:
        sizes = inputs[1:] if first is None else inputs[2:]
        if -1 in op.dims[1:]:
            return [op(*inputs)]
        return [Reshape((-1, *op.dims[1:]))(inputs[0], *sizes)]

    return Rows((0,), (domain,), view.counts(), make=make)


def _product(extents: Sequence[Any]) -> int:
    result = 1
    for n in extents:
        result *= n
    return result
