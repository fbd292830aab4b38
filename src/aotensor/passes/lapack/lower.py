"""Loops of aot.lapack: one call, or a few, for every matrix of the batch.

    %l, %f = aot.lapack "cholesky" %a …   →   scf.for %k = 0 to %batch iter_args(%f) {
                                                copy the lower triangle of %a[%k] to %l[%k]
                                                %info = func.call @aot_lapack_potrf.f64('U', %n, %l[%k], %n, %context) }

A rule is a function of a `Job` that builds the work on one matrix and gives its failure (int64, 0 for none).
"""

from __future__ import annotations

import math
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
from aotensor.ir.nest.ops import MATRICES
from aotensor.ir.scalar_builder import Scalar
from aotensor.passes.emit.buffers import Buffers
from aotensor.passes.lapack.adjoint import cholesky_pullback
from aotensor.passes.lapack.factor import cholesky, lu, lu_adjugate, lu_inverse, lu_permutation, lu_solve
from aotensor.passes.lapack.job import Job
from aotensor.passes.lapack.orthogonal import complete_qr, qr, qr_r
from aotensor.passes.lapack.powers import square_repeatedly
from aotensor.passes.lapack.routines import PREFIX, function_name
from aotensor.passes.lapack.small.lower import small_matrices, small_matrix
from aotensor.passes.lapack.spectral import eigh, eigvalsh, full_svd, singular_values, svd
from aotensor.passes.lapack.triangle import multiply_triangular, solve_triangular
from aotensor.passes.outline import code_of
from aotensor.passes.remarks import analysis
from aotensor.passes.target import Target

Rule: TypeAlias = "Callable[[Job], Scalar]"

RULES: Final[Mapping[str, Rule]] = {
    "cholesky": cholesky,
    "cholesky_pullback": cholesky_pullback,
    "complete_qr": complete_qr,
    "eigh": eigh,
    "eigvalsh": eigvalsh,
    "full_svd": full_svd,
    "lu": lu,
    "lu_adjugate": lu_adjugate,
    "lu_inverse": lu_inverse,
    "lu_permutation": lu_permutation,
    "lu_solve": lu_solve,
    "multiply_triangular": multiply_triangular,
    "qr": qr,
    "qr_r": qr_r,
    "singular_values": singular_values,
    "solve_triangular": solve_triangular,
    "square_repeatedly": square_repeatedly,
    "svd": svd,
}

WITH_EMPTY: Final = frozenset({"complete_qr", "full_svd"})
"""Kinds whose rule also runs where an operand or a result has no elements; LAPACK must not be called with those."""


def lower_lapack(
    b: LoopBuilder, buffers: Buffers, op: LapackOp, module: ModuleOp, context: SSAValue, target: Target
) -> Scalar:
    """Fill the results of the operation; gives the failure of the first matrix that has one (int64)."""
    at_once = op.attributes.get(MATRICES)
    job = Job(b, buffers, module, op, context, calls=at_once is None)
    count: Extent = 1
    for n in job.batch:
        count = b.imul(count, n)
    if isinstance(at_once, IntegerAttr) and at_once.value.data > 1:
        return small_matrices(job, count, target, at_once.value.data, lambda: _erase(job))
    if at_once is None:
        analysis("{} is computed by LAPACK, kind " + op.kind.data, op)
    none = b.constant(0, "int64")

    def step(entry: Scalar, carried: list[Scalar]) -> Sequence[Scalar]:
        job.entry = entry
        (found,) = carried
        return [b.select(b.compare("eq", found, none), _one(job), found)]

    failure = _one(job) if count == 1 else b.loop(0, count, [none], step, is_vectorisable=False)[0]
    job.finish()
    return failure


def _one(job: Job) -> Scalar:
    """The work on one matrix."""
    b, kind = job.b, job.op.kind.data
    rule = small_matrix if MATRICES in job.op.attributes else RULES[kind]
    extents = [n for x in _tensors(job) for n in x]
    if kind in WITH_EMPTY or all(isinstance(n, int) and n > 0 for n in extents):
        return _run(job, rule)
    unknown = {b.index(n).ssa: b.index(n) for n in extents if not isinstance(n, int) or n == 0}
    has_elements = reduce(b.and_, (b.compare("gt", n, b.index(0)) for n in unknown.values()))
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
    """The functions of BLAS and LAPACK that the kernel of function `name` calls, by their names there."""
    symbols = {op.callee.string_value() for op in code_of(module, name) if isinstance(op, func.CallOp)}
    return tuple(sorted(function_name(symbol) for symbol in symbols if symbol.startswith(PREFIX)))
