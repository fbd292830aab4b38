"""Optimisations of work on several cores, each with what it changes in a small program."""

from collections.abc import Sequence
from typing import Final

from optimisation_programs import (
    batch_of_states,
    chain,
    function,
    images,
    linear_model,
    of_matrices,
    of_vector,
    scattered,
    sparse_square,
    sparse_times_dense,
)
from switches import FACTS, Row, has, lacks, not_for, on_machine, without_pass

import aotensor as aot
import aotensor.tensor as at


def two_sums() -> aot.Function:
    """The same loop over two vectors of different extents."""
    x, y = at.vector("x", dtype="float64", shape=("n",)), at.vector("y", dtype="float64", shape=("m",))
    return function([x, y], at.sin(x).sum(), at.sin(y).sum())


def two_scaled_sums() -> aot.Function:
    """The same loop over two vectors, with another coefficient."""
    x, y = at.vector("x", dtype="float64", shape=("n",)), at.vector("y", dtype="float64", shape=("m",))
    return function([x, y], *((at.sin(z) * k).sum() for k, z in ((2.5, x), (3.5, y))))


def running_sums() -> aot.Function:
    """Long enough for functions; in each a sequential loop over segments is around chunks, and a short one in it."""
    x = y = at.vector("x", dtype="float64", shape=("n",))
    for _ in range(20):
        y = at.cumsum(y)
    return function([x], y)


def loops_of_steps(steps: int | None) -> aot.Function:
    """A loop whose last state is read; the number of its steps is known, or not."""
    x, n = at.vector("x", dtype="float64", shape=("n",)), at.iscalar("steps")
    last, _ = at.scan(lambda s: at.sin(s), outputs_info=[x], n_steps=n if steps is None else steps)
    return function([x, n] if steps is None else [x], last[-1])


CORE_ROWS: Final[Sequence[Row]] = (
    Row(
        "loops run on several cores",
        without_pass("parallelize"),
        linear_model,
        "nest",
        has(r" cores \{", 2),
        cores=True,
    ),
    Row(
        "what is filled stays on the core that goes on with it",
        on_machine(fill_work=FACTS.chunk_work),
        scattered,
        "nest",
        has(r"least = 393216,"),
        cores=True,
    ),
    Row(
        "rows of much work are chunks of their own",
        on_machine(step_work=1 << 60),
        images,
        "nest",
        lacks(r"group = 8\)"),
        cores=True,
    ),
    Row(
        "all steps of a loop are taken for some rows, then for others",
        without_pass("tile-scan-batch"),
        batch_of_states,
        "loops",
        has(r"scf\.parallel", 3),
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
        "running sums of a long line go by chunks, whose sums are known first",
        without_pass("parallelize"),
        of_vector(at.cumsum),
        "loops",
        has(r"scf\.parallel", 2),
        cores=True,
    ),
    Row(
        "LAPACK is called by several cores for a batch of matrices that are too small for threads of its own",
        without_pass("parallelize"),
        of_matrices(at.linalg.cholesky),
        "loops",
        has(r"scf\.parallel"),
        cores=True,
    ),
    Row(
        "a second part of a sum pays where a third does not",
        on_machine(pair_work=FACTS.sum_work, far_pair_work=FACTS.sum_work),
        scattered,
        "nest",
        has(r"\b160\b"),
        cores=True,
    ),
    Row(
        "parts of sums at positions are added by several cores",
        not_for(linear_model),
        scattered,
        "nest",
        has(r" cores \{", 3),
        cores=True,
    ),
    Row(
        "chunks of sparse rows are equal by entries",
        without_pass("parallelize"),
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
        "equal chunks of different buffers are one function",
        without_pass("merge-functions"),
        two_sums,
        "loops",
        has(r"func\.call @f\.chunk0", 2),
        cores=True,
    ),
    Row(
        "chunks that differ in coefficients are one function",
        without_pass("merge-functions"),
        two_scaled_sums,
        "loops",
        has(r"func\.call @f\.chunk0\(%\S+, .*\) : \(f64, ", 2),
        cores=True,
    ),
    Row(
        "the code that runs equal chunks is emitted once",
        without_pass("merge-functions"),
        two_sums,
        "llvm",
        has(r'call void @"f\.chunk0\.loop"', 2),
        cores=True,
    ),
    Row(
        "loops around chunks are functions in long kernels",
        without_pass("outline"),
        running_sums,
        "loops",
        has(r"func\.call @f\.loops0\(.*%context\)", 20),
        cores=True,
    ),
    Row(
        "several equal short loops of a long kernel are one function",
        on_machine(fewest_alike=1000),
        running_sums,
        "loops",
        has(r"func\.call @f\.loops0\("),
        cores=True,
    ),
    Row(
        "the last state after a known number of steps is read without a choice",
        not_for(lambda: loops_of_steps(None)),
        lambda: loops_of_steps(10),
        "loops",
        lacks(r"arith\.select .* : memref"),
        part="kernel",
    ),
)
