"""Classify values: per row, merged over rows, or in need of rows of several chunks at once.

X: rows   w: global   →   X @ w: rows   Σ f(X @ w): merge, known after round 1   softmax over n: rewritten
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aotensor.driver.prepare import expand_composites
from aotensor.errors import CrossingError, GraphValueError, OptionError
from aotensor.graph.expression import locate_message
from aotensor.graph.op import Apply
from aotensor.graph.site import replacement_site, variables_at
from aotensor.graph.unify import unify
from aotensor.graph.variable import Variable
from aotensor.graph.walk import replace as replaced
from aotensor.graph.walk import toposort
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.shape.extents import ShapeI
from aotensor.splitting.places import GLOBAL, Merge, NodeView, NotSplittable, Place, Rewrite, Role, Rows, Splitting
from aotensor.splitting.row_wise import is_row_wise
from aotensor.splitting.rules import COUNTING, rule_of


@dataclass(frozen=True)
class Analysis:
    """The result of `analyse`. outputs: rewritten. places: of variables. verdicts: of the nodes that have rows"""

    over: str
    outputs: Sequence[Variable]
    places: Mapping[Variable, Place]
    verdicts: Mapping[Apply, Rows | Merge]

    def place(self, x: Variable) -> Place:
        """The place of a variable; constants are global."""
        return self.places.get(x, GLOBAL)


def analyse(outputs: Sequence[Variable], inputs: Sequence[Variable], over: str) -> Analysis:
    """The places of all values that `outputs` need, after rewriting ops into ones that can be split.

    Raises: CrossingError for the first value that needs rows of several chunks; OptionError if no input has the dim,
    GraphValueError if one has it twice.
    """
    given = {x: _input_place(x, over) for x in inputs}
    if not any(place.is_local for place in given.values()):
        known = sorted({dim for x in inputs for dim in x.tensor_type.shape if isinstance(dim, str)})
        raise OptionError(
            f"none of the inputs has a dim {over!r}",
            lines=[x.describe() for x in inputs],
            hint=f"dims of the inputs: {', '.join(known)}" if known else 'name dims with shape=("n", "p")',
        )
    found = list(outputs)
    while True:
        found = unify(
            _named_extents(expand_composites(found, inputs, lambda node: not is_row_wise(node)), given, over), inputs
        )
        places, verdicts, rewrites = _walk(found, given, over)
        if not rewrites:
            return Analysis(over, found, places, verdicts)
        found = replaced(found, rewrites, is_rewrite=True)


def _named_extents(outputs: Sequence[Variable], given: Mapping[Variable, Place], over: str) -> list[Variable]:
    """Replace extents with the name of an input's dim by that input's extent, which is known without computing
    values.
    """
    known: dict[object, Variable] = {}
    for x in sorted(given, key=lambda x: given[x].is_local):
        for axis, dim in enumerate(x.tensor_type.shape):
            if isinstance(dim, str) and dim != over and not x.is_sparse and dim not in known:
                known[dim] = ShapeI(axis)(x)
    found: dict[Variable, Variable] = {}
    for node in toposort(outputs, stop=given):
        if isinstance(node.op, ShapeI) and node.inputs[0] not in given:
            dim = node.inputs[0].tensor_type.shape[node.op.axis]
            if dim in known:
                found[node.outputs[0]] = known[dim]
    return replaced(outputs, found, is_rewrite=True)


def _input_place(x: Variable, over: str) -> Place:
    axes = [axis for axis, dim in enumerate(x.tensor_type.shape) if dim == over]
    if len(axes) > 1:
        raise GraphValueError(
            f"cannot split {x} over {over}: {len(axes)} of its axes have this dim, and only one may",
            lines=[x.describe()],
        )
    return Place(axes[0], over) if axes else GLOBAL


def _walk(
    outputs: Sequence[Variable], given: Mapping[Variable, Place], over: str
) -> tuple[dict[Variable, Place], dict[Apply, Rows | Merge], dict[Variable, Variable]]:
    places, verdicts, rewrites = dict(given), dict[Apply, Rows | Merge](), dict[Variable, Variable]()
    for node in toposort(outputs, stop=given):
        at = [places.get(x, GLOBAL) for x in node.inputs]
        try:
            with variables_at(replacement_site(node)):
                verdict = _verdict(NodeView(node, at, over))
        except NotSplittable as crossing:
            raise CrossingError(
                locate_message(node, f"{node.op.name} cannot be split over {over}: {crossing.reason}"),
                lines=[x.describe() for x in node.inputs],
                hint=crossing.hint,
            ) from None
        if isinstance(verdict, Rewrite):
            rewrites.update(zip(node.outputs, verdict.outputs, strict=True))
            verdict = Rows(tuple(place.axis or 0 for place in at[:1]), (over,))  # in the next walk
        elif verdict is not None:
            verdicts[node] = verdict
        places.update(zip(node.outputs, _places(node, at, verdict, over), strict=True))
    return places, verdicts, rewrites


def _verdict(view: NodeView) -> Splitting | None:
    """The verdict of a node's rule; None for a node that is the same for all chunks."""
    if view.local():
        return rule_of(view.node.op)(view)
    if any(view.at[k].domain for k in view.counts(0)):
        if isinstance(view.node.op, COUNTING):
            return rule_of(view.node.op)(view)
        if any(x.ndim for x in view.node.outputs) and not isinstance(view.node.op, Elementwise):
            raise NotSplittable("its extents are computed from the number of rows, and a chunk has only a part of them")
    return None


def _places(node: Apply, at: Sequence[Place], verdict: Splitting | None, over: str) -> list[Place]:
    if verdict is None:
        step, late = max((x.step for x in at), default=0), max((x.late for x in at), default=0)
        place = Place(step=step, late=late)
        if node.op.name == "cast":
            place = replace(place, role=at[0].role, domain=at[0].domain)
        return [place] * len(node.outputs)
    row_counts = verdict.row_counts if isinstance(verdict, Rows) else ()
    step = max((max(x.step - (k in row_counts and bool(x.domain)), 0) for k, x in enumerate(at)), default=0)
    if isinstance(verdict, Merge):
        if verdict.count == over:  # known to the driver before the first round
            return [Place(None, over, 0, 0, "count")]
        is_extent = bool(verdict.count) or verdict.is_uniform
        known = step if verdict.is_uniform else step + 1
        role: Role = "count" if is_extent else ""
        return [Place(None, verdict.count, known, step + 1, role)] * len(node.outputs)
    assert isinstance(verdict, Rows)
    plain: Role = ""
    roles = verdict.roles or (plain,) * len(node.outputs)
    return [
        Place(axis, domain, step, step, role)
        for axis, domain, role in zip(verdict.axes, verdict.domains, roles, strict=True)
    ]
