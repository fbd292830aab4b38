"""Write symbolic graphs in Graphviz's DOT language."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aotensor import Function
from aotensor.graph.variable import Constant, Variable
from aotensor.graph.walk import leaves, toposort


def graph_dot(functions: Sequence[Function]) -> str:
    """One digraph with a cluster per function: boxes are ops, ovals inputs and outputs, edges carry types."""
    lines = ["digraph aotensor {", '  node [fontname="monospace", fontsize=10];', "  edge [fontsize=8];"]
    for number, f in enumerate(functions):
        lines += [
            f"  subgraph cluster_{number} {{",
            f"    label={_quoted(f.name)};",
            *_function(f, f"f{number}_"),
            "  }",
        ]
    return "\n".join([*lines, "}", ""])


def _function(f: Function, prefix: str) -> Iterator[str]:
    names: dict[Variable, str] = {}
    arguments, targets = list(f.arguments.items()), list(f.results.values())
    for position, (name, x) in enumerate(arguments):
        names[x] = f"{prefix}i{position}"
        yield f"    {names[x]} [label={_quoted(f'{name}: {x.type}')}];"
    inputs = list(f.arguments.values())
    constants = [x for x in leaves(targets, stop=inputs) if isinstance(x, Constant) and x not in names]
    for position, x in enumerate(constants):
        names[x] = f"{prefix}c{position}"
        yield f"    {names[x]} [label={_quoted(str(x))}, shape=plaintext];"
    for position, node in enumerate(toposort(targets, stop=inputs)):
        here = f"{prefix}n{position}"
        yield f"    {here} [label={_quoted(str(node.op))}, shape=box];"
        yield from (f"    {names[x]} -> {here} [label={_quoted(str(x.type))}];" for x in node.inputs)
        names.update(dict.fromkeys(node.outputs, here))
    for position, (name, x) in enumerate(f.results.items()):
        yield f"    {prefix}o{position} [label={_quoted(f'{name}: {x.type}')}, style=bold];"
        yield f"    {names[x]} -> {prefix}o{position} [label={_quoted(str(x.type))}];"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
