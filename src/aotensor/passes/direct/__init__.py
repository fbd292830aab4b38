"""Lowering of `aot.direct`: kernels written in Python become functions, the operation becomes calls of them."""
