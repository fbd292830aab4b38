"""split: turn a function over more rows than fit one machine into rounds of functions in one library."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aotensor.api.function import Function
from aotensor.driver.cache import load_together
from aotensor.errors import GraphTypeError
from aotensor.graph.coercion import coerced
from aotensor.splitting.build import Builder, SplitFunctions

if TYPE_CHECKING:
    from aotensor.core.types import Array
    from aotensor.driver.artifact import Artifact
    from aotensor.splitting.plan import Plan
    from aotensor_runtime.rounds.protocol import Protocol
    from aotensor_runtime.rounds.split import BoundRounds, SplitFunction


@coerced
def split(f: Function, over: str) -> Rounds:
    """The rounds of map and merge that compute `f` on chunks of rows, which are the elements along the dim `over`.

    Every value of f is the same for all rows, belongs to one row, or is a merge over rows: sums, products, extrema and
    their positions, any, all, logsumexp, variance, scatters, and combinations of these, such as a softmax or a
    normalisation over rows. This holds for values, gradients, tangents and rows of sparse matrices (CSR).

    Raises: CrossingError with op, line and reason for a value that needs rows of several chunks at once;
    GraphValueError for a dim that no input has, or that one input has twice, and for functions with updates.
    """
    return Rounds(f, over)


class Rounds:
    """A function split into rounds: call it with an engine, bind it to rows, minimise it, print its plan or compile it.

    function: the original. over: the dim of the rows. functions: of the rounds, in call order. protocol: of the calls.

    Raises: as `split`; GraphTypeError for anything but a function, or a name.
    """

    def __init__(self, f: Function, over: str) -> None:
        if not isinstance(f, Function) or not isinstance(over, str):
            raise GraphTypeError(f"Rounds accepts a Function and the name of a dim, not {f!r} and {over!r}")
        self.function, self.over = f, over
        builder = Builder(f, over)
        self._parts = builder.parts()
        self.functions = tuple(self._parts.functions())
        self.protocol = _protocol(builder, self._parts)
        _describe(self._parts, f.name, over)

    @cached_property
    def library(self) -> SplitFunction:
        """Load the functions as one library, from the cache or compiled now."""
        from aotensor_runtime.rounds.split import SplitFunction

        found = load_together(self.functions, self.function.name, self._sections())
        return SplitFunction(found, self.protocol)

    def __call__(self, engine: Any = None, **inputs: Any) -> Any:
        """The results of the whole function, computed by chunks; as `SplitFunction.__call__`."""
        return self.library(engine, **inputs)

    def bind(self, engine: Any = None, **rows_and_options: Any) -> BoundRounds:
        """Fix engine and rows for many calls; as `SplitFunction.bind`."""
        return self.library.bind(engine, **rows_and_options)

    def minimizer(
        self, engine: Any = None, **inputs_and_options: Any
    ) -> tuple[Callable[[Array], float], Callable[[Array], Array]]:
        """(value, gradient) for `scipy.optimize.minimize(fun, x0, jac=grad)`; as `SplitFunction.minimizer`."""
        return self.library.minimizer(engine, **inputs_and_options)

    def plan(self, **sizes: int) -> Plan:
        """The plan: rounds, transferred bytes and operations, as formulas of the dims, or numbers if sizes are given.

        sizes: the extent of each dim; of the rows, those of a chunk. The functions are compiled for that.

        Raises: GraphValueError for an unknown dim.
        """
        from aotensor.splitting.plan import plan_of

        return plan_of(self.library, sizes)

    def compile(
        self,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        target: str | None = None,
        cpu: str | None = None,
        features: str | None = None,
        opt_level: int = 3,
        opt_size: bool = False,
        malloc: bool = True,
        freestanding: bool = False,
        fp: str = "contract",
        threads: bool = True,
        check: bool = False,
        prefix: str = "",
        debug_info: bool = False,
        emit: str | Collection[str] = "lib",
    ) -> Artifact:
        """Write the functions as one library and header, with the protocol in its section `rounds`.

        Freestanding libraries have no sections: the protocol is a file, `<name>.rounds.json`.

        Options and errors: as those of `aotensor.compile`.
        """
        from aotensor.codegen.files import write_files
        from aotensor.driver.artifact import kinds_of, write_artifact
        from aotensor.driver.recipe import Options

        kinds = kinds_of(emit)
        options = Options(target, cpu, features, opt_level, fp, prefix, verify=check, check=check, threads=threads)
        options = replace(options, debug_info=debug_info, opt_size=opt_size, malloc=malloc, freestanding=freestanding)
        if not freestanding:
            options = replace(options, sections=self._sections())
        made = write_artifact(self.functions, Path(path), name or self.function.name, options, kinds)
        if not freestanding:
            return made
        protocol = made.header.with_suffix(".rounds.json")
        write_files({protocol: json.dumps(self.protocol.to_json(), indent=2).encode() + b"\n"})
        return replace(made, others=(*made.others, protocol))

    def _sections(self) -> Mapping[str, bytes]:
        from aotensor_runtime.rounds.protocol import SECTION

        return {SECTION: json.dumps(self.protocol.to_json(), separators=(",", ":")).encode()}

    def __repr__(self) -> str:
        return f"<Rounds of {self.function.name} over {self.over}: {len(self.protocol.rounds)}>"


def _protocol(builder: Builder, parts: SplitFunctions) -> Protocol:
    from aotensor_runtime.rounds.protocol import Protocol, Round

    f = builder.f
    rounds = tuple(
        Round(
            each.name,
            None if merge is None else merge.name,
            None if finish is None else finish.name,
            tuple(partials),
            rows,
        )
        for each, merge, finish, partials, rows in zip(
            parts.maps, parts.merges, parts.finishes, parts.partials, parts.rows, strict=True
        )
    )
    used = {name for g in parts.functions() for name in g.arguments}
    axes = {name: builder.place(x).axis for name, x in f.arguments.items() if name not in f.state}
    inputs = {name: axis for name, axis in axes.items() if name in used or axis is not None}
    return Protocol(
        f.name,
        builder.over,
        inputs,
        {name: f.keys[name] for name in f.results},
        f.output_kind,
        None if parts.start is None else parts.start.name,
        rounds,
        str(builder.first.name),
        str(builder.rows.name),
    )


def _describe(parts: SplitFunctions, name: str, over: str) -> None:
    """Add a description of each function to the header."""
    if parts.start is not None:
        parts.start.doc = f"{name} over {over}, before the rounds: what every chunk needs of the inputs alone"
    groups = zip(parts.maps, parts.merges, parts.finishes, parts.partials, strict=True)
    for k, (each, merge, finish, partials) in enumerate(groups, 1):
        given = f"partials {', '.join(partials)}" if partials else "rows"
        each.doc = f"{name} over {over}, round {k}, of a chunk: {given}"
        if merge is not None:
            merge.doc = f"{name} over {over}, round {k}: partials of two neighbours, a of the earlier rows, merged"
        if finish is not None:
            finish.doc = f"{name} over {over}, round {k}: what follows from the merged partials"
