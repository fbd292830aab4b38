"""Kernels of NPBench, written with aotensor and compared with their NumPy and JAX versions."""
