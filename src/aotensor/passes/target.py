"""The record of properties of the target machine that passes use, so that no pass contains a machine constant."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """Properties of a machine by which passes select one of several equivalent loops. Defaults: current x86-64.

    has_masks: one instruction loads the vector lanes that a mask selects, also from scattered addresses.
    has_slow_gathers: a gather takes as long as one load for each lane.
    has_tables: one instruction looks up a table of 16 numbers in registers per lane, and one computes x·2**⌊n⌋.
    register_bits: bits of the vectors that LLVM uses; from 256 on, it has masked loads of adjacent elements.
    vector_bytes: bytes of the vectors in loops that passes vectorize.
    jam: iterations of a loop that advance together through the inner loops (unroll-and-jam).
    jam_products: value of `jam` if the inner loops only add products, so that they are bound by loads.
    interleave: vectors of a loop with elementary functions that are interleaved to hide latency.
    interleave_plain: value of `interleave` for a loop without elementary functions.
    interleave_crowded: value of `interleave` for a loop with more than `few_functions` elementary functions: the code
    of more vectors exceeds the first level cache, their values exceed the registers, and LLVM's time grows with the
    square.
    block_elements: elements of a block of rows that stays in the first level cache.
    smallest_block, largest_block: bounds on the rows of a block.
    loops_together: number of loops of a kernel above which they are outlined.
    smallest_function: smallest number of operations of an outlined loop: a call has a cost, too.
    fewest_alike: smallest number of equal loops that are outlined although they are smaller.
    inlined_operations: operations of inlined elementary functions in one block outside loops above which these are
    called.
    inlined_in_module: limit of `inlined_operations` for all innermost loops of a module, which calls slow down up to
    twice.
    prefetch_distance: stored entries between the current one and the prefetched one; 0 for no prefetch.
    entries_ahead: entries of a compressed matrix between the current ones and the prefetched ones.
    sweeps_together: sweeps over neighbouring rows that are tiled together.
    window_rows: smallest number of rows that such a sweep computes before the next one follows.
    tile_per_halo: rows of a tile of sweeps for each row that it and a neighbour both compute.
    least_per_halo: value of `tile_per_halo` if there would be fewer than `fewest_tiles` tiles.
    chunk_work: smallest work that amortises waking another core, in the unit of `passes/nest/work.py`.
    fill_work: value of `chunk_work` for a loop that fills memory, whose cache lines another core then has to load.
    step_work: work of a scan's step for some rows, compared to which the cost of starting the step is small.
    sum_work: work of a loop per element of a sum over it, for each chunk with private partial sums.
    pair_work: value of `sum_work` for a second chunk, which saves more.
    far_pair_work: value of `pair_work` for sums of more than near_bytes.
    near_bytes: size of the second level cache.
    most_chunks: largest number of chunks of a loop.
    fewest_iterations: smallest trip count of a loop that is split into chunks.
    product_depth: bytes of a row of a packed panel of a matrix product: two panels fit the first level cache.
    product_rows: rows of a packed block that fits the second level cache.
    product_side: bytes of a column of a packed block, so that blocks fit the last level cache.
    direct_work: largest number of multiply-adds of a matrix product for which packing its operands does not pay.
    direct_row: largest size in bytes of a row of B (and of A if it is transposed) for which a product does not pack.
    direct_bytes: bytes that the second level cache holds while they are read repeatedly, such as B of a product.
    blas_work: smallest number of multiply-adds of a matrix product for which the caller's BLAS is used.
    packs_products: may matrix products allocate memory to pack their operands?
    reads_windows: do products at positions read the windows of images where they are, instead of packed copies?
    largest_generated: largest number of rows or columns of a matrix that is factorised and solved without LAPACK.
    chunk_group, row_group: chunk sizes are multiples of this many elements, or rows.
    line_elements: elements of a line that are read twice, the second time from the last level cache.
    row_terms: largest number of terms of sums over the entries of a vector of rows that are buffered before they are
    added.
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
    fewest_alike: int = 4
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
    reads_windows: bool = True
    largest_generated: int = 12
    chunk_group: int = 64
    row_group: int = 8
    line_elements: int = 1 << 19
    row_terms: int = 128

    @property
    def has_masked_loads(self) -> bool:
        """Does one instruction load the adjacent elements that a mask selects? SSE and NEON have none."""
        return self.has_masks or self.register_bits >= 256

    def lanes(self, bits: int) -> int:
        """The number of elements of `bits` bits in a vector register."""
        return self.vector_bytes * 8 // bits
