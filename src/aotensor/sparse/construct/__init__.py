"""Sparse matrices made of others: stacks, diagonals, rows at given places, fewer entries; and what they are made of."""
