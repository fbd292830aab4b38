"""Lower aot.lapack to a loop over the batch, with one or a few LAPACK calls per matrix.

    %l, %f = aot.lapack "cholesky" %a …   →   scf.for %k = 0 to %batch iter_args(%f) {
                                                copy the lower triangle of %a[%k] to %l[%k]
                                                %info = func.call @aot_lapack_potrf.f64('U', %n, %l[%k], %n, %context) }

A rule is a function of a `Job` that emits the work for one matrix and returns its failure (int64, 0 for none).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Final, TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import SSAValue

from aotensor.core import dtypes
from aotensor.ir.dialect import LapackOp
from aotensor.ir.index_builder import Extent
from aotensor.ir.loop_builder import LoopBuilder
from aotensor.ir.nest.ops import MATRICES, PARALLEL_LINES
from aotensor.ir.scalar_builder import Scalar
from aotensor.ir.types import i64
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.lapack.adjoint import cholesky_pullback
from aotensor.passes.lapack.factor import cholesky, lu, lu_adjugate, lu_inverse, lu_permutation, lu_solve
from aotensor.passes.lapack.general import (
    diagonal_solve,
    eig,
    eigvals,
    stable_subspace,
    triangular_sylvester,
    tridiagonal_solve,
)
from aotensor.passes.lapack.job import Job
from aotensor.passes.lapack.orthogonal import complete_qr, pivoted_qr, qr, qr_r
from aotensor.passes.lapack.powers import square_repeatedly
from aotensor.passes.lapack.routines import CONCURRENT_ROWS, LARGEST_SOLVE, PREFIX, function_name
from aotensor.passes.lapack.schur import qz, schur, sorted_schur
from aotensor.passes.lapack.small.lower import small_matrices, small_matrix
from aotensor.passes.lapack.spectral import eigh, eigvalsh, full_svd, singular_values, svd
from aotensor.passes.lapack.triangle import multiply_triangular, solve_triangular
from aotensor.passes.lapack.triangular_functions import triangular_log, triangular_sqrt
from aotensor.passes.nest.work import rows_of_chunk
from aotensor.passes.outlining.outline import code_of
from aotensor.passes.remarks import analysis
from aotensor.passes.target import Target

Rule: TypeAlias = "Callable[[Job], Scalar]"

RULES: Final[Mapping[str, Rule]] = {rule.__name__: rule for rule in (
    cholesky, cholesky_pullback, complete_qr, diagonal_solve, eig, eigh, eigvals, eigvalsh, full_svd, lu,
    lu_adjugate, lu_inverse, lu_permutation, lu_solve, multiply_triangular, pivoted_qr, qr, qr_r, qz, schur,
    singular_values, solve_triangular, sorted_schur, square_repeatedly, stable_subspace, svd, triangular_log,
    triangular_sqrt, triangular_sylvester, tridiagonal_solve,
)}  # fmt: skip
"""Kind → its rule, which has its name."""

WITH_EMPTY: Final = frozenset({"complete_qr", "full_svd", "pivoted_qr"})
"""Kinds whose rule accepts operands or results without elements; LAPACK must not be called with those."""


def lower_lapack(
    b: LoopBuilder, buffers: Buffers, op: LapackOp, module: ModuleOp, context: SSAValue, target: Target
) -> Scalar:
    """Fill the results of the operation; return the failure of the first matrix that has one (int64)."""
    at_once = op.attributes.get(MATRICES)
    job = Job(b, buffers, module, op, context, calls=at_once is None)
    count: Extent = 1
    for n in job.batch:
        count = count * n
    if isinstance(at_once, IntegerAttr) and at_once.value.data > 1:
        return small_matrices(job, count, target, at_once.value.data, lambda: _erase(job))
    if at_once is None:
        analysis("{} calls LAPACK: " + op.kind.data, op)
    if PARALLEL_LINES in op.attributes and at_once is None and count != 1:
        failure = _on_cores(job, count, target)
        job.finish()
        return failure
    none = b.constant(0, "int64")

    def step(entry: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
        job.entry = entry
        (found,) = carried
        return [b.select(b.compare("eq", found, none), _one(job), found)]

    failure = _one(job) if count == 1 else b.loop(0, count, [none], step, is_vectorisable=False)[0]
    job.finish()
    return failure


_CALL: Final = 4096
"""The work of a LAPACK call, in the unit of `nest.work`; its arithmetic is about one unit per operation."""


def _on_cores(job: Job, count: Extent, target: Target) -> Scalar:
    """Process the batch on several cores; return the failure of the first matrix that has one (int64).

    The batch is a single chunk if concurrent calls would block each other, or LAPACK uses its own threads.
    """
    b = job.b
    extents = [n for x in _tensors(job) for n in x]
    rows, columns = job.operand(0).rows, job.operand(0).columns
    work = rows * rows * columns + _CALL
    size = b.index(rows_of_chunk(b, count, work, target.chunk_work, target.most_chunks, 1))
    kind = job.op.kind.data
    least, most = CONCURRENT_ROWS[kind]
    is_small = b.index(reduce(b.imax, extents)) <= b.index(most)
    is_small = is_small & (b.index(rows) >= b.index(least))
    if kind == "lu_solve":
        is_small = is_small & (b.index(job.result().columns) <= b.index(LARGEST_SOLVE))
    size = b.select(is_small, size, b.index(b.imax(count, 1)))
    failures = b.allocate(i64, [count])

    def matrix(entry: Scalar, _: list[Scalar]) -> Sequence[Scalar]:
        job.entry = entry
        b.store(_one(job), failures, [entry])
        return ()

    def chunk(start: Scalar) -> None:
        b.loop(start, b.imin(start + size, count), (), matrix, is_vectorisable=False, is_unrolled=False)

    b.parallel(count, size, chunk)
    job.entry = 0
    none = b.constant(0, "int64")

    def first(k: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
        (found,) = carried
        return [b.select(b.compare("eq", found, none), b.fetch(failures, [k], "int64"), found)]

    return b.loop(0, count, [none], first, is_vectorisable=False)[0]


def _one(job: Job) -> Scalar:
    """Emit the work for one matrix of the batch."""
    b, kind = job.b, job.op.kind.data
    rule = small_matrix if MATRICES in job.op.attributes else RULES[kind]
    extents = [n for x in _tensors(job) for n in x]
    if kind in WITH_EMPTY or all(isinstance(n, int) and n > 0 for n in extents):
        return _run(job, rule)
    unknown = {b.index(n).ssa: b.index(n) for n in extents if not isinstance(n, int) or n == 0}
    has_elements = reduce(operator.and_, (n > 0 for n in unknown.values()))
    return b.branch(has_elements, lambda: [_run(job, rule)], lambda: [b.constant(0, "int64")])[0]


def _tensors(job: Job) -> list[tuple[Extent, ...]]:
    operands = [job.operand(k).extents for k in range(len(job.op.arguments))]
    return operands + [job.result(k).extents for k in range(len(job.op.tensors))]


def _run(job: Job, rule: Rule) -> Scalar:
    failure = rule(job)
    if "nan_on_failure" in job.op.options.data and job.op.option("nan_on_failure"):
        has_failed = job.b.compare("ne", failure, job.b.constant(0, "int64"))
        job.b.branch(has_failed, lambda: _erase(job), lambda: ())
    return failure


def _erase(job: Job) -> Sequence[Scalar]:
    for k in range(len(job.op.tensors)):
        result = job.result(k)
        if dtypes.is_float(result.dtype):
            job.fill(result, math.nan)
    return ()


def needed_functions(module: ModuleOp, name: str) -> tuple[str, ...]:
    """The BLAS and LAPACK functions that the kernel of function `name` calls, by their Fortran names."""
    symbols = {op.callee.string_value() for op in code_of(module, name) if isinstance(op, func.CallOp)}
    return tuple(sorted(function_name(symbol) for symbol in symbols if symbol.startswith(PREFIX)))
