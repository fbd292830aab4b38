"""HTML of a function for notebooks: arrays, compile options, and its graph."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from aotensor.driver.definition import Definition
from aotensor.graph.expression import called, expression_of_node
from aotensor.graph.op import Apply
from aotensor.graph.variable import Constant, SharedVariable, Variable
from aotensor.graph.walk import leaves, toposort
from aotensor.pictures.graph import graph_picture
from aotensor.pictures.nodes import graph_of
from aotensor_runtime.notebook.html import card, folded, size_text, table
from aotensor_runtime.notebook.library import machine_line

if TYPE_CHECKING:
    from aotensor_runtime.manifest import Manifest

DRAWN: Final = 150
"""Most nodes of a graph that is drawn."""
_LISTED: Final = 400
"""Most operations in the list that replaces a larger picture; a table has no room for more."""


def function_html(f: Definition, compiled: tuple[Manifest, int] | None) -> str:
    """The HTML of a function.   compiled: its library's manifest and number of bytes, or None"""
    targets, inputs = list(f.results.values()), list(f.arguments.values())
    nodes = list(toposort(targets, stop=inputs))
    constants = [x for x in leaves(targets, stop=inputs) if isinstance(x, Constant)]
    rows = [(_kind_of_input(x), key, *_type_of(x)) for key, x in f.arguments.items()]
    rows += [(_kind_of_output(f, key), f.keys.get(key, key), *_type_of(x)) for key, x in f.results.items()]
    arrays = table(["", "name", "dtype", "shape"], rows)
    count = len(nodes) + len(constants) + len(rows)
    drawing = ""
    if count <= DRAWN:
        svg = graph_picture([(f.name, graph_of(f, "graph"))], look="notebook")
        drawing = folded(f"graph of {_count(count, 'node')}", f'<div style="overflow:auto;max-height:40em">{svg}</div>')
    with called(f.names):
        listed = _operations(nodes)
    operations = folded(_count(len(nodes), "operation"), listed)
    return card(f.name, _summary(f, nodes, constants, compiled), arrays, drawing, operations)


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _summary(
    f: Definition, nodes: Sequence[Apply], constants: Sequence[Constant], compiled: tuple[Manifest, int] | None
) -> str:
    """`30 operations, 4 constants of 32 bytes; compiled for ...`"""
    parts = [_count(len(nodes), "operation")]
    if constants:
        parts.append(f"{_count(len(constants), 'constant')} of {size_text(sum(x.data.nbytes for x in constants))}")
    if f.state:
        parts.append(_count(len(f.state), "shared variable"))
    state = "not compiled yet" if compiled is None else f"compiled for {machine_line(*compiled)}"
    return f"{', '.join(parts)}; {state}"


def _operations(nodes: Sequence[Apply]) -> str:
    """A table of the operations, in order."""
    rows = [
        (str(number), node.op.name, expression_of_node(node, 80), ", ".join(str(x.type) for x in node.outputs),
         str(node.outputs[0].site or ""))
        for number, node in enumerate(islice(nodes, _LISTED), 1)
    ]  # fmt: skip
    return table(["", "operation", "what it computes", "type", "line"], rows, 50_000, len(nodes))


def _kind_of_input(x: Variable) -> str:
    return "shared variable" if isinstance(x, SharedVariable) else "input"


def _kind_of_output(f: Definition, key: str) -> str:
    return "next value" if key in f.updates.values() else "output"


def _type_of(x: Variable) -> tuple[str, str]:
    """The dtype, the extents, and the format of a sparse matrix."""
    dtype, _, extents = str(x.type).partition("[")
    return dtype, f"[{extents}" if extents else "a number"
