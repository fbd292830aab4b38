"""The record of a compilation, for other modules to show: loops of functions with estimated time, and memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from aotensor.driver.definition import Definition
from aotensor.ir.location import Locations
from aotensor.passes.pipeline import Observer
from aotensor.passes.report.dataflow import Flow, module_flows
from aotensor.passes.report.memory import Plan, memory_plans
from aotensor.passes.report.outline import Outline, outlines

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


class Report:
    """Loops, memory and dataflow of functions, filled by `lower`.

    dims: function → the sets of extents to estimate for. levels: tensor, tensor-opt, nest, to record the dataflow of
    """

    def __init__(self, dims: Mapping[str, Sequence[Mapping[str, int]]], levels: Collection[str] = ()) -> None:
        self.dims, self.levels = dims, levels
        self.flows: list[Flow] = []
        self.outlines: list[Outline] = []
        self.plans: list[Plan] = []

    def begin(self, sites: Locations, functions: Sequence[Definition]) -> Observer:
        """Observers of a module for the pass runner: after each pass, and at the end of the nest level."""
        names = {f.name: f.names for f in functions}

        def look(name: str, module: ModuleOp, is_before: bool) -> None:
            if is_before:
                return
            if name in self.levels:
                self.flows += module_flows(module, name, sites, names)
            if name == "nest":
                self.outlines = outlines(module, sites, names, self.dims)
            elif name == "plan-memory":
                self.plans = memory_plans(module, sites, names, self.dims)

        return look
