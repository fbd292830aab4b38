"""Draw time by line: a bar for each line, with its forward and derivative parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from aotensor.pictures.drawing import Look, clipped, element, picture, text, titled

_ROW: Final = 20.0
_LABEL, _BAR, _SHARE = 300.0, 260.0, 60.0


class Bar(NamedTuple):
    """The bar of a line.   label: its place and text. share: of the time, the sum of forward and derivative"""

    label: str
    share: float
    forward: float
    derivative: float


def time_picture(bars: Sequence[Bar], look: Look = "file") -> str:
    """Draw the bars as SVG, in the given order."""
    most = max((bar.share for bar in bars), default=0.0) or 1.0
    legend = 0.0
    parts = []
    for kind, name in (("c0", "forward"), ("c1", "derivative"), ("soft", "no line")):
        parts.append(element("rect", x=_LABEL + legend, y=5, width=9, height=9, class_=f"mark {kind}"))
        parts.append(text(_LABEL + legend + 14, 13, name, "soft"))
        legend += 90
    for number, bar in enumerate(bars, 1):
        y, x = number * _ROW + 4, _LABEL
        drawn = [text(0, y + 11, clipped(bar.label, _LABEL - 10))]
        rest = max(bar.share - bar.forward - bar.derivative, 0.0)
        for kind, share in (("c0", bar.forward), ("c1", bar.derivative), ("soft", rest)):
            width = _BAR * share / most
            if width >= 0.1:
                drawn.append(element("rect", x=x, y=y + 1, width=width, height=12, class_=f"mark {kind}"))
                x += width
        drawn.append(text(x + 6, y + 11, f"{100 * bar.share:.1f} %"))
        parts.append(titled("".join(drawn), bar.label))
    return picture(_LABEL + _BAR + _SHARE, (len(bars) + 1) * _ROW + 6, parts, "time by line", look)
