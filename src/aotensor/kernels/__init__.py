"""Loops with state in a subset of Python that also compiles: the kernel language, and kernels of the compiler."""
