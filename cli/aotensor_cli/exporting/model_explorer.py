"""Graph collections and node data of Model Explorer, by its `graph_builder.py` and `node_data_builder.py`."""

from __future__ import annotations

from typing import Any

from aotensor.passes.report.dataflow import Flow, FlowNode, Value
from aotensor_cli.exporting.dataflow import Exported, Group, function_of

_GRADIENT = [{"stop": 0.0, "bgColor": "#ffffff"}, {"stop": 1.0, "bgColor": "#ff8f55"}]


def graph_collection(exported: Exported) -> dict[str, Any]:
    """One collection with a graph for each function, level and body."""
    graphs = [_graph(exported, flow, groups) for flow, groups in zip(exported.flows, exported.groups, strict=True)]
    return {"label": exported.name, "graphs": graphs, "graphSorting": "name_asc"}


def node_data(exported: Exported) -> dict[str, Any]:
    """Graph → the time of the line of each node, for colours; graphs without times are left out."""
    name = "measured" if exported.is_measured else "estimated"
    found = {}
    for flow in exported.flows:
        seconds = exported.seconds[function_of(flow)]
        places = {node.id: (node.file, node.line) for node in flow.nodes if node.works}
        results = {
            key: {"value": float(f"{1e6 * seconds[place]:.4g}")} for key, place in places.items() if place in seconds
        }
        if results:
            found[_id(flow.name, flow.stage)] = {
                "name": f"{name} time of the line, us", "results": results, "gradient": _GRADIENT,
                "hideAggregatedStats": ["sum", "avg"], "hideInChildrenStatsTable": True,  # nodes share a line's time
            }  # fmt: skip
    return found


def _id(name: str, stage: str) -> str:
    return f"{name} {stage}"


def _graph(exported: Exported, flow: Flow, groups: dict[Group, dict[str, str]]) -> dict[str, Any]:
    attributes = {_path(path): texts for path, texts in groups.items()}
    attributes[""] = {"function": flow.name, "level": flow.stage, **exported.facts[function_of(flow)]}
    return {
        "id": _id(flow.name, flow.stage),
        "nodes": [_node(node, flow.stage) for node in flow.nodes],
        "groupNodeAttributes": attributes,
    }


def _node(node: FlowNode, stage: str) -> dict[str, Any]:
    edges = [
        {"sourceNodeId": source, "sourceNodeOutputId": str(number), "targetNodeInputId": str(position)}
        for position, (source, number) in enumerate(node.operands)
    ]
    return {
        "id": node.id,
        "label": f"{node.kind} {node.label}" if node.kind in ("input", "output") else node.label,
        "namespace": _path(node.group),
        "subgraphIds": [_id(name, stage) for name in node.graphs],
        "attrs": [{"key": key, "value": text} for key, text in node.attributes.items()],
        "incomingEdges": edges,
        "outputsMetadata": [_metadata(number, value) for number, value in enumerate(node.results)],
    }


def _metadata(number: int, value: Value) -> dict[str, Any]:
    shape = f"{value.dtype}[{', '.join(value.shape)}]" if value.shape else value.dtype
    rows = {"tensor_name": value.name, "tensor_shape": shape, "dtype": value.dtype}
    return {"id": str(number), "attrs": [{"key": key, "value": text} for key, text in rows.items() if text]}


def _path(group: Group) -> str:
    """A namespace: its parts must not hold a slash."""
    return "/".join(part.replace("/", "\u2215") for part in group)
