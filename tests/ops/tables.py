"""The case tables as a whole: every row, and which rows each run compiles.

A row is compiled by every run unless `met_again.txt` lists it: then other rows have every lowering that it has, and
only `pytest --all` compiles it. A lowering is an op with its parameters (numbers aside) on operands of some dtypes and
dims; what stands directly on an input also says which of its extents are 0 or 1, and whether it has a number that is
not finite.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import pytest
from case import Case
from row_programs import RowProgram, row_program

import aotensor.tensor  # noqa: F401  (loads all ops)
from aotensor.core.types import Array
from aotensor.graph.subgraph import all_nodes
from aotensor.graph.variable import Constant, Variable
from aotensor.ops.elementwise.base import Elementwise
from aotensor.ops.elementwise.fused import Fused

Lowering: TypeAlias = tuple[object, ...]

MODULES: Final = sorted(path.stem for path in Path(__file__).parent.glob("cases_*.py"))
TABLES: Final[dict[str, list[Case]]] = {module: importlib.import_module(module).CASES for module in MODULES}
CASES: Final = [case for table in TABLES.values() for case in table]
DIFFERENTIABLE: Final = [case for case in CASES if case.wrt != ()]
COMPILED: Final = {module: [case for case in table if case.compiles] for module, table in TABLES.items()}

MET_AGAIN_FILE: Final = Path(__file__).with_name("met_again.txt")
MET_AGAIN: Final = frozenset(MET_AGAIN_FILE.read_text(encoding="utf-8").split())
"""Ids of rows all of whose lowerings other rows have."""


def over(cases: Iterable[Case], are_all_needed: bool = True) -> pytest.MarkDecorator:
    """A test for every case.   are_all_needed: if not, those that are met again wait for --all"""
    marks = {True: (), False: (pytest.mark.again,)}
    return pytest.mark.parametrize(
        "case",
        [pytest.param(case, id=case.id, marks=marks[are_all_needed or case.id not in MET_AGAIN]) for case in cases],
    )


def lowerings(program: RowProgram) -> frozenset[Lowering]:
    """What the compiler lowers for a row: values and derivatives."""
    f = program.function
    values = dict(zip(f.arguments.values(), program.arrays, strict=True))
    found: set[Lowering] = {("returned", x in values, isinstance(x, Constant), *_kind(x)) for x in f.results.values()}
    for node in all_nodes(list(f.flat.results.values())):  # with those that are fused
        if isinstance(node.op, Fused):
            continue
        op = re.sub(r"-?\d+(\.\d+)?", "#", str(node.op))
        if isinstance(node.op, Elementwise):
            found |= {(op, *(x.dtype for x in node.inputs)), ("elementwise", *(_dims(x) for x in node.inputs))}
        else:
            found.add((op, *map(_kind, node.inputs)))
        found |= {(op, what) for x in node.inputs if x in values for what in _special(x, values[x])}
    return frozenset(found)


def _kind(x: Variable) -> Lowering:
    return x.dtype, *_dims(x)


def _dims(x: Variable) -> Lowering:
    return tuple("1" if n == 1 else "n" if isinstance(n, int) else "?" for n in x.tensor_type.shape)


def _special(x: Variable, array: Array) -> Iterator[str]:
    """What is special about an input: unknown extents that are 0 or 1, numbers that are not finite."""
    dims = zip(x.tensor_type.shape, array.shape, strict=True)
    yield from (f"extent {extent}" for n, extent in dims if n is None and extent < 2)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        yield "not finite"


def cover(found: Mapping[str, frozenset[Lowering]], cost: Callable[[str], int], kept: Collection[str] = ()) -> set[str]:
    """Ids that have all lowerings together: those of `kept` and few, cheap ones beside them.

    The greedy cover, without what the rest makes needless.
    """
    pool = {id: lowered for id, lowered in found.items() if id not in kept}
    left = frozenset[Lowering]().union(*found.values()).difference(*(found[id] for id in kept))
    chosen = list[str]()
    while left:
        best = max(pool, key=lambda id: len(pool[id] & left) / cost(id))
        left -= pool.pop(best)
        chosen.append(best)
    counts = Counter(one for id in (*kept, *chosen) for one in found[id])
    for id in sorted(chosen, key=cost, reverse=True):
        if all(counts[one] > 1 for one in found[id]):
            chosen.remove(id)
            counts.subtract(found[id])
    return {*kept, *chosen}


def all_lowerings() -> dict[str, frozenset[Lowering]]:
    """Row → its lowerings, for all rows that are compiled."""
    return {case.id: lowerings(row_program(case)) for table in COMPILED.values() for case in table}
