"""The picture of a function's graph: inputs at the top, outputs at the bottom, each op below its operands."""

from __future__ import annotations

from collections.abc import Sequence

from aotensor.pictures.drawing import CHARACTER, Look, clipped, element, picture, text, titled
from aotensor.pictures.layout import placed
from aotensor.pictures.nodes import Node

_HEIGHT, _STEP, _MARGIN, _WIDEST = 34.0, 66.0, 20.0, 240.0


def graph_picture(graphs: Sequence[tuple[str, Sequence[Node]]], look: Look = "file") -> str:
    """The graphs of functions next to each other, with their names."""
    parts: list[str] = []
    left = bottom = 0.0
    for name, nodes in graphs:
        widths = [min(max(len(n.label), len(_where(n)), 6) * CHARACTER + 18, _WIDEST) for n in nodes]
        middle, depth = placed([n.inputs for n in nodes], widths)
        first = min((x - w / 2 for x, w in zip(middle, widths, strict=True)), default=0.0)
        x = [left + _MARGIN + m - first for m in middle]
        y = [_MARGIN + 24 + _STEP * d for d in depth]
        parts.append(text(left + _MARGIN, _MARGIN + 4, name, "title"))
        edges = [
            f"M{x[k]:.1f} {y[k] + _HEIGHT:.1f}C{x[k]:.1f} {(y[k] + _HEIGHT + y[n]) / 2:.1f} "
            f"{x[n]:.1f} {(y[k] + _HEIGHT + y[n]) / 2:.1f} {x[n]:.1f} {y[n]:.1f}"
            for n, node in enumerate(nodes) for k in node.inputs
        ]  # fmt: skip
        if edges:
            parts.append(element("path", d="".join(edges), class_="edge"))
        parts += [_box(node, x[n], y[n], widths[n]) for n, node in enumerate(nodes)]
        left = max((m + w / 2 for m, w in zip(x, widths, strict=True)), default=left) + _MARGIN
        left = max(left, _MARGIN + len(name) * CHARACTER)
        bottom = max(bottom, *(top + _HEIGHT for top in y), 60.0)
    label = f"graph of {', '.join(name for name, _ in graphs)}"
    return picture(left + _MARGIN, bottom + _MARGIN, parts, label, look)


def _where(node: Node) -> str:
    return f"{node.file}:{node.line}" if node.line else ""


def _box(node: Node, x: float, y: float, width: float) -> str:
    kind = {"input": "in", "constant": "in", "output": "out"}.get(node.kind, "box")
    shape = element(
        "rect", x=x - width / 2, y=y, width=width, height=_HEIGHT, rx=4 if kind == "box" else 12, class_=kind
    )
    label = text(x, y + 14, clipped(node.label, width - 10), "middle")
    where = text(x, y + 27, _where(node) or clipped(node.detail, width - 10), "middle soft")
    return titled(shape + label + where, f"{node.label}\n{node.detail}\n{_where(node)}".strip())
