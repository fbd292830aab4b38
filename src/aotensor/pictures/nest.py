"""The picture of a function's loops, nested, each with its estimated share of the time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from aotensor.pictures.drawing import CHARACTER, Look, clipped, element, picture, text, titled

if TYPE_CHECKING:
    from aotensor.passes.report.outline import Node, Outline

_ROW, _INDENT, _LEFT, _WIDEST = 19.0, 18.0, 104.0, 1130.0


def nest_picture(found: Sequence[Outline], sizes: str, number: int = 0, look: Look = "file") -> str:
    """The pictures of functions below each other.   sizes: as text. number: of the set of dims"""
    parts: list[str] = []
    y, right = 24.0, 300.0
    for outline in found:
        total = outline.seconds[number] or 1.0
        head = f"{outline.name}   about {outline.seconds[number] * 1e6:.3g} µs on one core at {sizes}"
        parts.append(text(12, y, head, "title"))
        right = max(right, 24 + len(head) * CHARACTER)
        y += _ROW
        for node, depth in _rows(outline.nodes, 0):
            share = node.seconds[number] / total
            x = _LEFT + _INDENT * depth
            for part, line in enumerate(node.text):
                if node.kind == "loop":
                    parts.append(element("rect", x=x - 6, y=y - 13, width=_WIDEST, height=17, rx=3, class_="box"))
                if part == 0:
                    if share >= 0.0005:
                        parts.append(element("rect", x=4, y=y - 12, width=max(40 * share, 1), height=14, class_="heat",
                                             opacity=0.25 + 0.6 * share))  # fmt: skip
                    parts.append(text(_LEFT - 14, y, _percent(share), "soft end"))
                words = [*node.how, *_trips(node, number), *([f"{node.file}:{node.line}"] if node.line else [])]
                tail = f"   {', '.join(words)}" if part == 0 else ""
                shown = clipped(line, _WIDEST - 340)
                parts.append(
                    titled(
                        text(x, y, shown, "title" if node.kind == "loop" else None)
                        + text(
                            x + (len(shown) + 1) * CHARACTER * (1.04 if node.kind == "loop" else 1), y, tail, "soft"
                        ),
                        f"{line}\n{node.value}",
                    )
                )
                right = max(right, x + (len(shown) + len(tail) + 2) * CHARACTER * 1.03)
                y += _ROW
        y += _ROW
    return picture(right + 16, y, parts, f"loops of {', '.join(x.name for x in found)}", look)


def _rows(nodes: Sequence[Node], depth: int) -> Iterator[tuple[Node, int]]:
    for node in nodes:
        yield node, depth
        yield from _rows(node.body, depth + 1)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else "< 1 %" if share > 0 else ""


def _trips(node: Node, number: int) -> list[str]:
    if node.kind != "loop":
        return []
    trips = node.trips[number]
    return ["unknown number of times" if trips is None else f"× {trips}"]
