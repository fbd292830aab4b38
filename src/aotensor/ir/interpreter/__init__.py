"""Interpreter of tensor IR on NumPy arrays."""
