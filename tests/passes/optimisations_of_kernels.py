"""Optimisations of what kernels of their own compute, products and factorisations, and of checks."""

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np
from optimisation_programs import (
    checked,
    checked_apart,
    factor,
    function,
    matrix,
    of_matrix,
    product,
    small_factors,
    small_product,
    vectors,
)
from switches import Row, has, lacks, not_for, on_machine, without_pass

import aotensor as aot
import aotensor.tensor as at
from aotensor.ops.reduce.cumulate import CumSum


def transposed_weights() -> aot.Function:
    """Weights that each step of a loop reads transposed."""
    x, w = matrix("x", "n", 4), at.constant(np.arange(16.0).reshape(4, 4))
    return function([x], aot.scan(lambda old: at.tanh(old @ w.T), None, x, n_steps=3, return_updates=False)[-1])


def dense_layer() -> aot.Function:
    """A product with elementwise work on its result."""
    A, B, c = matrix("A", "m", "k"), matrix("B", "k", "n"), at.vector("c", dtype="float64", shape=("n",))
    return function([A, B, c], at.tanh(A @ B + c))


def convolution(is_activated: bool) -> aot.Function:
    """A convolution that calls the product at positions, whose result has another axis of extent 1."""
    x, w = at.tensor("x", "float32", ("n", 8, 12, 12)), at.tensor("w", "float32", (16, 8, 3, 3))
    y = at.conv2d(x, w)
    return function([x, w], at.relu(y) if is_activated else y)


def convolution_gradient() -> aot.Function:
    """The gradient by images and filters, with a mask that two statements read."""
    x, w = at.tensor("x", "float32", (8, 8, 12, 12)), at.tensor("w", "float32", (16, 8, 3, 3))
    b = at.vector("b", dtype="float32", shape=(16,))
    loss = (at.relu(at.conv2d(x, w) + b[:, None, None]) ** 2).sum()
    return function([x, w, b], *aot.grad(loss, [x, w, b]))


def transposed_exponentials(columns: str | int) -> aot.Function:
    x = matrix("x", "n", columns)
    return function([x], at.exp(x.T))


def returned_mask() -> aot.Function:
    (x,) = vectors("x")
    return function([x], x > 0)


KERNEL_ROWS: Final[Sequence[Row]] = (
    Row(
        "products and work on their results take place in outputs",
        without_pass("assign-memory"),
        dense_layer,
        "loops",
        lacks(r"memref\.view"),
    ),
    Row(
        "results with other axes of extent 1 are overwritten, too",
        not_for(partial(convolution, is_activated=False)),
        partial(convolution, is_activated=True),
        "nest",
        has(r"nest\.value\[%n\] over"),
    ),
    Row(
        "results of operations are not copied",
        without_pass("eliminate-copies"),
        partial(convolution, is_activated=False),
        "nest",
        lacks(r" over %"),
    ),
    Row(
        "statements join loops that they share operands with first",
        not_for(returned_mask),
        convolution_gradient,
        "nest",
        lacks(r"nest\.value.*xi1>"),
    ),
    Row(
        "running sums of columns are computed row by row",
        not_for(of_matrix(lambda x: at.cumsum(x, axis=1))),
        of_matrix(lambda x: at.cumsum(x, axis=0)),
        "loops",
        has("parallel_accesses"),
    ),
    Row(
        "running sums from the end need no mirrored copies",
        not_for(of_matrix(lambda x: at.cumsum(x[::-1], axis=0)[::-1])),
        of_matrix(CumSum(0, "float64", reverse=True)),
        "nest",
        lacks(r"nest\.for"),
    ),
    Row(
        "axes of extent 1 have no loop",
        not_for(lambda: transposed_exponentials("m")),
        lambda: transposed_exponentials(1),
        "nest",
        has(r"nest\.for", 1),
    ),
    Row(
        "factorisations in place",
        without_pass("assign-memory"),
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
        on_machine(vector_bytes=8),
        small_factors,
        "loops",
        has(r"math\.sqrt %\w+.*vector<8xf64>"),
    ),
    Row(
        "constants are stored as kernels and loops over time read them",
        without_pass("fold-constant-copies"),
        transposed_weights,
        "nest",
        has(r"dense<\[\[0\.0\S*, 4\.0"),
    ),
    Row(
        "checks fail together",
        not_for(checked_apart),
        checked,
        "loops",
        has(r"scf\.if", 1),
        "extents",
    ),
    Row(
        "big products go to kernels",
        not_for(small_product),
        product,
        "loops",
        has("aot_gemm"),
    ),
    Row(
        "small products are loops",
        not_for(lambda: small_product(16)),
        small_product,
        "loops",
        lacks("aot_gemm"),
    ),
)
