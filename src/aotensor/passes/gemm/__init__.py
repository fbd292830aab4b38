"""Matrix products in loop IR: register tiles, cache blocks, and the choice between them and BLAS."""
