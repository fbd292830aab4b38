"""A chart of the table: for each row the time of aotensor relative to the fastest peer, on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Final
from xml.sax.saxutils import escape

WIDTH: Final = 1040
LEFT: Final = 500
"""Where the bars begin: titles stand before."""
RIGHT: Final = 880
"""Where the scale ends: names of peers stand behind."""
BAR: Final = 10
TOP: Final = 74
RANGE: Final = (1 / 32, 16.0)
"""Ratios that the scale shows; what is beyond ends there with an arrow."""
COLOURS: Final = {1: "#3b5b8c", 2: "#a87b23"}
STYLE: Final = """
    .t { fill: #1d2733; font-size: 11.5px; text-anchor: end }
    .h { fill: #1d2733; font-size: 14px; font-weight: 600 }
    .s { fill: #52606d; font-size: 11px }
    .m { fill: #52606d; font-size: 11px; text-anchor: middle }
    .g { stroke: #d5dce4 } .one { stroke: #1d2733 } .goal { stroke: #3f7a4a; stroke-dasharray: 4 3 }
"""


@dataclass(frozen=True)
class Bar:
    """cores; our time over that of the peer; its name."""

    cores: int
    ratio: float
    peer: str


def chart(title: str, rows: Sequence[tuple[str, Sequence[Bar]]], goal: float) -> str:
    """An SVG. goal: the ratio that is aimed at, a dashed line."""
    lines, y = [], TOP
    for name, bars in rows:
        height = BAR * max(1, len(bars))
        lines.append(_text("t", LEFT - 10, y + height / 2 + 4, name))
        for i, bar in enumerate(bars):
            lines += _bar(bar, y + i * BAR)
        y += height + 8
    frame = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 12}" role="img"',
        f'  font-family="system-ui, -apple-system, \'Segoe UI\', sans-serif" aria-label="{escape(title)}">',
        f"  <style>{STYLE}  </style>",
        f'  <rect width="{WIDTH}" height="{y + 12}" fill="#f7f9fb"/>',
        _text("h", 20, 26, title),
        *_legend(sorted({bar.cores for _, bars in rows for bar in bars})),
        *_scale(y, goal),
    ]
    return "\n".join([*frame, *lines, "</svg>"]) + "\n"


def _place(ratio: float) -> float:
    low, high = RANGE
    part = (log(min(max(ratio, low), high)) - log(low)) / (log(high) - log(low))
    return LEFT + part * (RIGHT - LEFT)


def _bar(bar: Bar, y: float) -> list[str]:
    """A bar from 1 to the ratio; bars to the left mean that aotensor is faster."""
    ends = sorted((_place(1.0), _place(bar.ratio)))
    beyond = "◂ " if bar.ratio < RANGE[0] else "▸ " if bar.ratio > RANGE[1] else ""
    box = f'x="{ends[0]:.1f}" y="{y + 1}" width="{max(1.0, ends[1] - ends[0]):.1f}" height="{BAR - 2}"'
    return [
        f'  <rect {box} fill="{COLOURS.get(bar.cores, "#52606d")}"/>',
        _text("s", RIGHT + 10, y + BAR - 1, f"{beyond}{bar.ratio:.2f} {bar.peer}"),
    ]


def _scale(bottom: float, goal: float) -> list[str]:
    lines = []
    for ratio in (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0, 16.0):
        x = _place(ratio)
        kind = "one" if ratio == 1.0 else "g"
        lines.append(f'  <line class="{kind}" x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{bottom}"/>')
        lines.append(_text("m", x, TOP - 12, f"1/{1 / ratio:.0f}" if ratio < 1 else f"{ratio:.0f}"))
    x = _place(goal)
    return [*lines, f'  <line class="goal" x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{bottom}"/>']


def _legend(cores: Sequence[int]) -> list[str]:
    lines = [_text("s", 20, 46, "time of aotensor / time of the fastest other; dashed: the target")]
    for i, count in enumerate(cores):
        x = LEFT + 90 * i
        lines.append(f'  <rect x="{x}" y="37" width="10" height="10" fill="{COLOURS.get(count, "#52606d")}"/>')
        lines.append(_text("s", x + 15, 46, f"{count} core{'s' * (count > 1)}"))
    return lines


def _text(kind: str, x: float, y: float, text: str) -> str:
    return f'  <text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
