"""Graphs of functions as plain data: nodes with operands and source lines."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from aotensor.driver.definition import Definition
from aotensor.graph.expression import called, expression_of_node
from aotensor.graph.site import Site
from aotensor.graph.subgraph import subgraphs
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import leaves, toposort


@dataclass
class Node:
    """An input, a constant, an op or an output.   detail: its type; inputs: numbers of its operands"""

    kind: str
    label: str
    detail: str
    file: str = ""
    line: int = 0
    inputs: list[int] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)


def graph_of(f: Definition, stage: str) -> list[Node]:
    """The nodes of the graph of a function, each after its operands.   stage: graph or graph-opt"""
    if stage == "graph":
        arguments, results = f.arguments, f.results
    else:
        arguments, results = f.flat.arguments, f.flat.results
    with called(f.names):
        return _nodes(arguments, results)


def _nodes(arguments: Mapping[str, Variable], results: Mapping[str, Variable]) -> list[Node]:
    inputs, targets = list(arguments.values()), list(results.values())
    nodes: list[Node] = []
    numbers: dict[Variable, int] = {}
    for name, x in arguments.items():
        numbers[x] = len(nodes)
        nodes.append(Node("input", name, str(x.type), *_place(x.site)))
    for x in leaves(targets, stop=inputs):
        if isinstance(x, Constant) and x not in numbers:
            numbers[x] = len(nodes)
            nodes.append(Node("constant", str(x)[:60], str(x.type)))
    for node in toposort(targets, stop=inputs):
        number = len(nodes)
        label = node.op.name
        if label == "fused":
            inner = [x.op.name for _, body in subgraphs(node.op) for x in toposort(body.outputs, stop=body.inputs)]
            label = f"fused: {', '.join(inner)}"
        read = list(dict.fromkeys(numbers[x] for x in node.inputs if x in numbers))
        for k in read:  # a constant is placed at its first use
            if nodes[k].kind == "constant" and not nodes[k].line:
                nodes[k].file, nodes[k].line = _place(node.outputs[0].site)
        detail = f"{', '.join(str(x.type) for x in node.outputs)}   {expression_of_node(node, 80)}"
        nodes.append(Node("op", label[:80], detail, *_place(node.outputs[0].site), read))
        numbers.update(dict.fromkeys(node.outputs, number))
    for name, x in results.items():
        nodes.append(Node("output", name, str(x.type), *_place(x.site), [numbers[x]] if x in numbers else []))
    return nodes


def sites_of(functions: Sequence[Definition]) -> dict[str, list[str]]:
    """The files that the graphs' source lines refer to: name without folder → paths."""
    found: dict[str, list[str]] = {}
    for f in functions:
        variables = [*f.arguments.values(), *(n.outputs[0] for n in toposort(list(f.results.values())))]
        for path in dict.fromkeys(x.site.file for x in variables if x.site is not None):
            paths = found.setdefault(os.path.basename(path), [])
            if path not in paths:
                paths.append(path)
    return found


def _place(site: Site | None) -> tuple[str, int]:
    return ("", 0) if site is None else (os.path.basename(site.file), site.line)
