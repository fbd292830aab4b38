"""The roofline plot (Williams, Waterman & Patterson 2009): measured rates below the machine's limits.

operations per second  ≤  min(peak, operations per byte · bytes per second)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

from aotensor.pictures.drawing import Look, clipped, element, picture, text, titled
from aotensor_cli.page.measurements import Row

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 700.0, 430.0, 60.0, 30.0, 20.0, 50.0


def roofline_picture(rows: Sequence[Row], look: Look = "file") -> str:
    """Every row whose operations are known is a point; every number of threads has a roof, if it was measured."""
    drawn = [row for row in rows if row.flops and row.bytes > 0]
    roofs = {row.threads: row for row in sorted(rows, key=lambda x: x.bandwidth or 0) if row.bandwidth and row.peak}
    parts = [text(_LEFT, 18, "roofline: operations per second over operations per byte", "title")]
    if not drawn:
        parts.append(text(_LEFT, 60, "the operations of what was measured are not known", "soft"))
        return picture(_WIDTH, 90, parts, "roofline", look)
    ridges = [r.peak / r.bandwidth for r in roofs.values() if r.peak and r.bandwidth]
    xs = [row.flops / row.bytes for row in drawn if row.flops] + ridges
    ys = [row.flops / row.seconds for row in drawn if row.flops] + [r.peak for r in roofs.values() if r.peak]
    x_low, x_high = floor(log10(min(xs)) - 0.3), ceil(log10(max(xs)) + 0.3)
    y_low, y_high = floor(log10(min(ys)) - 0.3), ceil(log10(max(ys)) + 0.1)

    def at(x: float, y: float) -> tuple[float, float]:
        width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        across, up = (log10(x) - x_low) / (x_high - x_low), (log10(y) - y_low) / (y_high - y_low)
        return _LEFT + width * across, _TOP + height * (1 - up)

    for k in range(x_low, x_high + 1):
        x, y = at(10.0**k, 10.0**y_low)
        parts.append(element("line", x1=x, x2=x, y1=_TOP, y2=y, class_="grid"))
        parts.append(text(x, y + 16, f"{10.0**k:g}", "soft middle"))
    for k in range(y_low, y_high + 1):
        x, y = at(10.0**x_low, 10.0**k)
        parts.append(element("line", x1=x, x2=_WIDTH - _RIGHT, y1=y, y2=y, class_="grid"))
        parts.append(text(x - 6, y + 4, _rate(10.0**k), "soft end"))
    parts.append(
        text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 14, "operations per byte of inputs and outputs", "soft middle")
    )
    for number, (threads, row) in enumerate(sorted(roofs.items())):
        assert row.bandwidth and row.peak
        start = max(10.0**x_low, 10.0**y_low / row.bandwidth)
        ridge = min(row.peak / row.bandwidth, 10.0**x_high)
        points = [at(start, start * row.bandwidth), at(ridge, ridge * row.bandwidth), at(10.0**x_high, row.peak)]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(element("path", d=f"M{path}", class_=f"roof c{number % 6}", fill="none"))
        x, y = points[-1]
        name = f"{_threads(threads)}: {_rate(row.peak)}flop/s, {_rate(row.bandwidth)}B/s"
        parts.append(text(x, y - 6, name, "soft end"))
    order = sorted(roofs)
    labels: list[tuple[float, float]] = []
    for row in drawn:
        assert row.flops
        x, y = at(row.flops / row.bytes, row.flops / row.seconds)
        sizes = ", ".join(f"{name}={n}" for name, n in row.sizes.items())
        colour = order.index(row.threads) % 6 if row.threads in order else 5
        dot = element("circle", cx=x, cy=y, r=5, class_=f"mark c{colour}")
        low = y + 4
        while any(abs(low - other) < 12 and abs(x - across) < 220 for across, other in labels):
            low += 12
        labels.append((x, low))
        name = f"{row.function} {sizes}, {_threads(row.threads)}"
        left, right = x - _LEFT, _WIDTH - x
        label = (
            text(x + 9, low, clipped(name, right - 16))
            if right > left
            else text(x - 9, low, clipped(name, left), "end")
        )
        title = (
            f"{row.function} at {sizes} on {_threads(row.threads)}\n{row.seconds * 1e6:.4g} µs, "
            f"{_rate(row.flops / row.seconds)}flop/s, {_rate(row.bytes / row.seconds)}B/s{_share(row)}"
        )
        parts.append(titled(dot + label, title, tabindex=0))
    return picture(_WIDTH, _HEIGHT, parts, "roofline", look)


def _share(row: Row) -> str:
    if not row.bandwidth or not row.peak or not row.flops:
        return ""
    least = max(row.bytes / row.bandwidth, row.flops / row.peak)
    return f"\n{min(least / row.seconds, 1):.0%} of what memory and arithmetic allow"


def _threads(count: int) -> str:
    return f"{count} thread{'s' if count > 1 else ''}"


def _rate(x: float) -> str:
    for unit, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if x >= scale:
            return f"{x / scale:.3g} {unit}"
    return f"{x:.3g} "
