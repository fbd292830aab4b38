"""Splitting rules of ops that keep rows in place: elementwise ones, permuted axes, broadcast and checked values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aotensor.graph.variable import Constant, Variable
from aotensor.ops.elementwise.compare import cast
from aotensor.ops.shape.reshape import Reshape
from aotensor.splitting.merges import extent
from aotensor.splitting.places import Crossing, Merge, Role, Rows, Seen


def aligned_axis(seen: Seen, rank: int, positions: Sequence[int]) -> int:
    """The axis of the rows in a broadcast to `rank` of the inputs at these positions.

    Raises: Crossing if rows align with another axis, or with all rows of a global value.
    """
    inputs, at = seen.node.inputs, seen.at
    axes = {rank - inputs[k].ndim + seen.axis_of(k) for k in positions if at[k].is_local}
    if len(axes) != 1:
        raise Crossing("rows of one input meet another axis of the other")
    axis = axes.pop()
    for k in positions:
        own = axis - rank + inputs[k].ndim
        if not at[k].is_local and own >= 0 and inputs[k].static_shape[own] != 1:
            raise Crossing(
                f"{inputs[k]}: {inputs[k].type} is not known to have the rows of dim {seen.over}",
                f"name its dim {seen.over} where it is made, if it has one element per row",
            )
    return axis


def elementwise(seen: Seen) -> Rows:
    """Elementwise ops: f(x, y, …)"""
    roles = {seen.at[k].role for k in seen.local()} - {""}
    if roles & {"offsets", "shape"}:
        if seen.node.op.name != "cast":
            seen.plain()
        return seen.rows(0, roles=(seen.at[0].role,))
    is_exact = seen.node.op.name == "cast" and seen.node.outputs[0].dtype == "int64"  # int8 would overflow
    kept: tuple[Role, ...] = ("positions",) if is_exact and roles else ("",)
    return seen.rows(aligned_axis(seen, seen.node.outputs[0].ndim, range(len(seen.at))), roles=kept)


def dimshuffle(seen: Seen) -> Rows:
    """Axes permuted."""
    seen.plain()
    op: Any = seen.node.op
    axis = seen.axis_of(0)
    if axis not in op.pattern:
        raise Crossing("it drops the axis of the rows")
    return seen.rows(op.pattern.index(axis), roles=(seen.at[0].role,))


def full_like(seen: Seen) -> Rows:
    """A value in the extents of x."""
    if not seen.at[1].is_local:
        raise Crossing("rows are put into the shape of a value that has none")
    seen.plain()
    return seen.rows(aligned_axis(seen, seen.node.outputs[0].ndim, (0, 1)))


def alloc(seen: Seen) -> Rows:
    """A value repeated for every row."""
    op: Any = seen.node.op
    counts = seen.counts()
    named = [axis for axis, dim in enumerate(op.dims) if not isinstance(dim, int)]
    axes = [named[k - 1] for k in counts if seen.at[k].domain]
    if len(axes) != 1:
        raise Crossing("one of its extents follows from the number of rows" if axes else "it has no rows")
    domain = next(seen.at[k].domain for k in counts if seen.at[k].domain)
    if seen.at[0].is_local and aligned_axis(seen, len(op.dims), (0,)) != axes[0]:
        raise Crossing("rows meet another axis")
    x = seen.node.inputs[0]
    own = axes[0] - len(op.dims) + x.ndim
    if not seen.at[0].is_local and own >= 0 and x.static_shape[own] != 1:
        raise Crossing(
            f"{x}: {x.type} is not known to have the rows of dim {seen.over}",
            f"name its dim {seen.over} where it is made, if it has one element per row",
        )
    return Rows((axes[0],), (domain,), counts)


def view(seen: Seen) -> Rows:
    """Ops that return x itself."""
    return seen.rows(seen.axis_of(0), roles=(seen.at[0].role,))


def checked(seen: Seen) -> Rows:
    """x with checked extents: those of a chunk against its own number of rows."""
    seen.plain()
    return seen.rows(seen.axis_of(0), steering=seen.counts())


def fitting(seen: Seen) -> Rows:
    """x with one checked extent."""
    op: Any = seen.node.op
    seen.plain()
    if not seen.at[0].is_local:
        raise Crossing("an extent of rows is compared with that of a value without")
    if op.axis == seen.axis_of(0) and seen.at[1].role != "count":
        raise Crossing("the number of rows is compared with another number")
    return seen.rows(seen.axis_of(0), steering=seen.counts())


def shape_i(seen: Seen) -> Merge:
    """The number of rows, or an extent that is equal in all chunks."""
    op: Any = seen.node.op
    seen.plain()
    is_count = op.axis == seen.at[0].axis
    return extent(lambda xs: op(xs[0]), seen.domain() if is_count else "")


def arange(seen: Seen) -> Rows:
    """0, 1, 2, … for the rows."""
    start, _, step = seen.node.inputs
    is_plain = all(isinstance(x, Constant) and x.data == n for x, n in ((start, 0), (step, 1)))
    if not is_plain or seen.at[1].domain != seen.over:
        raise Crossing("only 0, 1, 2, … up to the number of rows is counted by chunks")

    def make(inputs: Sequence[Variable], first: Variable) -> Sequence[Variable]:
        found = seen.node.op(*inputs)
        return [found + cast(first, found.dtype)]

    return Rows((0,), (seen.over,), frozenset({1}), ("positions",), make)


def reshape(seen: Seen) -> Rows:
    """Reshapes that keep rows: (n, p) → (n·p,) and back, (n, p) → (n, a, b)."""
    op: Any = seen.node.op
    x = seen.node.inputs[0]
    seen.plain()
    if seen.at[0].axis != 0 or not op.dims:
        raise Crossing("it mixes rows: they are not its first axis", "transpose first, so that they are")
    domain, rest = seen.domain(), x.tensor_type.shape[1:]
    first = None if isinstance(op.dims[0], int) else seen.at[1]
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
            raise Crossing("it mixes rows: its first extent is not known to be a number of elements per row")

    def make(inputs: Sequence[Variable], _: Variable) -> Sequence[Variable]:
        sizes = inputs[1:] if first is None else inputs[2:]
        if -1 in op.dims[1:]:
            return [op(*inputs)]
        return [Reshape((-1, *op.dims[1:]))(inputs[0], *sizes)]

    return Rows((0,), (domain,), seen.counts(), make=make)


def _product(extents: Sequence[Any]) -> int:
    result = 1
    for n in extents:
        result *= n
    return result
