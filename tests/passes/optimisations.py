"""The table of optimisations: each with what it changes in a small program. A new pass adds its row here.

`test_optimisations.py` checks that no pass and no rule is without a row.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from optimisation_programs import (
    chain,
    checked,
    choice_of_rows,
    factor,
    joined,
    linear_model,
    logistic,
    many_functions,
    many_loops,
    mixture,
    of_matrix,
    of_sparse,
    of_vector,
    product,
    sampled_model,
    scattered,
    small_factors,
    small_product,
    sparse_model,
    sparse_square,
    sparse_times_dense,
    stencil_gradient,
    ten_columns,
    two_products,
)
from optimisations_of_graphs import GRAPH_ROWS
from optimisations_of_loops import LOOP_ROWS
from switches import Row, has, lacks, never, nothing, one, replaced, without_pass

import aotensor as aot
import aotensor.tensor as at

NEST: Final = "aotensor.passes.nest"
LOWERINGS: Final[Mapping[str, str]] = {
    "expand": "nothing is compiled without; its rules have rows of their own",
    "lower-to-nest": "nothing is compiled without",
    "emit-loops": "nothing is compiled without",
    "add-gemm-kernels": "the bodies of functions that are called",
    "expand-math": "the bodies of functions that are called",
}
"""Passes without a row, and why."""

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
        replaced(f"{NEST}.fuse:_deferred", list),
        two_products,
        "nest",
        has(r"nest\.for", 7),
    ),
    Row(
        "statements wait beside those of their reader",
        replaced(f"{NEST}.fuse:_joined_last", lambda items, reader, maker: list(items)),
        choice_of_rows,
        "nest",
        has(r"nest\.for %\w+ in %1 ", 1),
    ),
    Row(
        "loops of unknown extent stand outside",
        replaced(f"{NEST}.fuse:_buries", never),
        mixture,
        "loops",
        has(r"scf\.for", 5),
    ),
    Row(
        "extents that are found equal are one",
        replaced("aotensor.ir.build:_FunctionImporter._unify", nothing),
        of_vector(lambda x: x[1:] - x[:-1]),
        "nest",
        has(r"nest\.for", 1),
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
        replaced("aotensor.passes.expand_math:_share_exponentials", nothing),
        of_vector(lambda x: at.softplus(x) + at.sigmoid(x)),
        "llvm",
        has(r"call double @\"aot\.sigmoid_shared"),
    ),
    Row(
        "sums of windows of zeros are one sweep",
        without_pass("read-windows"),
        stencil_gradient,
        "loops",
        has(r"memref\.store", 3),
    ),
    Row(
        "what a window holds is computed there",
        without_pass("inline-reads"),
        stencil_gradient,
        "loops",
        lacks(r"memref\.view"),
    ),
    Row(
        "loops are split where conditions change",
        without_pass("split-loops"),
        of_vector(lambda x: x + at.set_subtensor(at.zeros_like(x)[1:], x[:-1])),
        "nest",
        has(r"tensor\.extract %x"),
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
        "loops",
        has(r"load %E\[", 2),
    ),
    Row(
        "entries share the loops of products",
        without_pass("divide-slices"),
        sparse_model,
        "loops",
        lacks(r"memref\.view"),
    ),
    Row(
        "blocks of rows",
        without_pass("block-rows"),
        logistic,
        "loops",
        has(r"arith\.minsi"),
    ),
    Row(
        "unroll and jam",
        without_pass("jam"),
        linear_model,
        "loops",
        has(r"iter_args\(%\w+ = %\w+, %\w+ = %\w+, %\w+ = %\w+, %\w+ = "),
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
        "rows that are scattered are fetched early",
        replaced(f"{NEST}.tile_columns:_Tiling._prefetch", nothing),
        scattered,
        "loops",
        has(r"memref\.prefetch"),
    ),
    Row(
        "short rows under a mask",
        without_pass("row-vectors"),
        of_sparse(lambda A, D, v, E, s, B: A @ v),
        "nest",
        has(" rows 8 {"),
    ),
    Row(
        "short rows go entry by entry, or by terms that are made before",
        replaced(f"{NEST}.row_vectors:_most_terms", one),
        of_sparse(lambda A, D, v, E, s, B: A @ v),
        "nest",
        has(" terms 1024 "),
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
        without_pass("short-vectors"),
        ten_columns,
        "nest",
        has(r"lanes [82] parallel", 2),
    ),
    Row(
        "iterations that do not touch each other",
        without_pass("mark-parallel"),
        chain,
        "loops",
        has("parallel_accesses"),
    ),
    Row(
        "loops run on several cores",
        without_pass("parallelize"),
        linear_model,
        "nest",
        has(r" cores \{", 2),
        cores=True,
    ),
    Row(
        "a long line is sorted in chunks, which several cores merge",
        without_pass("parallelize"),
        of_vector(at.sort),
        "loops",
        has(r"scf\.parallel", 3),
        cores=True,
    ),
    Row(
        "chunks of sparse rows are equal by entries",
        replaced(f"{NEST}.cores.chunks:_indptr_of", nothing),
        sparse_times_dense,
        "nest",
        has(r"nest\.balance", 2),
        cores=True,
    ),
    Row(
        "rows of a sparse product are counted on several cores",
        without_pass("parallelize"),
        sparse_square,
        "loops",
        has(r"scf\.parallel"),
        part="extents",
        cores=True,
    ),
    Row(
        "chunks are functions that threads call",
        without_pass("outline-chunks"),
        chain,
        "llvm",
        has('call void @"entry.parallel"'),
        cores=True,
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
        without_pass("place-values"),
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
        replaced(f"{NEST}.assign_memory:_Assignment._is_free", never),
        joined,
        "loops",
        has(r"memref\.view", 2),
    ),
    Row(
        "factorisations in place",
        replaced("aotensor.ir.dialect:LapackOp.overwritten", nothing),
        factor,
        "loops",
        lacks(r"memref\.view"),
    ),
    Row(
        "small matrices are worked on without calls",
        without_pass("small-matrices"),
        small_factors,
        "loops",
        lacks("aot_lapack"),
    ),
    Row(
        "a small matrix in each lane of vectors",
        replaced("aotensor.passes.lapack.small_matrices:_bits", lambda op: 512),
        small_factors,
        "loops",
        has(r"math\.sqrt %\w+.*vector<8xf64>"),
    ),
    Row(
        "checks fail together",
        replaced("aotensor.passes.emit.function:group_length", lambda ops, is_apart: 1),
        checked,
        "loops",
        has(r"scf\.if", 1),
        "extents",
    ),
    Row(
        "big products go to kernels",
        replaced(f"{NEST}.lower_to_nest:is_library_product", never),
        product,
        "loops",
        has("aot_gemm"),
    ),
    Row(
        "small products are loops",
        replaced(f"{NEST}.contraction:LIBRARY_THRESHOLD", 0),
        small_product,
        "loops",
        lacks("aot_gemm"),
    ),
)

ROWS: Final = (*GRAPH_ROWS, *NEST_ROWS, *LOOP_ROWS)
