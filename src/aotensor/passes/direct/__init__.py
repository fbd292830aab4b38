"""Loops of `aot.direct`: kernels written in Python become functions, and the operation a few calls of them."""
