"""Sums, products, comparisons and functions of elements, and reductions of sparse matrices."""
