"""A graph as stable text: one line per node, names by position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import leaves, toposort


def graph_text(name: str, inputs: Sequence[Variable], outputs: Mapping[str, Variable]) -> str:
    """The graph between inputs and outputs, as `f.ir("graph")` shows it."""
    labels: dict[Variable, str] = {}
    for position, x in enumerate(inputs):
        labels[x] = f"%{x.name or f'in{position}'}"
    lines = [f"function {name}({', '.join(f'{labels[x]}: {x.type}' for x in inputs)}) {{"]
    targets = list(outputs.values())
    for x in leaves(targets, stop=inputs):
        if isinstance(x, Constant) and x not in labels:
            labels[x] = str(x.data) if x.data.size == 1 else f"constant<{x.type}>"
    counter = 0
    for node in toposort(targets, stop=inputs):
        results = []
        for x in node.outputs:
            labels[x] = f"%{counter}"
            counter += 1
            results.append(f"{labels[x]}: {x.type}")
        site = f"   # {node.outputs[0].site}" if node.outputs[0].site else ""
        lines.append(f"  {', '.join(results)} = {node.op}({', '.join(labels[x] for x in node.inputs)}){site}")
    returned = ", ".join(f"{key} = {labels[x]}" for key, x in outputs.items())
    return "\n".join([*lines, f"  return {returned}", "}", ""])
