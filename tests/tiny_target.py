"""A machine on which small extents cross everything that passes choose by the size of a machine."""

from __future__ import annotations

from typing import Final

from aotensor.passes.target import Target

TINY: Final = Target(
    vector_bytes=16, jam=2, interleave=2, interleave_plain=1, interleave_crowded=1, block_elements=8, smallest_block=2,
    largest_block=4, prefetch_distance=1,
    loops_together=0, smallest_function=1, chunk_work=1, sum_work=0, most_chunks=4, fewest_iterations=2, chunk_group=2,
    row_group=1, row_terms=6, sweeps_together=3, window_rows=1, tile_per_halo=1, least_per_halo=1,
)  # fmt: skip
"""Extents of 3 to 8 are below, at and above its vectors, jams, tiles and blocks; every loop is a function."""
