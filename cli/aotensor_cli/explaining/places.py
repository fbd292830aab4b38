"""Map lines of a model to nodes of its graph and statements of its loops."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aotensor import Function
from aotensor.graph.expression import called, expression_of
from aotensor.graph.op import Apply
from aotensor.graph.variable import Variable
from aotensor.graph.walk import toposort
from aotensor.passes.report.outline import Node, Outline
from aotensor_cli.options import Refusal

_LONGEST = 60
"""Characters of an expression."""


@dataclass(frozen=True, order=True)
class Line:
    """A line of a file, without its folder."""

    file: str
    number: int

    def __str__(self) -> str:
        return f"{self.file}:{self.number}"


@dataclass(frozen=True)
class Use:
    """A statement or other operation that computes part of a line.   loops: around it, outermost first"""

    node: Node
    loops: tuple[Node, ...]


def split_line(text: str) -> tuple[str, str | None, str | None, int]:
    """`model.py:9`, `model.py:f:9` or `model.py:layers.py:9` as model, function, other file and number.

    Raises: Refusal for what is none of these
    """
    head, _, number = text.rpartition(":")
    if not head or not re.fullmatch(r"\d{1,9}", number):
        raise Refusal(
            f"{text}: a line number is missing", "write model.py:9, or model.py:layers.py:9 for a file it imports"
        )
    model, _, inner = head.rpartition(":")
    if model and inner.isidentifier():
        return model, inner, None, int(number)
    if model and re.fullmatch(r"[^/\\]+\.\w+", inner):
        return model, None, inner, int(number)
    return head, None, None, int(number)


def other_line(text: str, file: str) -> Line:
    """The second line: `11`, `:11`, `model.py:11` or a path with a number.   Raises: Refusal"""
    match = re.fullmatch(r"(?:(.*?):)?(\d{1,9})", text)
    if match is None:
        raise Refusal(f"{text}: a line number is missing", f"write {file}:11, or 11 for a line of the same file")
    return Line(re.split(r"[/\\:]", match[1] or "")[-1] or file, int(match[2]))


def uses(nodes: Sequence[Node], line: Line, loops: tuple[Node, ...] = ()) -> Iterator[Use]:
    """The statements and operations that compute part of a line, in the order of the loops."""
    for node in nodes:
        if node.kind == "loop":
            yield from uses(node.body, line, (*loops, node))
            continue
        if (line.file, line.number) in node.lines:
            yield Use(node, loops)
        yield from uses(node.body, line, loops)


def lines_in(node: Node) -> set[Line]:
    """The lines of all statements in a loop."""
    inner = {Line(*place) for place in node.lines} if node.kind != "loop" else set()
    return inner.union(*(lines_in(x) for x in node.body))


def graph_nodes(f: Function) -> list[Apply]:
    """Nodes of the user's graph in topological order."""
    return toposort(list(f.results.values()), stop=list(f.arguments.values()))


def line_of(x: Variable) -> Line | None:
    """The line of the model that created a variable."""
    return None if x.site is None else Line(os.path.basename(x.site.file), x.site.line)


def values_at(f: Function, line: Line) -> list[str]:
    """The outermost expressions of a line, as the user wrote them."""
    nodes = [node for node in graph_nodes(f) if line_of(node.outputs[0]) == line]
    inner = {x for node in nodes for x in node.inputs}
    with called(f.written_names):
        found = [x for node in nodes for x in node.outputs if x not in inner or x in f.written_names]
        return list(dict.fromkeys(expression_of(x, _LONGEST, is_code=True) for x in found))


def inputs_at(f: Function, line: Line) -> list[str]:
    """The arguments that a line declares."""
    return [name for name, x in f.arguments.items() if line_of(x) == line]


def readers_of(f: Function, line: Line) -> list[Line]:
    """The other lines that read results of a line."""
    nodes = graph_nodes(f)
    made = {x for node in nodes for x in node.outputs if line_of(x) == line}
    found = {line_of(node.outputs[0]) for node in nodes if not made.isdisjoint(node.inputs)}
    return sorted(x for x in found if x is not None and x != line)


def relation(f: Function, first: Line, second: Line) -> str:
    """A sentence on the data dependence between two lines."""
    reached: dict[Line, set[Variable]] = {}
    for start in (first, second):
        reached[start] = set()
        for node in graph_nodes(f):
            if line_of(node.outputs[0]) == start or not reached[start].isdisjoint(node.inputs):
                reached[start].update(node.outputs)
    reads = {line: {x for n in graph_nodes(f) if line_of(n.outputs[0]) == line for x in n.inputs} for line in reached}
    for one, other in ((first, second), (second, first)):
        if not reached[one].isdisjoint(reads[other]):
            return f"{other} needs what {one} computes"
    common = reads[first] & reads[second]
    names = sorted({x.name for x in common if x.name})
    if common:
        return f"neither needs the other; both read {', '.join(names) or 'the same values'}"
    return "neither needs the other"


def known_lines(f: Function, outline: Outline) -> list[Line]:
    """All lines that have a node in the graph or a statement in the loops."""
    of_graph = {line for node in graph_nodes(f) if (line := line_of(node.outputs[0])) is not None}
    return sorted(of_graph.union(*(lines_in(node) for node in outline.nodes)))
