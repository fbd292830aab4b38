"""Optimisations of what kernels of their own compute, products and factorisations, and of checks."""

from collections.abc import Sequence
from typing import Final

from optimisation_programs import checked, factor, product, small_factors, small_product
from switches import Row, has, lacks, never, nothing, replaced, without_pass

KERNEL_ROWS: Final[Sequence[Row]] = (
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
        replaced("aotensor.passes.nest.lower_to_nest:is_library_product", never),
        product,
        "loops",
        has("aot_gemm"),
    ),
    Row(
        "small products are loops",
        replaced("aotensor.passes.products.contraction:LIBRARY_THRESHOLD", 0),
        small_product,
        "loops",
        lacks("aot_gemm"),
    ),
)
