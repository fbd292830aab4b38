"""Sparse matrices made of others: stacks, diagonals, rows at given indices, fewer entries; and what makes them up."""
