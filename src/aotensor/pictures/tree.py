"""Print a graph as a tree: shared nodes are printed once, the bodies of loops and branches follow below."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from aotensor.driver.definition import Definition
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.graph.coercion import check_choice, coerced
from aotensor.graph.op import Apply
from aotensor.graph.subgraph import subgraphs
from aotensor.graph.variable import Constant, Variable


@coerced
def dprint(
    graph_like: Any,
    depth: int = -1,
    print_type: bool = True,
    file: Any = None,
    id_type: str = "CHAR",
    stop_on_name: bool = False,
) -> str | None:
    """Print the graph of variables, a line for each node, with its operands indented below it.

        >>> aot.dprint((x + 1) * (x + 1))
        mul [id A] <float64[n]>
         ├─ add [id B] <float64[n]>
         │  ├─ x [id C] <float64[n]>
         │  └─ 1.0 [id D] <float64>
         └─ add [id B] <float64[n]>
            └─ ···

    A node has one id, and its operands are shown at its first use. After an op with several results the line has the
    number of the result, after the type the name. Bodies of loops, branches and `OpFromGraph` come last, as "Inner
    graphs".

    graph_like: a variable, a list or dict of them, or a Function.
    depth: levels that are shown; −1 for all.
    file: None for the standard output, "str" to return a string, or an object with a method `write`.
    id_type: "CHAR" for letters, "int" for numbers, "" for none.
    stop_on_name: operands of variables with a name are not shown.

    Raises: GraphTypeError for anything but a graph, or a file; GraphValueError for another id_type, or a depth of 0.
    """
    if depth == 0 or depth < -1:
        raise GraphValueError(f"dprint: depth is {depth}", hint="-1 shows all levels")
    tree = _Tree(depth, print_type, check_choice("dprint: id_type", id_type, ("CHAR", "int", "")), stop_on_name)
    for label, x in _roots(graph_like):
        tree.draw(x, label)
    tree.draw_inner_graphs()
    text = "\n".join([*tree.lines, ""])
    if isinstance(file, str) and file == "str":
        return text
    write = getattr(sys.stdout if file is None else file, "write", None)
    if write is None:
        raise GraphTypeError(f"dprint: {file!r} has no method write", hint='file="str" returns a string')
    write(text)
    return None


def _roots(graph_like: Any) -> list[tuple[str, Variable]]:
    """Variables, each with the text that precedes it."""
    if isinstance(graph_like, Definition):
        graph_like = dict(graph_like.results)
    if isinstance(graph_like, Apply):
        graph_like = list(graph_like.outputs)
    if isinstance(graph_like, Mapping):
        found = [(f"{key} = ", x) for key, x in graph_like.items()]
    elif isinstance(graph_like, Sequence) and not isinstance(graph_like, str):
        found = [("", x) for x in graph_like]
    else:
        found = [("", graph_like)]
    for _, x in found:
        if not isinstance(x, Variable):
            raise GraphTypeError(f"dprint: expected variables or a Function, found {type(x).__name__}")
    return found


class _Tree:
    """Prints the tree; holds the lines so far."""

    def __init__(self, depth: int, print_type: bool, id_type: str, stop_on_name: bool) -> None:
        self._depth, self._print_type, self._id_type, self._stop_on_name = depth, print_type, id_type, stop_on_name
        self.lines: list[str] = []
        self._ids: dict[Apply | Variable, str] = {}
        self._shown = set[Apply]()
        self._with_bodies: dict[Apply, None] = {}

    def draw(self, root: Variable, label: str = "", indent: str = "") -> None:
        """Print a variable and its graph."""
        pending = [(root, f"{indent}{label}", f"{indent}{' ' * len(label)}", 1)]
        while pending:
            x, front, below, level = pending.pop()
            self.lines.append(front + self._line(x))
            node = x.owner
            if node is None or not node.inputs:
                continue
            if subgraphs(node.op):
                self._with_bodies[node] = None
            if node in self._shown:
                self.lines.append(f"{below} └─ ···")
            elif level != self._depth and not (self._stop_on_name and x.name and level > 1):
                self._shown.add(node)
                *others, last = node.inputs
                pending.append((last, f"{below} └─ ", f"{below}   ", level + 1))
                pending += [(y, f"{below} ├─ ", f"{below} │ ", level + 1) for y in reversed(others)]

    def draw_inner_graphs(self) -> None:
        """Print the bodies of the printed nodes, and of those inside of them."""
        drawn = 0
        while drawn < len(self._with_bodies):
            node = list(self._with_bodies)[drawn]
            self.lines += [*([] if drawn else ["", "Inner graphs:"]), "", f"{node.op.name}{self._id(node)}"]
            for name, body in subgraphs(node.op):
                self.lines.append(f" {name}({', '.join(map(self._line, body.inputs))})")
                for x in body.outputs:
                    self.draw(x, "← ", "  ")
            drawn += 1

    def _line(self, x: Variable) -> str:
        node = x.owner
        if node is not None:
            text = str(node.op) if not subgraphs(node.op) else node.op.name
            text += f".{x.index}" if len(node.outputs) > 1 else ""
            name = f" '{x.name}'" if x.name else ""
        else:
            value = isinstance(x, Constant) and (str(x.data) if x.data.size == 1 else "constant")
            text, name = x.name or value or "input", ""
        return f"{text}{self._id(node or x)}{f' <{x.type}>' if self._print_type else ''}{name}"

    def _id(self, key: Apply | Variable) -> str:
        if not self._id_type:
            return ""
        if key not in self._ids:
            number = len(self._ids)
            self._ids[key] = str(number) if self._id_type == "int" else _letters(number)
        return f" [id {self._ids[key]}]"


def _letters(number: int) -> str:
    """A … Z, AA, AB, …"""
    text = ""
    while number >= 0:
        number, rest = divmod(number, 26)
        text, number = chr(ord("A") + rest) + text, number - 1
    return text
