"""What passes ask of the machine that code is made for: one record, so that no size of a machine stands in a pass."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """Facts of a machine that decide between loops that compute the same. The defaults are those of current x86-64.

    has_masks: one instruction reads the lanes of a vector that a mask chooses, also from scattered addresses.
    has_slow_gathers: such a read takes as long as one for each lane.
    has_tables: one instruction reads a table of 16 numbers in registers, one for each lane, and one takes x·2**⌊n⌋.
    register_bits: bits of the vectors that LLVM makes, which no pass decides by.
    vector_bytes: bytes of a vector that loops are written in where they are written in vectors.
    jam: iterations of a loop that advance together through the loops inside (unroll-and-jam).
    jam_products: the same where the loops inside hold terms of products only, so that reading is all that takes time.
    interleave: vectors of a loop with elementary functions that advance together, enough to hide their latency.
    interleave_plain: the same of a loop without elementary functions.
    interleave_crowded: the same of a loop with more than `few_functions` of them: the code of more vectors does not fit
    the first level cache, nor their numbers the registers, and LLVM takes time that grows with the square of it.
    block_elements: elements of a block of rows that stays in the first level cache.
    smallest_block, largest_block: rows of such a block.
    loops_together: loops of a kernel beyond which they are functions of their own.
    smallest_function: operations of such a loop: a call costs some, too.
    inlined_operations: of bodies of elementary functions in one block outside of loops, beyond which these are called.
    inlined_in_module: the same of all innermost loops of a module, which as vectors run up to twice as long so.
    prefetch_distance: stored entries between the one that is worked on and the one that is fetched; 0 fetches none.
    entries_ahead: entries of a compressed matrix between those that are worked on and those that are fetched.
    sweeps_together: sweeps over neighbouring rows that follow each other.
    window_rows: rows that such a sweep goes over before the next one follows, at least.
    tile_per_halo: rows of a tile of sweeps for each row that it computes in common with its neighbours.
    least_per_halo: the same where there would be fewer than `fewest_tiles`.
    chunk_work: what another core must have to do so that waking it pays; `passes/nest/work.py` has the unit.
    fill_work: the same of a loop that fills memory, whose lines another core has to fetch from where they were filled.
    step_work: work of a step of a loop for some rows, beside which it costs little to begin it.
    sum_work: work of a loop, for each element of a sum over it that another chunk has to itself.
    pair_work: the same of a second chunk, which is worth more; far_pair_work: of sums of rows of more than near_bytes.
    near_bytes: what the second level cache holds.
    most_chunks: of a loop.
    fewest_iterations: of a loop that is cut into chunks.
    product_depth: bytes of a row of what a matrix product packs: two panels fit the first level cache.
    product_rows: rows of such a block that fit the second level cache.
    product_side: bytes of a column of the blocks, which fit the last level cache.
    direct_work: multiply-adds of a matrix product up to which it does not pay to pack its operands.
    direct_row: bytes of a row of B, and of A if that is transposed, up to which a product need not pack them.
    direct_bytes: bytes that the second level cache holds while they are read again and again, as B of a product.
    blas_work: multiply-adds of a matrix product from which the BLAS of the caller is asked for it.
    packs_products: may matrix products ask for memory, to pack their operands?
    largest_generated: rows or columns of a matrix that is factorised and solved without LAPACK.
    chunk_group, row_group: chunks have a multiple of so many elements, or rows.
    line_elements: elements of a line that are read twice, from the last level cache the second time.
    row_terms: terms of sums over the entries of a vector of rows that are kept in memory before they are added.
    """

    has_masks: bool = True
    has_slow_gathers: bool = True
    has_tables: bool = False
    register_bits: int = 512
    vector_bytes: int = 64
    jam: int = 4
    jam_products: int = 8
    interleave: int = 4
    interleave_plain: int = 2
    interleave_crowded: int = 2
    few_functions: int = 20
    block_elements: int = 1 << 12
    smallest_block: int = 16
    largest_block: int = 1024
    loops_together: int = 16
    smallest_function: int = 24
    inlined_operations: int = 2000
    inlined_in_module: int = 10_000
    prefetch_distance: int = 32
    entries_ahead: int = 128
    sweeps_together: int = 10
    window_rows: int = 2
    tile_per_halo: int = 7
    least_per_halo: int = 3
    fewest_tiles: int = 8
    chunk_work: int = 1 << 17
    fill_work: int = 3 << 17
    step_work: int = 1 << 14
    sum_work: int = 4096
    pair_work: int = 160
    far_pair_work: int = 448
    near_bytes: int = 1 << 20
    most_chunks: int = 64
    fewest_iterations: int = 16
    product_depth: int = 2048
    product_rows: int = 240
    product_side: int = 12288
    direct_work: int = 1 << 21
    direct_row: int = 2048
    direct_bytes: int = 1 << 20
    blas_work: int = 1 << 33
    packs_products: bool = True
    largest_generated: int = 12
    chunk_group: int = 64
    row_group: int = 8
    line_elements: int = 1 << 19
    row_terms: int = 128

    def lanes(self, bits: int) -> int:
        """Elements of a vector."""
        return self.vector_bytes * 8 // bits
