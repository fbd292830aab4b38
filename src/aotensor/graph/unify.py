"""Common subexpression elimination on graphs, which makes loops over the same values recognisable."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence

from aotensor.graph.op import Apply
from aotensor.graph.passes.remarks import applied
from aotensor.graph.passes.run import graph_pass
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import leaves, toposort


@graph_pass("cse", topic="arithmetic", is_free=True)
def unify(outputs: Sequence[Variable], stop: Collection[Variable]) -> list[Variable]:
    """Common subexpression elimination."""
    known: dict[Variable, Variable] = {}
    seen: dict[Hashable, Sequence[Variable]] = {}
    for x in leaves(outputs, stop=stop):
        if isinstance(x, Constant):
            known[x] = seen.setdefault(constant_key(x), (x,))[0]
    for node in toposort(outputs, stop=stop):
        inputs = [known.get(x, x) for x in node.inputs]
        key = (node.op, *inputs)
        made = seen.get(key)
        if made is not None and not all(isinstance(x, Constant) for x in inputs):
            applied("reused: {} equals {}", node, made[0])
        made = seen[key] = node.on(inputs).outputs if made is None else made
        known.update((old, new) for old, new in zip(node.outputs, made, strict=True) if new is not old)
    return [known.get(x, x) for x in outputs]


def constant_key(x: Constant) -> Hashable:
    """A hashable key of a constant, equal for equal dtype and value; a sparse matrix is compared by identity."""
    return x if x.is_sparse else (x.dtype, x.tensor_type.shape, x.data.tobytes())


class Numbering:
    """Value numbering: equal numbers mean equal values, as derived from equal ops on equal inputs."""

    def __init__(self, leaves: Mapping[Variable, Hashable]) -> None:
        self._keys: dict[Hashable, int] = {}
        self._numbers = {x: self._number(("leaf", key)) for x, key in leaves.items()}

    def add(self, node: Apply) -> None:
        """Number the outputs of a node; its inputs have numbers or are constants."""
        key = (node.op, *(self.number_of(x) for x in node.inputs))
        for position, x in enumerate(node.outputs):
            self._numbers.setdefault(x, self._number((key, position)))

    def number_of(self, x: Variable) -> int:
        """The value number of a variable."""
        if x not in self._numbers and isinstance(x, Constant):
            self._numbers[x] = self._number(("constant", constant_key(x)))
        return self._numbers[x]

    def _number(self, key: Hashable) -> int:
        return self._keys.setdefault(key, len(self._keys))
