"""The picture of the memory plan over time: a bar per buffer, from its first to its last use, in the row of its slot.

Time goes to the right, in program order. The bytes alive are at the top; buffers of one row share memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from aotensor.pictures.drawing import CHARACTER, Look, clipped, element, picture, size_of, text, titled

if TYPE_CHECKING:
    from aotensor.passes.report.memory import Buffer, Plan

_ROW, _LEFT, _AREA = 22.0, 190.0, 60.0


def memory_picture(plans: Sequence[Plan], sizes: str, number: int = 0, look: Look = "file") -> str:
    """The pictures of functions below each other.   sizes: as text. number: of the set of dims"""
    parts: list[str] = []
    y, width = 10.0, 760.0
    for plan in plans:
        column = max(26.0, min(110.0, 900.0 / max(len(plan.steps), 1)))
        right = max(_LEFT + column * len(plan.steps), 700.0)
        column = (right - _LEFT) / max(len(plan.steps), 1)
        width = max(width, right + 20)
        y = _one(plan, sizes, number, column, right, y + 14, parts) + 26
    return picture(width, y, parts, f"memory plan of {', '.join(x.name for x in plans)}", look)


def _one(plan: Plan, sizes: str, number: int, column: float, right: float, y: float, parts: list[str]) -> float:
    total = plan.total[number]
    head = f"{plan.name}   workspace of {size_of(total)} at {sizes}"
    parts.append(text(12, y, head, "title"))
    if not plan.buffers:
        parts.append(text(12, y + _ROW, "no buffers: everything lives in registers, inputs and outputs", "soft"))
        return y + _ROW
    y += 12
    alive = [sum(_whole(x, number) for x in plan.buffers if x.start <= k <= x.end) for k in range(len(plan.steps))]
    most = max([*alive, 1])
    points = [f"M{_LEFT} {y + _AREA}"]
    for k, count in enumerate(alive):
        top = y + _AREA * (1 - count / most)
        points.append(f"L{_LEFT + k * column:.1f} {top:.1f}L{_LEFT + (k + 1) * column:.1f} {top:.1f}")
    parts.append(element("path", d=f"{''.join(points)}L{right:.1f} {y + _AREA}Z", class_="area"))
    parts.append(text(_LEFT - 8, y + 10, f"{size_of(most)} alive", "soft end"))
    parts.append(text(_LEFT - 8, y + _AREA, "0", "soft end"))
    y += _AREA + 6
    slots = sorted({x.slot for x in plan.buffers}, key=lambda slot: _order(plan, slot, number))
    colours = {slot: k % 6 for k, slot in enumerate(slots)}
    for k in range(len(plan.steps) + 1):
        x = _LEFT + k * column
        parts.append(element("line", x1=x, x2=x, y1=y, y2=y + _ROW * len(slots), class_="grid"))
    for slot in slots:
        mine = [x for x in plan.buffers if x.slot == slot]
        offset = mine[0].offset[number]
        where = "offset ?" if offset is None else f"at {offset:,}"
        parts.append(text(_LEFT - 8, y + 15, f"{where}, {_size_text(mine[0], number)}", "soft end"))
        parts += [_bar(x, plan, number, column, y, colours[slot]) for x in mine]
        y += _ROW
    for k, step in enumerate(plan.steps):
        x = _LEFT + (k + 0.5) * column
        where = f"{step.file}:{step.line}" if step.line else ""
        label = text(x, y + 14, str(k + 1), "soft middle")
        parts.append(titled(label, f"step {k + 1}: {step.text}\n{where}", **_link(step.file, step.line)))
    y += 20
    for k, step in enumerate(plan.steps):
        y += 16
        where = f"   {step.file}:{step.line}" if step.line else ""
        parts.append(
            titled(text(_LEFT, y, f"{k + 1}  {step.text}{where}", "soft"), step.text, **_link(step.file, step.line))
        )
    return y


def _order(plan: Plan, slot: int, number: int) -> tuple[int, int]:
    offsets = [x.offset[number] for x in plan.buffers if x.slot == slot]
    return (offsets[0] or 0, slot)


def _whole(x: Buffer, number: int) -> int:
    """Bytes of a buffer, including those of all chunks that run at once."""
    return (x.size[number] or 0) * max(x.count[number] or 1, 1)


def _size_text(x: Buffer, number: int) -> str:
    size, count = size_of(x.size[number]), x.count[number]
    return size if x.chunk < 0 else f"{size} × {'?' if count is None else count}"


def _bar(x: Buffer, plan: Plan, number: int, column: float, y: float, colour: int) -> str:
    left, length = _LEFT + x.start * column, column * (x.end - x.start + 1)
    shape = element("rect", x=left + 1, y=y + 2, width=length - 2, height=_ROW - 4, rx=3, class_=f"bar c{colour}")
    # the name of a short bar is written next to it, on the side that has room
    right = _LEFT + column * len(plan.steps)
    fits = len(x.value) * CHARACTER + 12 <= length
    beside = right - (left + length)
    if fits or beside < 60:
        label = text(left + 6, y + 15, clipped(x.value, length - 12))
    else:
        label = text(left + length + 5, y + 15, clipped(x.value, beside - 10))
    where = f"{x.file}:{x.line}" if x.line else ""
    chunk = "" if x.chunk < 0 else "\none for each chunk that runs at the same time"
    title = f"{x.value}\n{_size_text(x, number)}, steps {x.start + 1} to {x.end + 1}{chunk}\n{where}"
    return titled(shape + label, title, **_link(x.file, x.line))


def _link(file: str, line: int) -> dict[str, object]:
    return {"class_": "linked", "data_file": file, "data_line": line, "tabindex": 0} if line else {}
