"""Lowering of operations that compute patterns of compressed matrices, and products of two of them."""
