"""Kernels of NPBench, written anew, beside their NumPy and JAX versions."""
