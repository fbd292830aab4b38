"""Optimisations of what kernels of their own compute, products and factorisations, and of checks."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from optimisation_programs import (
    checked,
    checked_apart,
    factor,
    function,
    matrix,
    product,
    small_factors,
    small_product,
)
from switches import Row, has, lacks, not_for, on_machine, without_pass

import aotensor as aot
import aotensor.tensor as at


def transposed_weights() -> aot.Function:
    """Weights that each step of a loop reads transposed."""
    x, w = matrix("x", "n", 4), at.constant(np.arange(16.0).reshape(4, 4))
    return function([x], aot.scan(lambda old: at.tanh(old @ w.T), None, x, n_steps=3, return_updates=False)[-1])


KERNEL_ROWS: Final[Sequence[Row]] = (
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
