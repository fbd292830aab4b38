"""`aotensor inspect --format model-explorer|node-data|netron`: graphs for other viewers, read by their own code."""

from __future__ import annotations

import json
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from command_line import Call
from needs import path_of
from schemas import check_schema

MODEL = """import aotensor as aot, aotensor.tensor as at
X = at.matrix("X", dtype="float64", shape=("n", "p"))
w = at.vector("w", dtype="float64", shape=("p",))


def layer(v):
    r = X @ v
    return at.exp(r) / 2.0


loss = layer(w).sum()
f = aot.function([X, w], {"loss": loss, "g": aot.grad(loss, w)}, name="f")
s = at.scalar("s", dtype="float64")
steps, _ = aot.scan(lambda x: 0.5 * x + 1.0, outputs_info=[s], n_steps=5)
g = aot.function([s], {"last": steps[-1]}, name="g")
"""
READ = """
import { ModelFactory } from './message.js';
import { readFileSync } from 'fs';
const data = readFileSync(process.argv[2]);
const context = {
  stream: { length: data.length, peek: (n) => data.subarray(0, n) },
  peek: async () => JSON.parse(data), set(type, value) { this.value = value; return type; },
};
const factory = new ModelFactory(), type = await factory.match(context), model = await factory.open(context);
const shown = (x) => [x.name, x.value.map((y) => `${y.name}: ${y.type}`)];
const node = (x) => ({
  type: x.type, group: x.name, inputs: x.inputs.map(shown), outputs: x.outputs.map(shown),
  attributes: Object.fromEntries(x.attributes.map((a) => [a.name, a.value])),
});
const module = (x) => ({ inputs: x.inputs.map(shown), outputs: x.outputs.map(shown), nodes: x.nodes.map(node) });
const { format, metadata, modules } = model;
console.log(JSON.stringify({ type, format, metadata, modules: modules.map(module) }));
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exports") / "m.py"
    path.write_text(MODEL)
    return path


@pytest.fixture(scope="module")
def profile(source: Path) -> Path:
    """The line of the product takes 80 of 100 us."""
    row = {
        "file": "m.py", "line": 7, "name": "m.py:7", "share": 0.8, "forward": 0.5, "derivative": 0.3, "seconds": 8e-5,
        "bytes_per_second": 2e10, "flops_per_second": None, "bound": "memory", "share_of_limit": 0.6, "kernels": {},
    }  # fmt: skip
    sizes = {"n": 500, "p": 20}
    profiles = [{"function": "f", "sizes": sizes, "threads": 1, "seconds": 1e-4, "samples": 400, "rows": [row]}]
    path = source.parent / "p.json"
    path.write_text(json.dumps({"profiles": profiles}))
    return path


@pytest.fixture(scope="module")
def collection(spawn: Call, source: Path, profile: Path) -> dict[str, Any]:
    path = source.parent / "m.json"
    answer = spawn("inspect", source, "--format", "model-explorer", "--profile", profile, "-o", path)
    assert (answer.code, answer.out) == (0, ""), answer.err
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.fixture(scope="module")
def overlay(spawn: Call, source: Path, profile: Path) -> dict[str, Any]:
    answer = spawn("inspect", f"{source}:f", "--format", "node-data", "--profile", profile)
    assert answer.code == 0, answer.err
    found: dict[str, Any] = json.loads(answer.out)
    return found


def nodes_of(collection: dict[str, Any], graph: str) -> dict[str, dict[str, Any]]:
    (found,) = [x for x in collection["graphs"] if x["id"] == graph]
    return {node["id"]: {**node, **{x["key"]: x["value"] for x in node["attrs"]}} for node in found["nodes"]}


def operands(nodes: dict[str, dict[str, Any]], node: dict[str, Any]) -> list[str]:
    return [nodes[edge["sourceNodeId"]]["label"] for edge in node["incomingEdges"]]


def test_graphs_of_three_levels_with_lines_shapes_and_times(collection: dict[str, Any]) -> None:
    """By hand: X @ w is on line 7 in `layer`, with its derivative X.T @ ..; in the nest it is in loops n and p."""
    check_schema(collection, "model_explorer")
    names = [x["id"] for x in collection["graphs"]]
    assert {"f graph", "f tensor-opt", "f nest", "g graph"} <= set(names) and len(names) == len(set(names))
    for graph in collection["graphs"]:
        known = nodes_of(collection, graph["id"])
        assert len(known) == len(graph["nodes"])
        assert all(edge["sourceNodeId"] in known for node in graph["nodes"] for edge in node["incomingEdges"])
        assert all(isinstance(x["value"], str) for node in graph["nodes"] for x in node["attrs"])
        assert all(name in names for node in graph["nodes"] for name in node["subgraphIds"])
        assert all(type(x) is str for row in graph["groupNodeAttributes"].values() for x in row.values())
    graph = nodes_of(collection, "f graph")
    forward, derivative = [x for x in graph.values() if x["label"] == "dot"]
    assert forward["namespace"] == derivative["namespace"] == "layer/m.py:7"
    assert operands(graph, forward) == ["input X", "input w"] and "derivative" not in forward
    assert derivative["derivative"] and operands(graph, derivative)[0] == "input X"
    metadata = {x["key"]: x["value"] for x in forward["outputsMetadata"][0]["attrs"]}
    assert metadata["tensor_shape"] == "float64[n]" and forward["source"] == "r = X @ v"
    (first,) = [x for x in collection["graphs"] if x["id"] == "f graph"]
    line = first["groupNodeAttributes"]["layer/m.py:7"]
    assert line["measured time"] == "80.0 %, 80 us" and line["bound by"] == "memory, 60 % of a limit"
    assert "fuse" in line["remark 1"] or "fuse" in json.dumps(line)
    assert first["groupNodeAttributes"][""]["sizes"] == "n=500, p=20"


def test_nests_are_groups_of_loops_with_what_wrote_each_tensor(collection: dict[str, Any]) -> None:
    nest = nodes_of(collection, "f nest")
    (product,) = [x for x in nest.values() if "X[" in x["label"] and "w[" in x["label"]]
    loops = product["namespace"].split("/")
    assert loops[-1].startswith("for p") and loops[-2].startswith("for n")
    assert operands(nest, product)[:2] == ["input X", "input w"] and "%" in product["estimated time"]
    readers = [x for x in nest.values() if product["id"] in [e["sourceNodeId"] for e in x["incomingEdges"]]]
    assert readers and all(int(x["id"]) > int(product["id"]) for x in readers), "the sum is read after its loop"
    (graph,) = [x for x in collection["graphs"] if x["id"] == "f nest"]
    loop = graph["groupNodeAttributes"][product["namespace"]]
    assert loop["iterations"] == "20" and loop["name"].startswith("p")
    (output,) = [x for x in nest.values() if x["label"] == "output g"]
    assert len(output["incomingEdges"]) == 1
    assert {"key": "tensor_shape", "value": "f64[p]"} in output["outputsMetadata"][0]["attrs"]


def test_bodies_are_graphs_of_their_own(collection: dict[str, Any]) -> None:
    (loop,) = [x for x in nodes_of(collection, "g graph").values() if x["subgraphIds"]]
    body = nodes_of(collection, loop["subgraphIds"][0])
    assert {"mul", "add"} <= {x["label"] for x in body.values()}


def test_node_data_has_the_time_of_lines(overlay: dict[str, Any], collection: dict[str, Any]) -> None:
    check_schema(overlay, "node_data")
    assert set(overlay) == {"f graph", "f tensor-opt", "f nest"}
    for name, one in overlay.items():
        nodes = nodes_of(collection, name)
        assert one["results"] and {nodes[key]["line"] for key in one["results"]} == {"m.py:7"}
        assert {x["value"] for x in one["results"].values()} == {80.0}
        assert one["name"] == "measured time of the line, us"


@pytest.mark.needs("model-explorer")
def test_model_explorers_classes_take_it(overlay: dict[str, Any], collection: dict[str, Any]) -> None:
    """Every key is a field of their classes, and their node data is the same JSON."""
    from model_explorer import graph_builder as theirs
    from model_explorer import node_data_builder as data

    for graph in collection["graphs"]:
        nodes = []
        for node in graph["nodes"]:
            attrs = [theirs.KeyValue(**x) for x in node["attrs"]]
            edges = [theirs.IncomingEdge(**x) for x in node["incomingEdges"]]
            outputs = [
                theirs.MetadataItem(x["id"], [theirs.KeyValue(**y) for y in x["attrs"]])
                for x in node["outputsMetadata"]
            ]
            changed = {"attrs": attrs, "incomingEdges": edges, "outputsMetadata": outputs}
            nodes.append(theirs.GraphNode(**{**node, **changed}))
        assert theirs.Graph(**{**graph, "nodes": nodes}).id == graph["id"]
    assert theirs.GraphCollection(**collection).graphSorting == "name_asc"
    made = {
        name: data.GraphNodeData(**{
            **one, "results": {key: data.NodeDataResult(**x) for key, x in one["results"].items()},
            "gradient": [data.GradientItem(**x) for x in one["gradient"]],
        })
        for name, one in overlay.items()
    }  # fmt: skip
    read = json.loads(data.ModelNodeData(made).to_json_string())
    assert {name: x["results"] for name, x in read.items()} == {name: x["results"] for name, x in overlay.items()}


@pytest.mark.needs("netron")
@pytest.mark.parametrize("stage", ["graph", "nest"])
def test_netrons_reader_gives_it_back(call: Call, source: Path, profile: Path, tmp_path: Path, stage: str) -> None:
    """Its `message.js`, unchanged, in Node."""
    model = tmp_path / "m.netron"
    answer = call("inspect", f"{source}:f", "--format", "netron", "--stage", stage, "--profile", profile, "-o", model)
    assert answer.code == 0, answer.err
    check_schema(json.loads(model.read_text()), "netron")
    spec = find_spec("netron")
    assert spec is not None and spec.submodule_search_locations is not None
    reader = Path(spec.submodule_search_locations[0]) / "message.js"
    (tmp_path / "message.js").write_bytes(reader.read_bytes())
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "read.js").write_text(READ)
    done = subprocess.run([path_of("node"), "read.js", model], cwd=tmp_path, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["type"] == "message" and found["format"] == "aotensor"
    assert {"name": "graph 1", "value": f"f, {stage}"} in found["metadata"]
    (module,) = found["modules"]
    dtype = "float64" if stage == "graph" else "f64"
    assert module["inputs"] == [["X", [f"X: {dtype}[n,p]"]], ["w", [f"w: {dtype}[p]"]]]
    assert [name for name, _ in module["outputs"]] == ["loss", "g"]
    if stage == "graph":
        product = next(x for x in module["nodes"] if x["type"]["name"] == "dot")
        assert [values for _, values in product["inputs"]] == [["X: float64[n,p]"], ["w: float64[p]"]]
        assert product["attributes"]["line"] == "m.py:7"
        assert product["attributes"]["m.py:7: bound by"] == "memory, 60 % of a limit"
    else:
        assert any("/ for p" in x["group"] and "X[" in x["type"]["name"] for x in module["nodes"])


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ("--format model-explorer --stage loops", "--format model-explorer has no stage loops"),
        ("--format netron --bench b.json", "--bench needs a page"),
        ("--format node-data --remarks", "--format node-data cannot be combined with --remarks"),
        ("--format netron --sizes q=3", "no function has a dim q"),
    ],
)
def test_what_does_not_go_together(call: Call, source: Path, arguments: str, what: str) -> None:
    answer = call("inspect", source, *arguments.split())
    assert (answer.code, answer.out) == (2, "") and f"error: {what}" in answer.err


def test_libraries_are_refused(call: Call, library: Path) -> None:
    answer = call("inspect", library, "--format", "netron")
    assert answer.code == 2 and "--format netron is not supported for a library" in answer.err
