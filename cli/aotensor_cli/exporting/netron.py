"""Graphs in Netron's own JSON, which it opens as `FILE.netron`: its `message.js` defines the keys."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from aotensor.passes.report.dataflow import SIZES, Flow, FlowNode, Value
from aotensor_cli.exporting.dataflow import Exported, Group


def netron_model(exported: Exported) -> dict[str, Any]:
    """A model with a module for each graph, in the order that its metadata names."""
    names = [f"{flow.name}, {flow.stage}" for flow in exported.flows]
    facts = [(f"{name}: {key}", text) for name, rows in exported.facts.items() for key, text in rows.items()]
    rows = [(f"graph {number}", name) for number, name in enumerate(names, 1)] + facts
    return {
        "signature": "netron:aotensor",  # first, as Netron looks for it there
        "format": "aotensor",
        "producer": "aotensor",
        "version": version("aotensor"),
        "description": "; ".join(names),
        "metadata": [{"name": name, "value": value} for name, value in rows],
        "modules": [_module(flow, groups) for flow, groups in zip(exported.flows, exported.groups, strict=True)],
    }


def _module(flow: Flow, groups: Mapping[Group, Mapping[str, str]]) -> dict[str, Any]:
    numbers: dict[tuple[str, int], int] = {}
    values: list[dict[str, Any]] = []
    for node in flow.nodes:
        for position, value in enumerate(node.results if node.kind != "output" else []):
            numbers[node.id, position] = len(values)
            values.append(_value(value, node.label if node.kind == "input" else f"{node.id}:{position}"))

    def argument(name: str, keys: list[tuple[str, int]]) -> dict[str, Any]:
        return {"name": name, "value": [numbers[key] for key in keys]}

    nodes = []
    for node in flow.nodes:
        if node.kind in ("op", "constant"):
            nodes.append({
                "type": {"name": _label(node), "category": _category(node)},
                "name": " / ".join(node.group),
                "inputs": [argument(f"operand {k}", [key]) for k, key in enumerate(node.operands)],
                "outputs": [argument(x.name or f"result {k}", [(node.id, k)]) for k, x in enumerate(node.results)],
                "attributes": [
                    {"name": name, "value": text, "type": "string"}
                    for name, text in {**node.attributes, **_group_attributes(node, groups)}.items()
                ],
            })  # fmt: skip
    return {
        "values": values,
        "inputs": [argument(x.label, [(x.id, 0)]) for x in flow.nodes if x.kind == "input"],
        "outputs": [argument(x.label, x.operands) for x in flow.nodes if x.kind == "output" and x.operands],
        "nodes": nodes,
    }


def _group_attributes(node: FlowNode, groups: Mapping[Group, Mapping[str, str]]) -> dict[str, str]:
    """The attributes of the group around a node, such as the time and the remarks of its line."""
    known = {*node.attributes.values()}
    rows = groups.get(node.group, {}).items()
    return {f"{node.group[-1]}: {key}": text for key, text in rows if text not in known}


def _label(node: FlowNode) -> str:
    """The label; Netron shows what follows the last period of it, so only that of an operation's name stays one."""
    return node.label if node.label == node.op else node.label.replace(".", "\u2024")


def _category(node: FlowNode) -> str:
    """What Netron colours a node by."""
    if SIZES in node.group:
        return "Shape"
    return "Constant" if node.kind == "constant" else "Transform" if node.is_derivative else "Layer"


def _value(value: Value, name: str) -> dict[str, Any]:
    dimensions = [int(n) if n.isdecimal() else n for n in value.shape]
    return {"name": value.name or name, "type": {"dataType": value.dtype, "shape": {"dimensions": dimensions}}}
