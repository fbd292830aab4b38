"""Models of PyMC as libraries: log density, its gradient, and the transform to the model's constrained parameters.

from aotensor.importers.pymc import compile_logp

lib = compile_logp(model, "build").load()
lib.dlogp(q)  # {"logp": ..., "dlogp": ...} of the unconstrained vector q
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from os import PathLike
from typing import Any, Final

import numpy as np
import pymc
import pytensor
from pytensor.compile.mode import optdb
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.tensor.rewriting.shape import ShapeFeature

import aotensor as aot
import aotensor.tensor as at
from aotensor.errors import GraphTypeError, GraphValueError
from aotensor.extension import Artifact, Density, Part, concatenate_vectors, pieces, raveled
from aotensor.importers.errors import NoCounterpart
from aotensor.importers.pytensor.mode import EXCLUDED
from aotensor.importers.pytensor.rewrites import shielded
from aotensor.importers.pytensor.table import Walk
from aotensor.importers.pytensor.values import shared_of, symbol

__all__ = ["NoCounterpart", "Slice", "compile_logp", "density_of_model", "logp_functions", "slices"]

_REWRITES: Final = ("canonicalize", "stabilize", "specialize", "local_check_parameter_to_ninf_switch")
"""What PyMC has done to a log density, up to work in place: parameters outside of their domain give −∞."""


@dataclass(frozen=True)
class Slice:
    """Where a free variable is in the unconstrained vector: q[start:stop], reshaped.   name: with its transform"""

    name: str
    start: int
    stop: int
    shape: tuple[int, ...]

    def __str__(self) -> str:
        extents = f" {list(self.shape)}" if self.shape else ""
        return f"q[{self.start}:{self.stop}] {self.name}{extents}"


def slices(model: pymc.Model) -> list[Slice]:
    """The parts of the unconstrained vector, in the order of the model's variables.

    Raises: GraphTypeError for a discrete free variable, which no gradient reaches.
    """
    _check(model)
    values = {x.name: x for x in model.value_vars}
    discrete = [x.name for x in model.discrete_value_vars]
    if discrete:
        raise GraphTypeError(
            f"the model has discrete free variables: {', '.join(discrete)}",
            hint="marginalize them, as pymc.Mixture does, or observe them",
        )
    found: list[Slice] = []
    start = 0
    for name, first in model.initial_point().items():
        assert name in values, name
        stop = start + prod(first.shape)
        found.append(Slice(name, start, stop, tuple(first.shape)))
        start = stop
    return found


def logp_functions(model: pymc.Model, *, data: str = "embedded", prefix: str = "") -> list[aot.Function]:
    """Three Functions of the unconstrained vector q of a model.

    q: (n,) float64 `logp`: the log density with the Jacobians of the transforms, as `model.compile_logp()` has it.
    `dlogp`: that and its gradient. `constrain`: every free variable on its own scale, and every Deterministic, by name.

    data: "embedded" makes what `pymc.Data` holds now part of the code; "inputs" makes arguments of it, by name. prefix:
    of the names of the functions. Their documentation has the layout of q, which header and manifest have too.

    Raises: NoCounterpart with all ops that have none; GraphTypeError for a value that is not a model, and for discrete
    free variables; GraphValueError for another `data`.
    """
    if data not in ("embedded", "inputs"):
        raise GraphValueError(f"logp_functions: data must be 'embedded' or 'inputs', not {data!r}")
    parts = slices(model)
    size = parts[-1].stop if parts else 0
    layout = "; ".join(map(str, parts))
    graph = _Model(model, parts, size, data == "inputs")
    density = graph.value([model.logp()], _REWRITES)[0]
    names, values = _constrained(model)
    constrained = dict(zip(names, graph.value(values, _REWRITES[:-1]), strict=True))
    gradient = aot.grad(density, graph.q, disconnected_inputs="ignore")
    made = []
    for name, outputs, text in (
        ("logp", density, "log density"),
        ("dlogp", {"logp": density, "dlogp": gradient}, "log density and gradient"),
        ("constrain", constrained, "the parameters"),
    ):
        f = aot.function(graph.inputs(), outputs, name=f"{prefix}{name}", on_unused_input="ignore")
        f.doc = f"{text} at the unconstrained vector q of {size}: {layout}"
        made.append(f)
    made[0].density = lambda: density_of_model(model)
    return made


def density_of_model(model: pymc.Model) -> Density:
    """The log density of a model with its parameters by name, for samplers of other projects. `pymc.Data` become data;
    their current values are used where a sampler gives no others. Transformed values are the Deterministics.

    Raises: as `logp_functions`
    """
    parts = slices(model)
    size = parts[-1].stop if parts else 0
    graph = _Model(model, parts, size, has_inputs=True, column_major=True)
    jacobian = at.scalar("jacobian", dtype="bool")
    with_jacobian, without = graph.value([model.logp(), model.logp(jacobian=False)], _REWRITES)
    names, values = _constrained(model)
    constrained = dict(zip(names, graph.value(values, _REWRITES[:-1]), strict=True))
    shapes = model.eval_rv_shapes()
    by_value = {model.rvs_to_values[x].name: x for x in model.free_RVs}
    variables = [by_value[part.name] for part in parts]
    own = [
        Part(x.name, tuple(map(int, shapes[x.name])), part.stop - part.start)
        for x, part in zip(variables, parts, strict=True)
    ]
    theta = at.vector("theta", dtype="float64", shape=(sum(part.size for part in own),))
    data = {x.name: ours for x, ours in graph.data.items()}
    defaults = {x.name: x.get_value() for x in graph.data}
    given = {graph.q: np.zeros(size), **{ours: x.get_value() for x, ours in graph.data.items()}}
    transformed = {
        x.name: at.specify_shape(constrained[x.name], constrained[x.name].eval(given).shape)
        for x in model.deterministics
    }
    return Density(
        graph.q,
        jacobian,
        at.switch(jacobian, with_jacobian, without),
        tuple(own),
        tuple(at.reshape(constrained[part.name], part.shape) for part in own),
        theta,
        _unconstrained(model, graph, variables, own, theta),
        data,
        transformed,
        defaults,
    )


def _unconstrained(
    model: pymc.Model, graph: _Model, variables: Sequence[Any], parts: Sequence[Part], theta: at.Variable
) -> at.Variable:
    """The unconstrained vector of all parameters."""
    symbols = [x.type() for x in variables]
    moved = []
    for x, value in zip(variables, symbols, strict=True):
        transform = model.rvs_to_transforms[x]
        moved.append(value if transform is None else transform.forward(value, *x.owner.inputs))
    moved = clone_replace(moved, dict(zip(variables, symbols, strict=True)), rebuild_strict=False)
    found = pieces(theta, [(part.shape, part.size) for part in parts])
    known = {x: at.cast(ours, x.type.dtype) for x, ours in zip(symbols, found, strict=True)}
    free = graph.value(moved, _REWRITES[:-1], known)
    return concatenate_vectors([at.cast(raveled(x), "float64") for x in free])


def compile_logp(
    model: pymc.Model, path: str | PathLike[str], *, name: str | None = None, data: str = "embedded", **options: Any
) -> Artifact:
    """Write a library with `logp`, `dlogp` and `constrain` of a model into the folder `path`: see `logp_functions`.

    name: of the library, by default the model's, else "model". options: those of `aotensor.compile`.

    Raises: as `logp_functions` and `aotensor.compile`.
    """
    functions = logp_functions(model, data=data)
    return aot.compile(functions, path, name=name or model.name or "model", **options)


class _Model:
    """A model's graph on slices of one vector."""

    def __init__(
        self, model: pymc.Model, parts: Sequence[Slice], size: int, has_inputs: bool, column_major: bool = False
    ) -> None:
        self.q = at.vector("q", dtype="float64", shape=(size,))
        by_name = {x.name: x for x in model.value_vars}
        self._values: dict[Any, Any] = {}
        for part in parts:
            x = by_name[part.name]
            shape = part.shape[::-1] if column_major else part.shape
            cut = at.reshape(self.q[part.start : part.stop], shape)
            cut = at.transpose(cut) if column_major and len(shape) > 1 else cut
            self._values[x] = at.cast(cut, x.type.dtype)
        #: what pymc.Data holds, as inputs
        self.data = {x: symbol(x) for x in model.data_vars if hasattr(x, "get_value")} if has_inputs else {}

    def inputs(self) -> list[Any]:
        """The inputs: q, then the data."""
        return [self.q, *self.data.values()]

    def value(
        self, outputs: Sequence[Any], rewrites: Sequence[str], values: Mapping[Any, Any] | None = None
    ) -> list[Any]:
        """Import graphs of the model's value variables, or of other `values`, after PyTensor's rewrites.

        Raises: NoCounterpart
        """
        shared = {x for x in _leaves(outputs) if hasattr(x, "get_value") and x not in self.data}
        fixed = {x: x.type.make_constant(x.get_value()) for x in shared if not hasattr(x.get_value(), "bit_generator")}
        known = {**(self._values if values is None else values), **self.data}
        symbols = {x: x.type() for x in known}
        for old, new in symbols.items():
            new.name = old.name
        replaced = clone_replace(list(outputs), {**fixed, **symbols}, rebuild_strict=False)
        # rewrites of PyTensor ask for extents; one that fails leaves the graph as it is, which is right
        graph = FunctionGraph(list(symbols.values()), replaced, clone=False, features=[ShapeFeature()])
        query = RewriteDatabaseQuery(include=list(rewrites), exclude=list(EXCLUDED))
        with shielded(graph), pytensor.config.change_flags(on_opt_error="ignore"):
            optdb.query(query).rewrite(graph)
        return Walk({symbols[x]: ours for x, ours in known.items()}, shared_of).run(graph.outputs)


def _constrained(model: pymc.Model) -> tuple[list[str], list[Any]]:
    """Names and graphs of the free variables and of the Deterministics, as functions of value variables."""
    chosen = [*model.free_RVs, *model.deterministics]
    return [x.name for x in chosen], list(model.replace_rvs_by_values(chosen))


def _leaves(outputs: Sequence[Any]) -> set[Any]:
    pending, found = list(outputs), set[Any]()
    while pending:
        x = pending.pop()
        if x not in found:
            found.add(x)
            pending += [] if x.owner is None else x.owner.inputs
    return {x for x in found if x.owner is None}


def _check(model: Any) -> None:
    if not isinstance(model, pymc.Model):
        raise GraphTypeError(f"expected a pymc.Model, found {type(model).__name__} {model!r:.60}")


def named_models(namespace: Mapping[str, Any]) -> dict[str, pymc.Model]:
    """The models in a namespace by name, without duplicates."""
    found: dict[str, pymc.Model] = {}
    for name, value in namespace.items():
        if isinstance(value, pymc.Model) and not any(value is model for model in found.values()):
            found[name] = value
    return found
