"""Graphs of functions as dataflow: typed results, operands by number, and a graph for each body."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from aotensor.driver.definition import Definition
from aotensor.graph.expression import called, expression_of_node
from aotensor.graph.op import Apply
from aotensor.graph.subgraph import subgraphs
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import leaves, toposort
from aotensor.passes.report.dataflow import UNKNOWN, Flow, FlowNode, Value

_LONGEST = 120
"""Characters of a value."""


def graph_flows(f: Definition, stage: str) -> list[Flow]:
    """The graph of a function, and those of the bodies of its loops and branches.   stage: graph or graph-opt"""
    arguments, results = (f.arguments, f.results) if stage == "graph" else (f.flat.arguments, f.flat.results)
    with called(f.names):
        reader = _Reader(stage)
        reader.graph(f.name, arguments, results)
        return reader.flows


@dataclass
class _Reader:
    stage: str
    flows: list[Flow] = field(default_factory=list)

    def graph(self, name: str, arguments: Mapping[str, Variable], results: Mapping[str, Variable]) -> None:
        """Add a graph, then those of its bodies."""
        inputs, targets = list(arguments.values()), list(results.values())
        flow, made = Flow(name, self.stage), dict[Variable, tuple[str, int]]()
        self.flows.append(flow)

        def node(kind: str, label: str, values: list[tuple[Variable, str]], of: Variable) -> FlowNode:
            one = FlowNode(str(len(flow.nodes)), kind, label, results=[_value(x, text) for x, text in values])
            if of.site is not None:
                site = of.site.origin or of.site
                one.file, one.line, one.is_derivative = os.path.basename(site.file), site.line, site is not of.site
            flow.nodes.append(one)
            return one

        for key, x in arguments.items():
            made[x] = (node("input", key, [(x, key)], x).id, 0)
        for x in leaves(targets, stop=inputs):
            if isinstance(x, Constant) and x not in made:
                made[x] = (node("constant", str(x)[:60], [(x, "")], x).id, 0)
        for apply in toposort(targets, stop=inputs):
            text = expression_of_node(apply, _LONGEST)
            one = node("op", apply.op.name, [(x, x.name or "") for x in apply.outputs], apply.outputs[0])
            one.op, one.value, one.works = apply.op.name, text, True
            one.operands = [made[x] for x in apply.inputs if x in made]
            one.attributes = {"op": str(apply.op)[:_LONGEST]}
            made |= {x: (one.id, number) for number, x in enumerate(apply.outputs)}
            one.graphs = self._bodies(name, one, apply)
        for key, x in results.items():
            last = node("output", key, [(x, key)], x)
            last.operands = [made[x]] if x in made else []

    def _bodies(self, name: str, node: FlowNode, apply: Apply) -> list[str]:
        """Add the graphs of the bodies of a node; returns their names."""
        found = []
        for body_name, body in subgraphs(apply.op):
            inner = f"{name} {body_name} of {node.id}"
            arguments = {x.name or f"input {number}": x for number, x in enumerate(body.inputs)}
            if len(arguments) < len(body.inputs):  # several inputs have the same name
                arguments = {f"input {number}": x for number, x in enumerate(body.inputs)}
            self.graph(inner, arguments, {f"output {number}": x for number, x in enumerate(body.outputs)})
            found.append(inner)
        return found


def _value(x: Variable, name: str) -> Value:
    dtype, bracket, extents = str(x.type).partition("[")
    names = [n.strip() or UNKNOWN for n in extents.rstrip("]").split(",")] if bracket else []
    return Value(name, dtype, tuple(UNKNOWN if n == "None" else n for n in names))
