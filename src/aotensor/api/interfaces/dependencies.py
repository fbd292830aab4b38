"""Dependencies of outputs on inputs, and whether each is linear with a factor independent of other inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aotensor.core.dtypes import is_float
from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable
from aotensor.graph.walk import toposort
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.linear import MultilinearOp

_ELEMENTWISE: Final[Mapping[str, tuple[tuple[int, ...], ...]]] = {
    "add": ((0, 1),), "sub": ((0, 1),), "neg": ((0,),), "cast": ((0,),), "identity": ((0,),), "mul": ((0,), (1,)),
    "true_div": ((0,),), "second": ((1,),), "switch": ((1, 2),),
}  # fmt: skip
"""Groups of operands that elementwise ops are linear in, as `MultilinearOp.linear_in`."""


@dataclass(frozen=True)
class _Factors:
    """A value as a function of one input: linear, with factors that depend on some inputs, or of any other form."""

    is_linear: bool
    inputs: frozenset[int]


def dependencies(
    outputs: Sequence[Variable], inputs: Sequence[Variable], tunable: Sequence[bool]
) -> list[dict[int, str]]:
    """For each output, the inputs that it depends on, by position, and how, in the words of FMI.

    constant: by a factor that no input changes. tunable, discrete: by one that only tunable inputs, or those and inputs
    that are not floats, change. dependent: in any other way, as for values that are not floats.
    """
    reach = _reachable_inputs(outputs, inputs)
    found: list[dict[int, str]] = [{} for _ in outputs]
    for k, x in enumerate(inputs):
        factors = _factors(outputs, x, reach)
        for y, kinds in zip(outputs, found, strict=True):
            if k not in reach.get(y, ()):
                continue
            factor = factors.get(y)
            kinds[k] = "dependent"
            if factor is None or not (factor.is_linear and is_float(x.dtype) and is_float(y.dtype)):
                continue
            if not factor.inputs:
                kinds[k] = "constant"
            elif all(tunable[j] for j in factor.inputs):
                kinds[k] = "tunable"
            elif all(tunable[j] or not is_float(inputs[j].dtype) for j in factor.inputs):
                kinds[k] = "discrete"
    return found


def _read(node: Apply) -> list[int]:
    """Positions of the inputs of a node whose values it reads, not only their extents."""
    unread = node.op.row.unread if isinstance(node.op, Elementwise) else ()
    return [k for k in range(len(node.inputs)) if k not in unread]


def _reachable_inputs(outputs: Sequence[Variable], inputs: Sequence[Variable]) -> dict[Variable, frozenset[int]]:
    """Variable → positions of the inputs that it depends on; variables without dependence are left out."""
    found = {x: frozenset([k]) for k, x in enumerate(inputs)}
    for node in toposort(outputs, stop=list(inputs)):
        union = frozenset[int]().union(*(found.get(node.inputs[k], ()) for k in _read(node)))
        if union:
            found.update(dict.fromkeys(node.outputs, union))
    return found


def _factors(
    outputs: Sequence[Variable], x: Variable, reach: Mapping[Variable, frozenset[int]]
) -> dict[Variable, _Factors]:
    """Variable → its dependence on x; variables without dependence are left out."""
    found = {x: _Factors(True, frozenset())}
    for node in toposort(outputs, stop=[x]):
        moving = [k for k in _read(node) if node.inputs[k] in found]
        if moving:
            found.update(dict.fromkeys(node.outputs, _node_dependence(node, moving, found, reach)))
    return found


def _node_dependence(
    node: Apply,
    moving: Sequence[int],
    found: Mapping[Variable, _Factors],
    reach: Mapping[Variable, frozenset[int]],
) -> _Factors:
    """The dependence of a node's outputs on x, from the dependence of its inputs."""
    given = [found[node.inputs[k]] for k in moving]
    group = next((group for group in _groups(node) if {*moving} <= {*group}), None)
    is_linear = group is not None and all(one.is_linear for one in given)
    others = [reach.get(node.inputs[k], frozenset[int]()) for k in _read(node) if k not in (group or ())]
    inputs = frozenset[int]().union(*others, *(one.inputs for one in given))
    return _Factors(is_linear and all(is_float(y.dtype) for y in node.outputs), inputs)


def _groups(node: Apply) -> Sequence[tuple[int, ...]]:
    if isinstance(node.op, Elementwise):
        return _ELEMENTWISE.get(node.op.name, ())
    return node.op.groups(len(node.inputs)) if isinstance(node.op, MultilinearOp) else ()
