"""The plan of rounds: bytes sent to chunks and back, and operations, as formulas of the dims."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from aotensor.api.cost.work import evaluated
from aotensor.errors import GraphValueError
from aotensor_runtime import Library
from aotensor_runtime.abi import DTYPE_SIZES
from aotensor_runtime.rounds.split import SplitFunction
from aotensor_runtime.signature import FunctionSpec


@dataclass(frozen=True)
class PlannedRound:
    """One round. chunk: bytes read per chunk. sent: bytes of values that every chunk needs. partials: bytes
    returned per chunk, merged in pairs. rows: bytes of outputs with rows, per chunk. flops: of a
    chunk, and of a merge. Formulas of the dims, or numbers.
    """

    map: str
    chunk: str
    sent: str
    partials: str
    rows: str
    flops: str
    merge_flops: str


@dataclass(frozen=True)
class Plan:
    """The rounds of a split function.   str(plan) is a table"""

    function: str
    over: str
    start: str | None
    rounds: tuple[PlannedRound, ...]

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON values."""
        return {**asdict(self), "rounds": [asdict(each) for each in self.rounds]}

    def rows(self) -> list[tuple[str, str]]:
        """The rows of the plan's table, (label, amount), for each round."""
        found = [] if self.start is None else [("before", f"{self.start}, once")]
        for k, each in enumerate(self.rounds, 1):
            found += [
                (f"round {k}", each.map),
                ("  read per chunk", f"{each.chunk} bytes"),
                ("  sent to workers", f"{each.sent} bytes"),
                ("  partials per chunk", f"{each.partials} bytes"),
                ("  rows per chunk", f"{each.rows} bytes"),
                ("  flops per chunk", each.flops),
                ("  flops per merge", each.merge_flops),
            ]
        return found

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.rows())
        return "\n".join(
            [f"{self.function} over {self.over}", *(f"{name:{width}}  {text}" for name, text in self.rows())]
        )


def plan_of(split: SplitFunction, sizes: Mapping[str, int]) -> Plan:
    """The plan, with numbers if sizes are given.   Raises: GraphValueError for an unknown dim"""
    library, protocol = split.library, split.protocol
    known = {dim for f in library.functions.values() for dim in (*f.spec.dims, *f.spec.workspace_dims)}
    for name in sizes:
        if name not in known:
            raise GraphValueError(
                f"{protocol.function}: sizes names a dim {name}, which no input has",
                hint=f"dims: {', '.join(sorted(known))}",
            )

    def shown(formula: str) -> str:
        if not sizes:
            return formula
        value, is_all = evaluated(formula, sizes)
        return formula if value is None else f"{'' if is_all else 'at least '}{value:.6g}"

    rounds = []
    for each in protocol.rounds:
        spec = library[each.map].spec
        with_rows = {name for name, axis in protocol.inputs.items() if axis is not None}
        rounds.append(
            PlannedRound(
                each.map,
                shown(_bytes(spec, lambda name, rows=with_rows: name in rows)),
                shown(_bytes(spec, lambda name, rows=with_rows: name not in rows)),
                shown(_output_bytes(spec, each.partials)),
                shown(_output_bytes(spec, tuple(each.rows))),
                shown(_flops(library, each.map)),
                shown(_flops(library, each.merge)) if each.merge else "0",
            )
        )
    return Plan(protocol.function, protocol.over, protocol.start, tuple(rounds))


def _flops(library: Library, function: str) -> str:
    try:
        return str(json.loads(library.section("work"))[function])
    except (KeyError, ValueError):
        return "not known"


def _bytes(spec: FunctionSpec, is_wanted: Any) -> str:
    sparse = {k: group.name for group in spec.sparse_inputs for k in range(group.first, group.first + 4)}
    patterns = {group.first for group in spec.sparse_inputs}
    return _sum(
        (x.dtype, x.shape)
        for k, x in enumerate(spec.inputs)
        if k not in patterns and is_wanted(sparse.get(k, x.name)) and x.default is None
    )


def _output_bytes(spec: FunctionSpec, names: tuple[str, ...]) -> str:
    return _sum((x.dtype, x.shape) for x in spec.outputs if x.name.split(".")[0] in names)


def _sum(arrays: Any) -> str:
    """The formula of the total bytes of arrays, such as `8*n*p + 8*n`, with equal terms combined."""
    terms: dict[str, int] = {}
    for dtype, shape in arrays:
        factor, names = DTYPE_SIZES[dtype], []
        for n in shape:
            if isinstance(n, int):
                factor *= n
            else:
                names.append(f"({n})" if n is not None and not str(n).isidentifier() else str(n or "unknown"))
        terms["*".join(names)] = terms.get("*".join(names), 0) + factor
    return " + ".join(f"{factor}*{names}" if names else str(factor) for names, factor in terms.items()) or "0"
