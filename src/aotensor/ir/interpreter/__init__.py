"""Tensor IR, run on NumPy arrays."""
