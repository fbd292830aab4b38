"""Matrix products in loop IR: register tiles, cache blocks, and the dispatch between them and BLAS."""
