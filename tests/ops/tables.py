"""The case tables as a whole: every row, and which rows a run compiles and batches.

By default the first row of each op; with `--ci` the first one of each op and combination of its operands' dtypes; with
`--all` every row. Types, both modes of differentiation and differences are checked for every row by default.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from case import Case

import aotensor.tensor  # noqa: F401  (loads all ops)
from aotensor.graph.subgraph import all_nodes

MODULES: Final = sorted(path.stem for path in Path(__file__).parent.glob("cases_*.py"))
TABLES: Final[dict[str, list[Case]]] = {module: importlib.import_module(module).CASES for module in MODULES}
CASES: Final = [case for table in TABLES.values() for case in table]
DIFFERENTIABLE: Final = [case for case in CASES if case.wrt != ()]
COMPILED: Final = {module: [case for case in table if case.compiles] for module, table in TABLES.items()}


def over(cases: Iterable[Case]) -> pytest.MarkDecorator:
    """A test for every case."""
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in cases])


def by_ops(cases: Iterable[Case]) -> pytest.MarkDecorator:
    """A test for every case; conftest.py says for which level each case waits, since that needs all graphs."""
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.id, marks=pytest.mark.by_ops) for case in cases])


def levels(cases: Iterable[Case]) -> Iterator[pytest.MarkDecorator | None]:
    """Of each case the mark of the level that it waits for, and why; None for the first case of an op."""
    ops, typed = set[str](), set[tuple[str, ...]]()
    for case in cases:
        kinds = _kinds(case)
        names = {name for name, *_ in kinds}
        if names - ops:
            yield None
        elif kinds - typed:
            yield pytest.mark.level("ci", "other rows have its ops, with operands of other dtypes")
        else:
            yield pytest.mark.level("all", "other rows have its ops, with operands of the same dtypes")
        ops |= names
        typed |= kinds


_KINDS: Final[dict[str, set[tuple[str, ...]]]] = {}


def _kinds(case: Case) -> set[tuple[str, ...]]:
    """The ops of a row with the dtypes of their operands, kept: three tests ask, and all graphs take seconds."""
    if case.id not in _KINDS:
        nodes = all_nodes(case.outputs(case.variables(case.draw(np.random.default_rng(7)))))
        _KINDS[case.id] = {(node.op.name, *(x.dtype for x in node.inputs)) for node in nodes}
    return _KINDS[case.id]
