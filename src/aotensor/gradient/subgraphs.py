"""Derivatives of subgraphs for the ops that run them, registered by name, because ops may not import the sweeps."""

from __future__ import annotations

from collections.abc import Sequence

from aotensor.gradient.forward import push
from aotensor.gradient.sweep import Sweep
from aotensor.graph.coercion import coerced
from aotensor.graph.variable import Variable, Variables


@coerced
def pulled_terms(outputs: Variables, wrt: Variables, cotangents: Variables) -> list[Variable]:
    """Cotangents of each variable in wrt with the others held fixed; they may be disconnected or null."""
    sweep = Sweep(list(zip(outputs, cotangents, strict=True)), {}, wrt, wrt)
    sweep.run()
    return [sweep.total(x) for x in wrt]


@coerced
def pushed_terms(outputs: Sequence[Variable], wrt: Sequence[Variable], tangents: Sequence[Variable]) -> list[Variable]:
    """Tangents of `outputs` for the tangents of wrt; they may be disconnected or null."""
    return push(outputs, wrt, tangents)
