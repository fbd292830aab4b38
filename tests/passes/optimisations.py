"""The table of optimisations: each with what it changes in a small program. A new pass adds its row here.

`test_optimisations.py` checks that no pass and no rule is without a row.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from optimisation_programs import (
    by_group,
    chain,
    choice_of_rows,
    function,
    joined,
    linear_model,
    logistic,
    many_functions,
    many_loops,
    matrix,
    mixture,
    mixture_gradient,
    of_matrix,
    of_sparse,
    of_vector,
    sampled_model,
    scattered,
    small_product,
    sparse_model,
    sparse_square,
    sparse_sum,
    sparse_times_dense,
    stacked,
    stencil_gradient,
    ten_columns,
    two_products,
    two_sweeps,
    two_vectors,
)
from optimisations_of_cores import CORE_ROWS
from optimisations_of_graphs import GRAPH_ROWS
from optimisations_of_kernels import KERNEL_ROWS
from optimisations_of_loops import LOOP_ROWS
from switches import Row, has, lacks, not_for, on_machine, with_option, without_pass

import aotensor as aot
import aotensor.sparse as sp
import aotensor.tensor as at
from aotensor.graph.passes.steps import BY_NAME

LOWERINGS: Final[Mapping[str, str]] = {
    "expand": "nothing is compiled without; its rules have rows of their own",
    "lower-to-nest": "nothing is compiled without",
    "emit-loops": "nothing is compiled without",
    "add-gemm-kernels": "the bodies of functions that are called",
    "expand-math": "the bodies of functions that are called",
}
"""Passes without a row, and why."""


def weighted_columns() -> aot.Function:
    """Two sums over the rows of a matrix; the second one needs weights that are an output, too."""
    x, w = matrix("x"), at.vector("w", dtype="float64", shape=("m",))
    shares, weights = at.exp(x), at.exp(w)
    return function([x, w], shares, shares.sum(axis=0), (shares * weights[:, None]).sum(axis=0), weights)


NEST_ROWS: Final[Sequence[Row]] = (
    # --- loop nests -------------------------------------------------------------------------------------------------
    Row(
        "loops are fused",
        without_pass("fuse"),
        linear_model,
        "loops",
        has(r"scf\.for", 7),
    ),
    Row(
        "statements wait for their readers",
        with_option("fuse{reorder=0}"),
        two_products,
        "nest",
        has(r"nest\.for", 7),
    ),
    Row(
        "statements wait beside those of their reader",
        with_option("fuse{reorder=0}"),
        choice_of_rows,
        "nest",
        has(r"nest\.for \S+ in %n ", 1),
    ),
    Row(
        "a vector between two sweeps over a matrix comes first",
        with_option("fuse{reorder=0}"),
        weighted_columns,
        "nest",
        has(r"nest\.for \S+ in %m ", 1),
    ),
    Row(
        "slices of a row are read in the loop over the rows that computes it",
        not_for(of_matrix(lambda x: aot.grad(at.sin(x[1:] * x[:-1]).sum(), x))),
        of_matrix(lambda x: aot.grad(at.sin(x[:, 1:] * x[:, :-1]).sum(), x)),
        "nest",
        lacks(r"%\d+ = nest\.value\[.*tensor<\?x\?xf64>"),
    ),
    Row(
        "loops of unknown extent stand outside",
        not_for(lambda: mixture("p", "k")),
        mixture,
        "nest",
        has(r"\n    nest\.for \S+ in %n "),
    ),
    Row(
        "extents that are found equal are one",
        not_for(lambda: two_vectors(is_compared=False)),
        two_vectors,
        "nest",
        has(r"nest\.for", 1),
    ),
    Row(
        "what is computed by several statements takes the place of an operand",
        without_pass("assign-memory"),
        of_matrix(lambda x: aot.grad((at.logsumexp(x, axis=0) ** 2).sum(), x)),
        "nest",
        has(r"nest\.value\[%m, %n\] over"),
    ),
    Row(
        "loops of several ops are shared",
        without_pass("value-numbering"),
        of_matrix(lambda x: aot.grad((at.logsumexp(x, axis=1) ** 2).sum(), x)),
        "loops",
        has(r"math\.exp", 1),
    ),
    Row(
        "softplus and sigmoid share an exponential",
        not_for(of_vector(lambda x: at.softplus(x) + at.sigmoid(2.0 * x))),
        of_vector(lambda x: at.softplus(x) + at.sigmoid(x)),
        "llvm",
        has(r"call double @\"aot\.sigmoid_shared"),
    ),
    Row(
        "sums of windows of zeros are one sweep",
        without_pass("inline-slices"),
        stencil_gradient,
        "loops",
        has(r"memref\.store", 3),
    ),
    Row(
        "gradients by columns are stored where they are computed",
        without_pass("eliminate-fills"),
        lambda: function([x := at.matrix("x", shape=("n", 2))], aot.grad((x[:, 0] * at.sin(x[:, 1])).sum(), x)),
        "loops",
        lacks(r"memref\.alloc|memref\.view"),
    ),
    Row(
        "what needs vectors is apart from sums by group",
        not_for(by_group(lambda y, e: y - e)),
        by_group(lambda y, e: at.exp(y - e)),
        "nest",
        has(r"nest\.for \S+ in %n ", 3),
    ),
    Row(
        "loops are split where conditions change",
        without_pass("index-set-splitting"),
        of_vector(lambda x: x + at.set_subtensor(at.zeros_like(x)[1:], x[:-1])),
        "nest",
        has(r"tensor\.extract %x"),
    ),
    Row(
        "sweeps follow each other row by row",
        without_pass("overlapped-tiling"),
        two_sweeps,
        "nest",
        has("folded", 1),
    ),
    Row(
        "loops run along memory",
        without_pass("interchange"),
        small_product,
        "loops",
        lacks("iter_args"),
    ),
    Row(
        "rows are read again by each reader",
        without_pass("rematerialize"),
        sampled_model,
        "nest",
        has(r"tensor\.extract %E\[", 2),
    ),
    Row(
        "stacked columns share the loop that computes them, and are written where they belong",
        without_pass("eliminate-copies"),
        stacked,
        "loops",
        lacks(r"memref\.alloc|memref\.view"),
    ),
    Row(
        "entries share the loops of products",
        without_pass("split-by-row"),
        sparse_model,
        "loops",
        lacks(r"memref\.view"),
    ),
    Row(
        "blocks of rows",
        without_pass("strip-mine"),
        logistic,
        "loops",
        has(r"arith\.minsi"),
    ),
    Row(
        "unroll and jam",
        without_pass("unroll-and-jam"),
        linear_model,
        "loops",
        has(r"iter_args\(%\w+ = %\w+, %\w+ = %\w+, %\w+ = %\w+, %\w+ = "),
    ),
    Row(
        "rows with nests of known extents advance together",
        on_machine(direct_bytes=0),
        mixture_gradient,
        "nest",
        has(r" in %n jam 4 \{"),
    ),
    Row(
        "factors of short sums are read transposed",
        without_pass("transpose-small-operands"),
        mixture_gradient,
        "nest",
        has(r"nest\.do %\w+\[(\S+), (\S+), (\S+)\] = %Q\[\1, \3, \2\]"),
    ),
    Row(
        "perfect nests are one loop",
        without_pass("coalesce"),
        of_matrix(lambda x: at.exp(x) * 2.0),
        "loops",
        has(r"scf\.for", 1),
    ),
    Row(
        "column tiles",
        without_pass("tile-columns"),
        sparse_times_dense,
        "loops",
        has(r"vector\.store"),
    ),
    Row(
        "columns that are left are a vector under a mask",
        on_machine(has_masks=False),
        sparse_times_dense,
        "nest",
        has(r"lanes 8 parallel masked", 4),
    ),
    Row(
        "one column that is left is a sum over the entries of a row",
        not_for(lambda: sparse_times_dense(16)),
        sparse_times_dense,
        "nest",
        has(r"nest\.entries", 4),
    ),
    Row(
        "rows that are scattered are fetched early",
        with_option("tile-columns{prefetch-distance=0}"),
        scattered,
        "loops",
        has(r"memref\.prefetch"),
    ),
    Row(
        "what is read along short rows is fetched ahead where these add at positions",
        without_pass("prefetch"),
        of_sparse(lambda A, D, v, E, s, B: A.T @ D[:, 0]),
        "loops",
        has(r"memref\.prefetch %A_data\[[\s\S]*memref\.prefetch %A_indices\["),
    ),
    Row(
        "short rows under a mask",
        without_pass("vectorize-rows"),
        of_sparse(lambda A, D, v, E, s, B: A @ v),
        "nest",
        has(" rows 8 {"),
    ),
    Row(
        "short rows go entry by entry, or by terms that are made before",
        on_machine(has_slow_gathers=False),
        of_sparse(lambda A, D, v, E, s, B: A @ v),
        "nest",
        has(" terms 128 "),
    ),
    Row(
        "long bodies go by vectors",
        without_pass("vectorize"),
        of_vector(many_functions),
        "nest",
        has("lanes 32 parallel masked"),
    ),
    Row(
        "few iterations are vectors",
        without_pass("vectorize-known-trip-count"),
        ten_columns,
        "nest",
        has(r"lanes [82] parallel", 2),
    ),
    Row(
        "iterations that do not touch each other",
        without_pass("mark-independent"),
        chain,
        "loops",
        has("parallel_accesses"),
    ),
    Row(
        "entries of a sparse product are counted once",
        without_pass("reuse-shape-results"),
        sparse_square,
        "loops",
        has(r"memref\.view %kept0", 1),
    ),
    Row(
        "entries of a sparse sum are found once, where they are counted",
        without_pass("reuse-shape-results"),
        sparse_sum,
        "loops",
        has(r"memref\.view %kept", 4),
    ),
    Row(
        "entries of a sparse sum are read, not added to zeros",
        not_for(of_sparse(lambda A, D, v, E, s, B: sp.sp_sum(A, axis=0))),
        sparse_sum,
        "tensor",
        lacks("aot.sum_at"),
    ),
    Row(
        "loops of long kernels are functions",
        without_pass("outline"),
        many_loops,
        "loops",
        has(r"func\.call @f\.loops"),
    ),
    Row(
        "values live in registers",
        without_pass("scalar-replacement"),
        of_matrix(lambda x: x - x.sum(axis=1, keepdims=True)),
        "loops",
        lacks(r"memref\.view"),
    ),
    Row(
        "results take the place of operands",
        without_pass("assign-memory"),
        of_vector(lambda x: at.exp(x) / at.exp(x).sum()),
        "loops",
        lacks(r"memref\.view"),
    ),
    Row(
        "parts of outputs are computed in place",
        without_pass("assign-memory"),
        joined,
        "loops",
        has(r"memref\.view", 2),
    ),
)

ROWS: Final = (*GRAPH_ROWS, *NEST_ROWS, *CORE_ROWS, *KERNEL_ROWS, *LOOP_ROWS)
BY_PASS: Final[Mapping[str, Row]] = {row.switch.about: row for row in reversed(ROWS) if row.switch.about in BY_NAME}
"""For each pass the first row that leaves it out."""
