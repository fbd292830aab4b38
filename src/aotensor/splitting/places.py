"""Places of values with respect to rows, and verdicts of rules on nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable

Role: TypeAlias = Literal["", "count", "positions", "offsets", "shape"]
"""What the elements of an integer value mean for the rows: a number of rows, positions of rows, offsets of each
row's entries (`indptr`), or the extents of a matrix with these rows; "" for none.
"""


@dataclass(frozen=True)
class Place:
    """A value is global (the same for all chunks), or has rows along one axis: those of all chunks in order.

    axis: that of the rows, None for a global value. domain: the unit of the axis: the dim, or entries of a matrix.
    step: the number of merge rounds before a chunk knows it. late: the same for the driver, which
    knows an extent common to all chunks, and values computed from it, a round later.
    """

    axis: int | None = None
    domain: str = ""
    step: int = 0
    late: int = 0
    role: Role = ""

    @property
    def is_local(self) -> bool:
        """Does the value differ by chunk?"""
        return self.axis is not None

    @property
    def has_rows(self) -> bool:
        """Does the value consist of rows, so that the values of chunks are concatenated?"""
        return self.axis is not None and self.role in ("", "positions")


GLOBAL = Place()


@dataclass(frozen=True)
class Rows:
    """Every chunk computes its own rows of the outputs.

    axes, domains: of each output. steering: inputs that count rows, where each chunk passes its own count.
    make: the outputs on a chunk's inputs and the number of its first row; by default the op itself.
    """

    axes: tuple[int, ...]
    domains: tuple[str, ...]
    row_counts: frozenset[int] = frozenset()
    roles: tuple[Role, ...] = ()
    make: Callable[[Sequence[Variable], Variable], Sequence[Variable]] | None = None


@dataclass(frozen=True)
class Merge:
    """Map and reduce: each chunk computes partials, pairs of partials are combined, and the last ones give the outputs.

    name: of the monoid. partials: of a chunk's inputs and the number of its first row. combine: of the partials of
    earlier rows, and of later ones. finish: the outputs, from the partials and the inputs; only global inputs may
    be used. count: the domain whose rows the output counts, if it does. is_uniform: all chunks give the same, which
    each of them knows.
    """

    name: str
    partials: Callable[[Sequence[Variable], Variable], list[Variable]]
    combine: Callable[[Sequence[Variable], Sequence[Variable]], list[Variable]]
    finish: Callable[[Sequence[Variable], Sequence[Variable]], list[Variable]]
    count: str = ""
    is_uniform: bool = False


@dataclass(frozen=True)
class Rewrite:
    """The verdict that a node is replaced by other ops that can be split."""

    outputs: Sequence[Variable]


Splitting: TypeAlias = Rows | Merge | Rewrite


class NotSplittable(Exception):
    """Raised by a rule: the reason why a node needs rows of several chunks at once."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.hint = reason, hint


@dataclass(frozen=True)
class NodeView:
    """The view of a node for a rule.   at: places of its inputs. over: the dim of the rows"""

    node: Apply
    at: Sequence[Place] = field(default_factory=tuple)
    over: str = ""

    def local(self) -> list[int]:
        """Positions of the inputs that are split: each chunk has its own rows."""
        return [k for k, place in enumerate(self.at) if place.is_local]

    def domain(self) -> str:
        """The domain common to all local inputs.   Raises: Crossing if they differ."""
        found = {self.at[k].domain for k in self.local()}
        if len(found) > 1:
            raise NotSplittable(f"its inputs do not have the same rows: {' and '.join(sorted(found))}")
        return found.pop()

    def axis_of(self, k: int) -> int:
        """The axis of the rows in input k, which has rows."""
        axis = self.at[k].axis
        assert axis is not None
        return axis

    def counts(self, first: int = 1) -> frozenset[int]:
        """Positions of the inputs, from `first` on, that are the number of rows."""
        return frozenset(k for k in range(first, len(self.at)) if self.at[k].role == "count")

    def rows(self, axis: int, **options: Any) -> Rows:
        """The verdict that every output has the rows of the inputs along an axis."""
        return Rows((axis,) * len(self.node.outputs), (self.domain(),) * len(self.node.outputs), **options)

    def plain(self) -> None:
        """Check that local inputs are rows, and not structures of sparse matrices.   Raises: Crossing"""
        for k in self.local():
            if not self.at[k].has_rows:
                raise NotSplittable(
                    f"{self.node.inputs[k]}, the row offsets or the shape of a sparse matrix, cannot be split as rows"
                )
