"""Print a graph as stable text: one line per node, names by position; bodies of loops and branches below their node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from aotensor.graph.op import Apply
from aotensor.graph.subgraph import subgraphs
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import leaves, toposort


def graph_text(
    name: str, inputs: Sequence[Variable], outputs: Mapping[str, Variable], known: dict[Variable, str] | None = None
) -> str:
    """The graph between inputs and outputs, as `f.ir("graph")` shows it.

    known: names of variables in earlier texts, which are reused; new names are added to it.
    """
    labels = {x: f"%{x.name or f'in{position}'}" for position, x in enumerate(inputs)}
    kept = {} if known is None else known
    labels.update({x: label for x, label in kept.items() if x not in labels})
    first = 1 + max((int(label[1:]) for label in kept.values() if label[1:].isdecimal()), default=-1)
    lines = [f"function {name}({', '.join(f'{labels[x]}: {x.type}' for x in inputs)}) {{"]
    lines += _node_lines(list(outputs.values()), inputs, labels, count(first), "  ")
    if known is not None:
        known.update(labels)
    returned = ", ".join(f"{key} = {labels[x]}" for key, x in outputs.items())
    return "\n".join([*lines, f"  return {returned}", "}", ""])


def _node_lines(
    targets: Sequence[Variable],
    inputs: Sequence[Variable],
    labels: dict[Variable, str],
    numbers: Iterator[int],
    indent: str,
) -> list[str]:
    """One line per node; names of its outputs are added to `labels`."""
    for x in leaves(targets, stop=inputs):
        if isinstance(x, Constant) and x not in labels:
            labels[x] = str(x.data) if x.data.size == 1 else f"constant<{x.type}>"
    lines: list[str] = []
    for node in toposort(targets, stop=inputs):
        operands = ", ".join(labels[x] for x in node.inputs)
        for x in node.outputs:
            if x not in labels:
                labels[x] = f"%{next(numbers)}"
        results = ", ".join(f"{labels[x]}: {x.type}" for x in node.outputs)
        site = f"   # {node.outputs[0].site}" if node.outputs[0].site else ""
        lines.append(f"{indent}{results} = {node.op}({operands}){site}")
        lines += _body_lines(node, numbers, indent + "  ")
    return lines


def _body_lines(node: Apply, numbers: Iterator[int], indent: str) -> list[str]:
    lines: list[str] = []
    for key, body in subgraphs(node.op):
        labels = {x: f"%{next(numbers)}" for x in body.inputs}
        lines.append(f"{indent}{key}({', '.join(f'{labels[x]}: {x.type}' for x in body.inputs)}) {{")
        lines += _node_lines(body.outputs, body.inputs, labels, numbers, indent + "  ")
        lines += [f"{indent}  return {', '.join(labels[x] for x in body.outputs)}", f"{indent}}}"]
    return lines
