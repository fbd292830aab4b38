"""The table of memory against time: checkpoints of loops, remaining bytes, and recomputed operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aotensor import Function
from aotensor.api.cost.inputs import dims_text
from aotensor.api.cost.work import evaluated
from aotensor.driver.memory import Footprint, Memory, checked_sizes
from aotensor.driver.recipe import Options
from aotensor_cli.terminal.render import show, show_table


@dataclass(frozen=True)
class Table:
    """The footprints of one function, each of fewer bytes than those before it.   sizes: of its dims"""

    name: str
    sizes: Mapping[str, int]
    footprints: Sequence[Footprint]
    has_loops: bool

    def work(self, footprint: Footprint) -> tuple[float | None, float | None]:
        """(floating-point operations, their ratio to those without checkpoints), None where they depend on values."""
        flops, base = (evaluated(x.work, self.sizes)[0] for x in (footprint, self.footprints[0]))
        ratio = flops / base if flops is not None and base else None
        if (
            ratio is None or ratio > 1 + footprint.checkpoints.levels
        ):  # each level repeats the forward pass at most once
            return None, None
        return flops, ratio

    def to_json(self) -> dict[str, Any]:
        """The table as JSON values."""
        rows = []
        for one in self.footprints:
            flops, ratio = self.work(one)
            row = {"bytes": one.bytes, "workspace": one.workspace, "stack": one.stack, "flops": flops, "work": ratio}
            loops = [{"loop": x.loop, "file": x.file, "line": x.line, "steps": x.steps} for x in one.segments]
            rows.append({**row, "loops": loops})
        return {"name": self.name, "sizes": dict(self.sizes), "has_loops": self.has_loops, "rows": rows}

    def show(self) -> None:
        """Print the table."""
        sizes = f" at {dims_text(self.sizes)}" if self.sizes else ""
        first = self.footprints[0]
        if not self.has_loops:
            show(
                f"{self.name}{sizes}: {first.bytes} bytes of workspace and stack; no loop stores values for "
                "another, so that there is nothing to checkpoint"
            )
            return
        show(f"{self.name}{sizes}")
        head = ("bytes", "workspace", "stack", "work", "states are stored")
        show_table(head, [self._row(one) for one in self.footprints])

    def _row(self, one: Footprint) -> tuple[str, ...]:
        _, ratio = self.work(one)
        kept = "; ".join(dict.fromkeys(f"every {x.steps} steps, {x.file}:{x.line}" for x in one.segments))
        work = "not known" if ratio is None else f"{ratio:.2f}"
        return f"{one.bytes}", f"{one.workspace}", f"{one.stack}", work, kept or "in all steps, with other values"


def tables(functions: Sequence[Function], options: Options, sizes: Mapping[str, int]) -> list[Table]:
    """The table of each function.   Raises: as `aotensor.driver.memory.within`"""
    known = checked_sizes(functions, sizes)
    found = []
    for f in functions:
        memory, kept = Memory(f, options, known), list[Footprint]()
        for one in memory.footprints():
            if not kept or one.workspace < kept[-1].workspace:
                kept.append(one)
        own = {name: n for name, n in known.items() if name in memory.dims}
        found.append(Table(f.name, own, kept, memory.has_loops))
    return found
