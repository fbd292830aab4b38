"""Models with sparse matrices."""
