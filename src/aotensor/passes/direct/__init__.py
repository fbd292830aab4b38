"""Lowering of `aot.direct`: kernels written in Python become functions, and the operation becomes calls of these."""
