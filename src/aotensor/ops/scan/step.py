"""The results of a step function, and the subgraph built from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.op import Apply
from aotensor.graph.variable import Constant, SharedVariable, Variable, as_tensor
from aotensor.graph.walk import leaves, toposort
from aotensor.ops.scan.sides import sides_of

Updates = dict[SharedVariable, Variable]


class until:
    """A result of a step function: stop after the step in which `condition`, a scalar, is true."""

    def __init__(self, condition: Any) -> None:
        self.condition = as_tensor(condition)
        if self.condition.ndim != 0:
            raise GraphTypeError("the condition of until must be a scalar", lines=[self.condition.describe()])


@dataclass
class StepResult:
    """A step's outputs, the next values of shared variables, and the condition to stop."""

    outputs: list[Variable] = field(default_factory=list)
    updates: Updates = field(default_factory=dict)
    condition: Variable | None = None


def parse(returned: Any) -> StepResult:
    """Parse the result of a step function: outputs, updates and `until`, each optional.

    `x`, `[x, y]`, `x, {s: new}`, `[x, y], {s: new}, until(c)`; updates may be a list of pairs.

    Raises: GraphTypeError for anything else.
    """
    result = StepResult()
    if returned is None:
        return result
    items = returned if isinstance(returned, list | tuple) and not _is_updates(returned) else [returned]
    groups = [item for item in items if isinstance(item, list | tuple) and not _is_updates(item)]
    if len(groups) > 1:
        raise GraphTypeError(
            "a step must return its outputs in one list", hint="write [x, y], updates, until(condition)"
        )
    for item in items:
        if isinstance(item, until):
            if result.condition is not None:
                raise GraphTypeError("the step returns two conditions to stop, expected at most one")
            result.condition = item.condition
        elif isinstance(item, Mapping) or _is_updates(item):
            _add_updates(result.updates, item)
        elif isinstance(item, list | tuple):
            result.outputs += [_output(x) for x in item]
        else:
            result.outputs.append(_output(item))
    return result


def _is_updates(item: Any) -> bool:
    return (
        isinstance(item, list | tuple)
        and len(item) > 0
        and all(isinstance(x, list | tuple) and len(x) == 2 and isinstance(x[0], SharedVariable) for x in item)
    )


def _add_updates(updates: Updates, item: Any) -> None:
    for target, new in item.items() if isinstance(item, Mapping) else item:
        if not isinstance(target, SharedVariable):
            raise GraphTypeError(f"only shared variables can be updated, not {target!r:.60}")
        if target in updates:
            raise GraphValueError(f"the shared variable {target} is updated twice")
        updates[target] = as_tensor(new)


def _output(x: Any) -> Variable:
    if isinstance(x, Variable | np.ndarray | np.generic | int | float):
        return as_tensor(x)
    raise GraphTypeError(f"a step must return variables, updates and until, not {type(x).__name__} {x!r:.60}")


def captures(outputs: Sequence[Variable], slots: Collection[Variable], made: Collection[Apply] = ()) -> list[Variable]:
    """The outer values that a step reads: the largest subgraphs that do not depend on its slots; constants are left
    out.

    made: nodes created by the step function. Those on one side of a choice stay in the step, with the choice.
    """
    nodes, inside = toposort(outputs, stop=slots), set(slots)
    for node in nodes:
        if any(x in inside for x in node.inputs):
            inside.update(node.outputs)
    sides = sides_of(nodes, outputs, inside)
    for node in nodes:
        if node in made and sides[node]:
            inside.update(node.outputs)
    found: dict[Variable, None] = {}
    for node in nodes:
        if node.outputs[0] in inside:
            found.update((x, None) for x in node.inputs if x not in inside and not isinstance(x, Constant))
    found.update((x, None) for x in outputs if x not in inside and not isinstance(x, Constant))
    return list(found)


def check_strict(outer: Sequence[Variable], given: Collection[Variable]) -> None:
    """Check that a strict step reads given variables only.   Raises: GraphValueError that names the others."""
    missing = [x for x in leaves(outer, stop=given) if x not in given and not isinstance(x, Constant)]
    if missing:
        raise GraphValueError(
            f"scan: strict=True, and the step uses {', '.join(map(str, missing))}, which is not among its arguments",
            lines=[x.describe() for x in missing],
            hint="add it to non_sequences, or leave strict out",
        )
