"""The rows of the op tables at static extents 1 to 40, at -O 3 of every CPU, on poisoned memory.

Case number k is row k div 40 at extent 1 + k mod 40, in the order of `tables`; the extents of a row make one library,
as they share functions. In each axis that has a row's largest extent, this one takes its place, and all extents are in
the types. Values, Jᵀ·ȳ and J·ẋ of the compiled function are compared with the reference. Where aotensor or the
reference refuses a row at an extent, it is left out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from tools.fuzz.campaign import Campaign
from tools.fuzz.compare import Finding
from tools.fuzz.from_tests import from_tests
from tools.fuzz.graph_worker import compiled_library
from tools.fuzz.levels import CPUS, can_run
from tools.fuzz.program import Options

import aotensor as aot
from aotensor.core.garbage import rare_collections
from aotensor.errors import AotensorError
from aotensor_runtime.arrays.poison import poisoned

EXTENTS: Final = 40
"""Functions per library, too."""


@dataclass(frozen=True)
class Row:
    """A row of the op tables at an extent."""

    number: int
    case: Any
    function: aot.Function
    arrays: Sequence[Any]
    expected: Sequence[Any]


@cache
def tables() -> tuple[Sequence[Any], Any]:
    """All rows of the op tables that are compiled, and the function that builds a program from one.

    The first row of each op comes first, then the first one of each op and combination of its operands' dtypes.
    """
    module = from_tests("ops", "tables")
    cases = [case for table in module.COMPILED.values() for case in table]
    names = [mark.args[0] if mark is not None else "default" for mark in module.levels(cases)]
    order = sorted(range(len(cases)), key=lambda k: ("default", "ci", "all").index(names[k]))
    return [cases[k] for k in order], from_tests("ops", "row_programs").row_program


@rare_collections
def run(campaign: Campaign) -> None:
    """Compare rows until the campaign ends, or all rows have run at all extents."""
    cases, _ = tables()
    with poisoned():
        for numbers in campaign.batches(EXTENTS):
            batch = [row for k in numbers if k < EXTENTS * len(cases) if (row := _row(k)) is not None]
            for cpu in filter(can_run, CPUS) if batch else ():
                for finding in findings(batch, cpu):
                    campaign.add(finding.detail.partition(":")[0], partial(Finding.report, finding))


def _row(number: int) -> Row | None:
    cases, row_program = tables()
    position, extent = divmod(number, EXTENTS)
    try:
        case = at_extent(cases[position], extent + 1)
        if case is None:
            return None
        program = row_program(case)
        expected = program.function.reference(*program.arrays)
    except (AotensorError, ValueError, IndexError, ArithmeticError, TypeError):
        return None
    made = program.function
    name = f"{made.name}_{extent + 1}"
    function = aot.function(made.inputs, made.outputs, name=name, on_unused_input="ignore")
    return Row(number, case, function, program.arrays, expected)


def at_extent(case: Any, extent: int) -> Any:
    """A row with its largest extent replaced in all axes that have it; None for a row of scalars.

    Elements are repeated; vectors in ascending order stay so. Square matrices become regular by small repeated
    elements, and different ones on the diagonal of each operand, between 0.2 and 0.8 for the first one; symmetric and
    positive definite ones stay so.
    """
    arrays = case.draw(np.random.default_rng(7))
    largest = max((n for array in arrays for n in array.shape), default=1)
    if largest < 2:
        return None
    for position, array in enumerate(arrays):
        is_sorted = array.ndim == 1 and np.array_equal(np.sort(array), array, equal_nan=array.dtype.kind in "fc")
        for axis, n in enumerate(array.shape):
            if n == largest:
                arrays[position] = np.take(arrays[position], np.arange(extent) % n, axis)
        if is_sorted:
            arrays[position] = np.sort(arrays[position])
        if extent != largest and array.shape[-2:] == (largest, largest) and array.dtype.kind in "fc":
            diagonal = np.diag(np.linspace(1.0, 4.0, extent) ** (1 + position))
            regular = (arrays[position] * (largest / extent / 4) + diagonal) / 5 ** (1 + position)
            arrays[position] = regular.astype(array.dtype)
    return replace(case, inputs=arrays, dims=[array.shape for array in arrays], specials=None, expected=None)


def findings(batch: Sequence[Row], cpu: str) -> Iterator[Finding]:
    """Differences in rows compiled as one library, or one by one if that fails."""
    with tempfile.TemporaryDirectory(prefix="aotensor-fuzz-") as folder:
        try:
            library = compiled_library([row.function for row in batch], Options(3, cpu=cpu), Path(folder))
        except Exception as error:
            if len(batch) == 1:
                yield _finding(batch[0], cpu, f"{type(error).__name__}: {error}")
                return
            library = None
        for row in batch:
            if library is None:
                yield from findings([row], cpu)
                continue
            try:
                found = library[row.function.name](*row.arrays)
            except AotensorError as error:
                yield _finding(row, cpu, f"{type(error).__name__}: {error}")
                continue
            for number, (mine, exact) in enumerate(zip(found, row.expected, strict=True)):
                if not _agrees(row, np.asarray(mine), np.asarray(exact)) and not _is_rounding(row, number, mine):
                    yield _finding(row, cpu, f"result {number} is {mine}, expected {exact}")


def _finding(row: Row, cpu: str, what: str) -> Finding:
    return Finding(row.number, "row", f"{row.case.id} at {row.function.name.rpartition('_')[2]}, {cpu}: {what}")


def _agrees(row: Row, mine: Any, exact: Any) -> bool:
    """Compare with ten times the tolerance of the table, relative to each element and to the largest."""
    dtypes = {array.dtype.name for array in row.arrays} | {exact.dtype.name}
    rtol, atol = row.case.tolerances("float32" if "float32" in dtypes else "float64")
    finite = np.abs(exact[np.isfinite(exact)]) if exact.dtype.kind == "f" else np.zeros(0)
    allowed = atol + rtol * float(finite.max(initial=0))
    return mine.shape == exact.shape and np.allclose(mine, exact, rtol=10 * rtol, atol=10 * allowed, equal_nan=True)


def _is_rounding(row: Row, number: int, mine: Any) -> bool:
    """Is the error of a result as small as ten times what rounding errors of the inputs change it by?

    Results of ill-conditioned problems need not be exact: the reference is evaluated at inputs that differ by at most
    one unit in the last place. A result that is not a float has no rounding errors.
    """
    rng = np.random.default_rng(row.number)
    exact = np.asarray(row.function.reference(*row.arrays)[number])
    if exact.dtype.kind not in "fc":
        return False
    changes = np.zeros(exact.shape)
    for _ in range(4):
        moved = [_rounded(rng, x) for x in row.arrays]
        try:
            other = np.asarray(row.function.reference(*moved)[number])
        except (AotensorError, ValueError, ArithmeticError):
            return False
        if other.shape != exact.shape or not np.isfinite(other).all():
            return False
        changes = np.maximum(changes, abs(other - exact))
    expected = np.asarray(row.expected[number])
    return mine.shape == exact.shape and bool((abs(mine - expected) <= 10 * changes.max(initial=0.0)).all())


def _rounded(rng: np.random.Generator, x: Any) -> Any:
    """An array of floats, each of whose elements is at most one unit in the last place off."""
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "fc":
        return x
    units = rng.integers(-1, 2, x.shape) * np.finfo(x.dtype).eps
    return (x * (1 + units)).astype(x.dtype)
