"""Lower aot.lapack for the matrices that `small-matrices` marked: generated code, without LAPACK calls.

    %l, %f = aot.lapack "cholesky" %a … {lanes 8}   →   for group of 8 matrices, on several cores:
                                                          copy them to memory, equal elements adjacent
                                                          factorise all at once, one matrix per vector lane
                                                          copy the factors to %l

A single matrix is processed in place. The last group is padded with copies of the last matrix, so that all groups run
the same code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from xdsl.dialects import vector
from xdsl.dialects.builtin import i64

from aotensor.ir.dialect import IN_PLACE, LapackOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import shape_of
from aotensor.passes.emit.parallel_lines import each_row
from aotensor.passes.lapack.job import Job, Matrix
from aotensor.passes.lapack.small import factor, triangle
from aotensor.passes.lapack.small.cells import (
    Cells,
    MatrixCells,
    MemoryCells,
    Numbers,
    RegisterCells,
    copy,
)
from aotensor.passes.lapack.small.functions import call_for_matrix
from aotensor.passes.target import Target

Rule: TypeAlias = Callable[..., Scalar]

RULES: Final[Mapping[str, Rule]] = {
    "cholesky": factor.cholesky,
    "cholesky_pullback": factor.cholesky_pullback,
    "lu": factor.lu,
    "lu_adjugate": factor.lu_adjugate,
    "lu_inverse": factor.lu_inverse,
    "lu_solve": factor.lu_solve,
    "multiply_triangular": triangle.multiply_triangular,
    "solve_triangular": triangle.solve_triangular,
}
"""Kind → its algorithm, a function of operands and results in order, without the operand that initializes the first
result."""

_UNROLLED: Final = 4
"""Largest number of rows and columns of a matrix that is held in registers with every loop unrolled."""
_MOVE: Final = 8
"""Work of moving an element into a lane and out of it, in the unit of `nest.work`."""
_FRESH: Final = frozenset({"lu_adjugate", "lu_inverse"})
"""Kinds whose result is not initialized from an operand; the operand whose memory it may reuse is read from a copy."""


@dataclass(frozen=True)
class _Plan:
    """The roles of an operation's matrices in its algorithm.

    inputs: numbers of operands that are passed unchanged. begins: number of the operand that initializes the first
    result.
    """

    job: Job
    rule: Rule
    options: Mapping[str, Any]
    inputs: tuple[int, ...]
    begins: int | None

    @staticmethod
    def from_job(job: Job) -> _Plan:
        op = job.op
        kind = op.kind.data
        begins = None if kind in _FRESH else IN_PLACE[kind]
        inputs = tuple(k for k in range(len(op.arguments)) if k != begins)
        options = {name: op.option(name) for name in op.options.data if name != "nan_on_failure"}
        if "is_left" in options and len(job.operand(1).extents) == 1:
            options["is_left"] = True
        return _Plan(job, RULES[kind], options, inputs, begins)


def is_unrolled(op: LapackOp) -> bool:
    """Is the matrix of an operation small enough for registers?"""
    return max(shape_of(op.arguments[0])[-2:]) <= _UNROLLED


# --- one matrix ------------------------------------------------------------------------------------------------------


def small_matrix(job: Job) -> Scalar:
    """Emit the work for one matrix, or a call of the function for it; return its failure (int64)."""
    plan, v = _Plan.from_job(job), Numbers(job.b, job.dtype, 1, is_unrolled(job.op))
    results = [job.result(k) for k in range(len(job.op.tensors))]
    if plan.begins is not None and not v.is_unrolled:
        job.copy(job.operand(plan.begins), results[0])
        matrices = [*(job.operand(k) for k in plan.inputs), *results]
        if plan.rule is factor.lu_solve:
            matrices.append(_reciprocals(job, v))
        return job.b.cast(call_for_matrix(job, matrices, partial(plan.rule, **plan.options)), "int64")
    cells: list[Cells] = []
    for k in plan.inputs:
        given = job.operand(k)
        is_lost = any(job.is_same(given, x) for x in results)
        is_written = k == 0 and job.op.kind.data == "lu_adjugate"
        cells.append(_loaded_matrix(v, MatrixCells(job, given), is_copied=is_lost or is_written))
    if plan.begins is not None:
        job.copy(job.operand(plan.begins), results[0])
    homes: list[Cells] = [MatrixCells(job, x) for x in results]
    held = [_loaded_matrix(v, home, is_filled=plan.begins is not None and k == 0) for k, home in enumerate(homes)]
    failure = plan.rule(v, *cells, *held, **plan.options)
    _give_back(v, held, homes)
    return job.b.cast(failure, "int64")


def _reciprocals(job: Job, v: Numbers) -> Matrix:
    """Emit the reciprocals of the diagonal of the first operand: LLVM computes them once for several solves."""
    factors, one = job.operand(0), v.constant(1.0)
    found = job.work(factors.rows)
    v.emit_loop(0, factors.rows, lambda i: job.store(one / job.load(factors, i, i), found, i))
    return found


def _loaded_matrix(v: Numbers, cells: Cells, is_filled: bool = True, is_copied: bool = False) -> Cells:
    """The matrix in the storage that the algorithm accesses: a small matrix is loaded into registers.

    is_filled: is it initialized? is_copied: must the algorithm use a copy?
    """
    fits = all(isinstance(n, int) and n <= _UNROLLED for n in (cells.rows, cells.columns))
    held: Cells = cells
    if v.is_unrolled and fits:
        held = RegisterCells(cells.rows, cells.columns)
    elif is_copied:
        held = v.memory(cells.rows, cells.columns)
    if held is not cells and is_filled:
        copy(v, cells, held)
    return held


def _give_back(v: Numbers, held: list[Cells], homes: list[Cells]) -> None:
    for mine, home in zip(held, homes, strict=True):
        if mine is not home:
            copy(v, mine, home)


# --- one in each lane ------------------------------------------------------------------------------------------------


def small_matrices(
    job: Job, count: Extent, target: Target, lanes: int, erase: Callable[[], Sequence[Scalar]]
) -> Scalar:
    """Process `count` matrices, `lanes` at a time; return the failure of the first one that has one (int64).

    erase: emits code that fills the results of the current batch entry with nan.
    """
    b, op = job.b, job.op
    groups = (count + (lanes - 1)) // lanes
    failures = b.allocate(i64, [groups])

    def begin() -> Callable[[Scalar], None]:
        v = Numbers(b, job.dtype, lanes, is_unrolled(op))
        return partial(_group, job, v, _Memory.from_job(job, v), count, failures, erase)

    each_row(b, op, target, groups, work_of_group(op, lanes), begin)
    none = b.constant(0, "int64")

    def first(group: Scalar, carried: list[Scalar]) -> list[Scalar]:
        found = b.fetch(failures, [group], "int64")
        return [b.select(b.compare("eq", carried[0], none), found, carried[0])]

    return b.loop(0, groups, [none], first)[0]


@dataclass(frozen=True)
class _Memory:
    """The buffers of a chunk for a group of matrices: inputs and results, and a failure for each lane."""

    plan: _Plan
    inputs: list[MemoryCells]
    results: list[MemoryCells]
    failures: MemoryCells

    @staticmethod
    def from_job(job: Job, v: Numbers) -> _Memory:
        plan = _Plan.from_job(job)

        def room(x: Matrix) -> MemoryCells:
            rows, columns = x.rows, x.columns
            assert isinstance(rows, int) and isinstance(columns, int)
            return v.memory(rows, columns, v.integer if x.dtype == "int32" else "")

        results = [room(job.result(k)) for k in range(len(job.op.tensors))]
        return _Memory(plan, [room(job.operand(k)) for k in plan.inputs], results, v.memory(1, 1, v.integer))


def _group(
    job: Job,
    v: Numbers,
    memory: _Memory,
    count: Extent,
    failures: Any,
    erase: Callable[[], Sequence[Scalar]],
    group: Scalar,
) -> None:
    """Emit the work for the matrices of one group."""
    b, plan = job.b, memory.plan
    base = group * v.lanes
    last = count - 1
    entries = [b.imin(base + lane, last) for lane in range(v.lanes)]
    for k, cells in zip(plan.inputs, memory.inputs, strict=True):
        _gather(job, v, lambda k=k: job.operand(k), entries, cells)  # type: ignore[misc]
    if plan.begins is not None:
        _gather(job, v, lambda: job.operand(plan.begins), entries, memory.results[0])  # type: ignore[arg-type]
    inputs = [_loaded_matrix(v, cells) for cells in memory.inputs]
    held = [
        _loaded_matrix(v, cells, is_filled=plan.begins is not None and k == 0) for k, cells in enumerate(memory.results)
    ]
    failure = plan.rule(v, *inputs, *held, **plan.options)
    _give_back(v, held, list(memory.results))
    memory.failures.store(failure, 0, 0)
    none = b.constant(0, "int64")

    def put(lane: Scalar, carried: list[Scalar]) -> list[Scalar]:
        job.entry = base + lane
        for k, cells in enumerate(memory.results):
            _scatter(job, v, cells, lane, job.result(k))
        failed = b.cast(b.fetch(memory.failures.memory, [lane], v.integer), "int64")
        if "nan_on_failure" in job.op.options.data and job.op.option("nan_on_failure"):
            b.branch(b.compare("ne", failed, none), erase, lambda: ())
        return [b.select(b.compare("eq", carried[0], none), failed, carried[0])]

    filled = b.imin(count - base, v.lanes)
    (found,) = b.loop(0, filled, [none], put, is_vectorisable=False, is_unrolled=False)
    b.store(found, failures, [group])


def _gather(job: Job, v: Numbers, part: Callable[[], Matrix], entries: list[Extent], cells: MemoryCells) -> None:
    """Copy one matrix of each batch entry of the group into the entry's lane."""
    b = job.b
    sources: list[Matrix] = []
    for entry in entries:
        job.entry = entry
        sources.append(part())

    def element(e: Scalar, _: list[Scalar]) -> tuple[()]:
        wide = b.zero_vector(v.kind(cells.dtype))
        for lane, source in enumerate(sources):
            value = b.cast(b.fetch(source.buffer, [source.start + e], source.dtype), cells.dtype)
            wide = b.emit(vector.InsertOp(value.ssa, wide, [lane]), "raw").ssa
        b.store_vector(wide, cells.memory, [e * v.lanes], None)
        return ()

    b.loop(0, cells.rows * cells.columns, (), element, is_vectorisable=False)


def _scatter(job: Job, v: Numbers, cells: MemoryCells, lane: Scalar, target: Matrix) -> None:
    """Copy the matrix of one lane to its destination."""
    b = job.b

    def element(e: Scalar, _: list[Scalar]) -> tuple[()]:
        value = b.fetch(cells.memory, [e * v.lanes + lane], cells.dtype)
        b.store(b.cast(value, target.dtype), target.buffer, [target.start + e])
        return ()

    b.loop(0, cells.rows * cells.columns, (), element, is_vectorisable=False)


def work_of_group(op: LapackOp, lanes: int) -> int:
    """The estimated work for `lanes` matrices, in the unit of `nest.work`."""
    rank = len(shape_of(op.arguments[0])) - 2
    elements = sum(math.prod(shape_of(x)[rank:]) for x in (*op.arguments, *op.tensors))
    return lanes * elements * (_MOVE + max(shape_of(op.arguments[0])[rank:]))
