"""Random sparse matrices."""
