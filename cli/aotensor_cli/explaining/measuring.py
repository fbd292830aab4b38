"""Measure the effect of a decision: time the function with and without it, alternating."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from aotensor import Function
from aotensor.api.cost.inputs import dims_of, make_inputs
from aotensor.api.cost.turns import Ratio, in_turns
from aotensor.driver.build import Build
from aotensor.driver.recipe import Options
from aotensor.graph.passes.remarks import Remark
from aotensor.graph.passes.steps import OPTIMISATIONS
from aotensor_cli.explaining.pairs import Directive, pipeline_without
from aotensor_cli.terminal.remarks import without_remarks
from aotensor_cli.terminal.render import progress
from aotensor_runtime import Library


@dataclass(frozen=True)
class MeasuredChange:
    """A function with a change.   what: the change. ratio: its time over that of the function as it is"""

    what: str
    ratio: Ratio

    def to_json(self) -> dict[str, Any]:
        return {"what": self.what, **self.ratio.to_json()}


def without_passes(
    f: Function, remarks: Sequence[Remark], sizes: Mapping[str, int], seconds: float
) -> list[MeasuredChange]:
    """Measure the function without each optimisation that changed the lines of the remarks."""
    done = dict.fromkeys(x.pass_name for x in remarks if x.kind == "applied" and x.pass_name in OPTIMISATIONS)
    changes = {f"without {name}": Options(pipeline=pipeline_without(f, (name,))) for name in done}
    return _measured(f, changes, sizes, seconds)


def with_directive(f: Function, directive: Directive, sizes: Mapping[str, int], seconds: float) -> list[MeasuredChange]:
    """Measure the function with two loops fused by a directive."""
    return _measured(f, {f"with {directive}": directive.options(f)}, sizes, seconds)


def _measured(
    f: Function, changes: Mapping[str, Options], sizes: Mapping[str, int], seconds: float
) -> list[MeasuredChange]:
    if not changes:
        return []
    usual = _library(f, Options())
    found = []
    for what, options in changes.items():
        other = _library(f, options)
        dims = dims_of(usual.functions[f.name].spec, {})
        dims = dims_of(usual.functions[f.name].spec, {name: n for name, n in sizes.items() if name in dims})
        inputs = make_inputs(usual.functions[f.name], dims, 0)
        binders = [partial(x.functions[f.name].bind, **inputs, num_threads=1) for x in (usual, other)]
        with progress(f"timing {f.name} {what}"):
            found.append(MeasuredChange(what, in_turns(binders[0], binders[1], seconds)))
    return found


def _library(f: Function, options: Options) -> Library:
    build = Build([f], None, options)
    with progress(f"compiling {build.name}") as build.begin, without_remarks():
        return Library(build.shared)
